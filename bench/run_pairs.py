"""How much longer downloads take in one run than in another of the same network, and how busy its relays are.

In: folders of finished runs. Out: logarithms of ratios by kind of client, time and statistic; a utilisation.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from bench.spread import sides
from torsweep.engines.run_spec import read_run
from torsweep.engines.table_schema import RELAYS
from torsweep.formats.frames import read_frame
from torsweep.network.model import read_network
from torsweep.stats.streams.differences import paired_changes
from torsweep.stats.streams.incidence import METRICS
from torsweep.stats.streams.medians import run_quantiles

MEASURES = (("web", "ttfb"), ("web", "ttlb"), ("bulk", "ttlb"), ("perf_1mib", "ttlb"), ("perf_5mib", "ttlb"))
Measure = tuple[str, str, str]
"""Kind of client, time, statistic."""


def utilisation(folder: Path) -> float:
    """What relays wrote after the warm-up in the run of ``folder``, of what they could."""
    run = read_run(folder)
    network, _ = read_network((folder / run.network).resolve(), latency=False)
    seconds = pl.col("second") >= run.warm_up_ns // 10**9
    written = int(read_frame(folder / RELAYS.file).filter(seconds)["bytes_out"].sum())
    measured_s = (run.duration_ns - run.warm_up_ns) / 1e9
    return written / measured_s / sum(relay.usable_bytes_per_s for relay in network.relays)


def changes_between(one: Path, other: Path) -> Iterator[tuple[Measure, float]]:
    """The logarithm of ``other`` over ``one``; NaN where a side has too few downloads."""
    streams = sides(one, other).with_columns(pl.col("kind").cast(pl.String))
    runs = run_quantiles(streams, ["side"])
    for kind, metric in MEASURES:
        levels = ({"side": "one"}, {"side": "other"})
        changed, _ = paired_changes(streams.filter(kind=kind), METRICS[metric], *levels, [0])
        yield (kind, metric, "paired"), float(changed[0])
        rows = {row["side"]: row for row in runs.filter(kind=kind, metric=metric).iter_rows(named=True)}
        for statistic in ("mean", "p90"):
            before, after = (rows.get(side, {}).get(f"{statistic}_s") for side in ("one", "other"))
            change = np.nan if before is None or after is None else float(np.log(after / before))
            yield (kind, metric, statistic), change
