"""Programs that stand in for real ones where a test only needs their answers."""

from __future__ import annotations

from pathlib import Path

from torsweep.config.knobs import KNOBS
from torsweep.tor.builds import BuiltTor
from torsweep.tor.torrc import TEMPLATES

ANSWERS = {"shadow": "Shadow 3.3.0", "tgen": "TGen v1.1.2", "oniontrace": "OnionTrace v1.0.0"}
"""What the programs of Shadow say of themselves."""


def executable(file: Path, text: str) -> Path:
    """A program of this ``text``, and the folders above it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(0o755)
    return file


def tells_round_trip(tcpi_rtt: object) -> str:
    """Lines of a shell script: what Shadow leaves of the simulation that shows whether it measures one."""
    host = "data/hosts/asking"
    return f'if [ "$1" = shadow.yaml ]; then mkdir -p {host}; echo {tcpi_rtt} >{host}/python.1000.stdout; fi'


SERIES_OPTIONS = {
    *("TokenBucketRefillMode", "TokenBucketRefillPhase", "CircuitPolicy", "CircuitRoundRobinQuantum"),
    *("StreamActivationOrder", "StreamPackaging", "CellTraceFile"),
    *("TokenBucketRefillRemainder", "TCPNoDelay", "CircuitPathsFile"),
}
"""What only a tor with the project's series knows."""

SINCE_048 = {"ConfluxEnabled", "DoSStreamCreationEnabled", "MinimalAcceptedServerVersion"}
"""What tor 0.4.7 does not know, of the options that torsweep sets."""


def known_options() -> set[str]:
    """Every option that torsweep sets."""
    lines = "\n".join(file.read_text() for file in TEMPLATES.glob("*.torrc")).splitlines()
    words = {line.split()[0] for line in lines if line and line[0] not in "#$"}
    options = {option.name for knob in KNOBS.values() for option in knob.tor}
    return words | options | SERIES_OPTIONS | {"ConfluxEnabled", "DirAuthority", "MaxCircuitDirtiness"}


def stand_in_tor(folder: Path, version: str = "0.4.9.11", lacks: set[str] | None = None) -> BuiltTor:
    """A build below ``folder`` whose tor only lists its options; ``lacks`` are not among them."""
    provenance = {"version": version, "configure": [], "series_sha256": "0" * 64, "source_sha256": version}
    built = BuiltTor(folder / version, provenance)
    built = BuiltTor(folder / built.version, provenance)
    options = "\n".join(sorted(known_options() - (lacks or set())))
    executable(built.program, f"#!/bin/sh\ncat <<END\n{options}\nEND\n")
    return built


def tor_script(comment: str) -> str:
    """A program that says that it is tor, and knows CacheDNS and every option that torsweep sets.

    It takes any line but of CacheDNSS. The ``comment`` tells it from others.
    """
    options = "\n".join(sorted(known_options() | {"CacheDNS"}))
    words = "[warn] Failed to parse/validate config: Unknown option 'CacheDNSS'.  Failing."
    return f"""#!/bin/sh
# {comment}
case "$1" in
--version) echo "Tor version 0.4.9.3." ;;
--list-modules) echo relay: yes; echo dirauth: yes ;;
--list-torrc-options) cat <<END
{options}
END
;;
--verify-config) if grep -q "^CacheDNSS " "$3"; then echo "{words}"; exit 1; fi ;;
esac
"""
