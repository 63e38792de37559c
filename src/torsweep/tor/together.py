"""Several builds of tor side by side.

In: tors by name, how many compilations there may be at a time. Out: for each name its build, or why there is
none; one that fails leaves the others alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from torsweep.config.tors import TorSource
from torsweep.errors import TorsweepError
from torsweep.tor.build import BuiltTor, build_tor
from torsweep.tor.compile import building
from torsweep.tor.identity import marker_name, planned_key
from torsweep.tor.place import TOOLS


def build_together(
    tors: Mapping[str, TorSource], out: Path = TOOLS, jobs: int = 1
) -> dict[str, BuiltTor | TorsweepError]:
    """Build ``tors`` below ``out`` with ``jobs`` compilations at a time in all, 1 or more.

    Each gets the pipeline's marker, and messages about it begin with its name. What
    :func:`torsweep.tor.build.build_tor` raises for one of them stands in its place.
    """

    def build(position: int, name: str) -> BuiltTor | TorsweepError:
        building.set(name)
        share = jobs // workers + (position % workers < jobs % workers)
        try:
            return build_tor(tors[name], out, share, stamp=out / marker_name(planned_key(tors[name])))
        except TorsweepError as error:
            return error

    workers = max(min(len(tors), jobs), 1)
    with ThreadPoolExecutor(workers) as pool:
        return dict(zip(tors, pool.map(build, range(len(tors)), tors), strict=True))
