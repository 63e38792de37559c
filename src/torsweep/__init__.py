"""torsweep: sweeps of Tor's knobs over sampled private networks.

The sub-packages follow the stages: :mod:`torsweep.config` reads experiments, :mod:`torsweep.network` samples
networks, :mod:`torsweep.engines` prepares and makes runs, :mod:`torsweep.runsets` reads what engines leave
and :mod:`torsweep.stats` summarises it. :mod:`torsweep.pipeline` is what the Snakefile plans with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    import polars

__version__ = "0.1.0"


def load(source: str | Path, table: str = "streams") -> polars.DataFrame:
    """A table of a plan, a study or an import as one frame: every download by default.

    ``source`` is a folder of results, or the name of an experiment or an import. Columns are those of
    docs/reference/tables.md, after ``seed`` and a column for each knob; ``entry_us`` is how long a download
    had been under way when the warm-up ended. ``cells`` are those of traced relays, with client and download
    where the relay is a guard; ``programs`` are the files that programs left. Raises InputError for what is
    no result, is damaged, or holds several plans: it lists them.
    """
    from torsweep.runsets.imported import load_table

    return load_table(source, table)
