"""From the logs of a Shadow run to the tables of torsweep: :func:`.tables.write_tables` is the way in."""

from torsweep.engines.shadow.read.tables import write_tables

__all__ = ["write_tables"]
