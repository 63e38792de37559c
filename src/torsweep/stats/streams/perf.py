"""Times of the clients that only measure, by the size that they download.

In: the downloads of perf clients. Out: perf_curves.csv, perf_medians.csv, perf_differences.csv and
perf_outcomes.csv, worked out as those of web and bulk clients. A plan without perf clients has none of them.
"""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from torsweep.config.traffic import PERF_KINDS
from torsweep.stats.statistic import Analysis, Statistic
from torsweep.stats.streams.curves import CURVES
from torsweep.stats.streams.differences import DIFFERENCES
from torsweep.stats.streams.medians import MEDIANS, OUTCOME_COUNTS
from torsweep.stats.text import TextTable

PERF_PREFIX = "perf_"
"""How the names of these statistics begin."""


def perf_analysis(analysis: Analysis) -> Analysis | None:
    """The plan with its perf clients in place of web and bulk clients; None where it has none."""
    tables = replace(analysis.tables, kinds=PERF_KINDS)
    return None if tables.streams(["kind"]).is_empty() else replace(analysis, tables=tables, known={})


def _of_perf(statistic: Statistic) -> Statistic:

    def compute(analysis: Analysis) -> pl.DataFrame | None:
        perf = analysis.once(perf_analysis)
        return None if perf is None else statistic.frame(perf)

    def in_summary(analysis: Analysis, frame: pl.DataFrame) -> list[TextTable]:
        tables = statistic.in_summary(analysis, frame) if statistic.in_summary else []
        return [
            replace(table, title=f"Perf clients: {table.title[0].lower()}{table.title[1:]}")
            for table in tables
        ]

    return replace(
        statistic,
        name=f"{PERF_PREFIX}{statistic.name}",
        meaning=f"of perf clients: {statistic.meaning}",
        compute=compute,
        in_summary=in_summary,
        rank=statistic.rank + 40,  # After the sections of other clients.
    )


PERF_CURVES = _of_perf(CURVES)
PERF_MEDIANS = _of_perf(MEDIANS)
PERF_DIFFERENCES = _of_perf(DIFFERENCES)
PERF_OUTCOMES = _of_perf(OUTCOME_COUNTS)
