"""Programs that stand in for real ones where a test only needs their answers."""

from __future__ import annotations


def tells_round_trip(tcpi_rtt: object) -> str:
    """Lines of a shell script: what Shadow leaves of the simulation that shows whether it measures one."""
    host = "data/hosts/asking"
    return f'if [ "$1" = shadow.yaml ]; then mkdir -p {host}; echo {tcpi_rtt} >{host}/python.1000.stdout; fi'
