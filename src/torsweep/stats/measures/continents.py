"""Measures of web clients by the continent that they are in.

In: downloads, and the clients of networks whose table of latency says where its places are. Out: times that
leave no download out (:mod:`torsweep.stats.streams.incidence`). Other networks have no such measures.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from torsweep.stats.measures.measure import GROUP, SECONDS, Measure, by_run, in_group
from torsweep.stats.statistic import Analysis
from torsweep.stats.streams.incidence import METRICS, downloads, measured_downloads

TIMES = {"first": METRICS["ttfb"], "last": METRICS["ttlb"]}


def medians_by_continent(analysis: Analysis) -> pl.DataFrame:
    """``first_s`` and ``last_s``, a row for each run and continent: the median over all downloads of the web
    clients there; null where fewer than half of them got so far."""
    by = [*by_run(analysis), GROUP]
    clients = analysis.tables.clients().filter(pl.col("kind") == "web").drop_nulls("continent")
    where = in_group(clients, pl.col("continent")).select(*by, "client")
    if where.is_empty():
        return where.drop("client").with_columns(
            pl.lit(None, pl.Float64).alias(f"{name}_s") for name in TIMES
        )
    streams = analysis.once(measured_downloads).join(where, on=[*by_run(analysis), "client"])
    frame = streams.select(by).unique()
    for name, metric in TIMES.items():
        rows = downloads(streams, metric, by)
        medians = pl.Series(f"{name}_s", rows.incidence().quantiles(np.array([0.5]))[:, 0], nan_to_null=True)
        frame = frame.join(rows.keys.with_columns(medians), on=by, how="left")
    return frame


CONTINENT_MEASURES = tuple(
    Measure(
        f"{name}_byte_by_continent",
        "Web, by continent",
        f"{name} byte, median",
        SECONDS,
        f"median time to the {name} byte of the web clients in a continent, of networks that have countries",
        medians_by_continent,
        pl.col(f"{name}_s").first(),
    )
    for name in TIMES
)
