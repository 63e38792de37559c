"""From the logs of a Shadow run to the tables of torsweep.

In: the standard output of TGen and OnionTrace, host by host. Out: ``streams``, ``relays``, ``circuits`` and
``progress`` tables, and the paths that clients used. :func:`.tables.write_tables` is
the way in; ``logs`` finds and cuts files, ``tgen`` and ``oniontrace`` know one program's lines each.
"""

from torsweep.engines.shadow.read.tables import write_tables

__all__ = ["write_tables"]
