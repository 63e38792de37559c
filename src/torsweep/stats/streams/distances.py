"""How far the times of two sources are apart, and how far two runs of one source are by chance.

In: the downloads of a plan with several sources. Out: distances.csv, a row for each run and the one that it
is compared with: every source with the first one, the reference; a repeat, with the run that it repeats,
which is what chance alone makes.

The distance is that of Kolmogorov and Smirnov between cumulative incidences
(:mod:`torsweep.stats.streams.incidence`), up to the time at which the first of the two can no longer be
known: where the longest download of a run was cut off by its end, nothing is known beyond.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

import numpy as np
import polars as pl

from torsweep.config.traffic import KINDS
from torsweep.runsets.plan_tables import REPEAT, SOURCE
from torsweep.stats.statistic import (
    KIND_COLUMN,
    KNOB_COLUMNS,
    METRIC_COLUMN,
    SEED_COLUMN,
    Analysis,
    Statistic,
    counts,
    numbers,
    texts,
)
from torsweep.stats.streams.incidence import (
    CENSORED,
    METRICS,
    Downloads,
    Metric,
    downloads,
    measured_downloads,
)
from torsweep.stats.text import SHOWN_METRICS, TextTable, variant_words

_DECIMALS = 12
"""Decimals of a gap: sums of equal shares differ in the sixteenth digit."""


def distance(streams: pl.DataFrame, metric: Metric, source: str, against: str) -> dict[str, object] | None:
    """How far a run in ``streams`` is from the run ``against`` of the same kind, levels and seed.

    ``ks`` is the greatest gap between the curves, ``gap`` the same with its sign (above 0: more of ``source``
    was complete by then), at ``at_s``; all NaN where neither has a completion while both are known.
    ``p50_ratio`` is that of the medians. None where either has no download.
    """
    sides = [
        downloads(streams.filter(pl.col(SOURCE) == name), metric, [SOURCE]) for name in (source, against)
    ]
    if not all(len(side.times_s) for side in sides):
        return None
    curves = [side.incidence() for side in sides]
    # Both are step functions: the greatest gap is at a step.
    times = np.union1d(*(curve.times for curve in curves))
    times = times[times <= min(map(_known_until_s, sides))]
    gap = at_s = np.nan
    if len(times):
        own, other = (curve.at(times)[0] for curve in curves)
        apart = np.round(own - other, _DECIMALS)
        widest = int(np.argmax(np.abs(apart)))
        gap, at_s = float(apart[widest]), float(times[widest])
    median, other_median = (curve.quantiles(np.array([0.5]))[0, 0] for curve in curves)
    return {
        "downloads": len(sides[0].times_s),
        "against_downloads": len(sides[1].times_s),
        **{"ks": abs(gap), "gap": gap, "at_s": at_s},
        "p50_ratio": float(median / other_median),
    }


def _known_until_s(rows: Downloads) -> float:
    """The time up to which a curve is known; infinite where its longest download ended."""
    longest = rows.times_s.max()
    cut_off = (rows.events[rows.times_s == longest] == CENSORED).any()
    return float(longest) if cut_off else np.inf


def distances(analysis: Analysis) -> list[dict[str, object]] | None:
    """The columns of :data:`DISTANCES`."""
    by = ["kind", *analysis.knobs[1:], "seed"]
    streams = analysis.once(measured_downloads).with_columns(pl.col(pl.Enum, pl.Categorical).cast(pl.String))
    of_runs = streams.partition_by(by, as_dict=True)
    rows: list[dict[str, object]] = []
    for kind, metric, (variant, seed, against) in product(KINDS, SHOWN_METRICS, list(_opposed(analysis))):
        source, *levels = variant.values()
        own = of_runs.get((kind, *levels, seed))
        apart = None if own is None else distance(own, METRICS[metric], source, against)
        if apart is not None:
            rows.append(
                {"kind": kind, "metric": metric, **variant, "seed": seed, "against": against, **apart}
            )
    return rows or None


def _opposed(analysis: Analysis) -> Iterator[tuple[Mapping[str, str], int, str]]:
    """Variant and seed of each run that is compared, and the source of the other one."""
    for run in analysis.provenance.runs:
        source = run["variant"][SOURCE]
        against = source.removesuffix(REPEAT) if source.endswith(REPEAT) else analysis.levels[SOURCE][0]
        if source != against:
            yield run["variant"], run["seed"], against


def _in_summary(analysis: Analysis, table: pl.DataFrame) -> list[TextTable]:
    """Means over networks; a median that one network does not reach has none."""
    by = ["kind", "metric", *analysis.knobs[1:], SOURCE, "against"]
    ratio = pl.col("p50_ratio")
    means = table.group_by(by, maintain_order=True).agg(
        pl.col("ks").count().alias("networks"),
        pl.col("ks").mean(),
        pl.when(ratio.null_count() == 0).then(ratio.mean()),
    )
    rows = [
        [
            f"{row[SOURCE]} / {row['against']}",
            f"{row['kind']}, {SHOWN_METRICS[row['metric']]}",
            variant_words({knob: row[knob] for knob in analysis.knobs[1:]}),
            str(row["networks"]),
            "–" if row["ks"] is None else f"{row['ks']:.3f}",
            "–" if row["p50_ratio"] is None else f"{row['p50_ratio']:.2f}",
        ]
        for row in means.iter_rows(named=True)
    ]
    note = (
        "KS: the greatest distance between the curves of two runs on a network, a mean over networks; of a "
        "source and its repeat it is what chance alone makes. p50: the median over the other's."
    )
    header = ["source / other", "time", "variant", "networks", "KS", "p50"]
    return [TextTable("Distances between the curves", header, rows, [note])]


DISTANCES = Statistic(
    "distances",
    "a run of a source against the same run of the reference, or a repeat against what it repeats",
    KIND_COLUMN
    | METRIC_COLUMN
    | KNOB_COLUMNS
    | SEED_COLUMN
    | texts("the source that it is compared with", "against")
    | counts("how many downloads both have", "downloads", "against_downloads")
    | numbers("greatest gap between the curves, with its sign, and where it is", "ks", "gap", "at_s")
    | numbers("the run's median over the other's", "p50_ratio"),
    distances,
    rests_on=SOURCE,
    in_summary=_in_summary,
    rank=12,
)
