"""How far the times of two sources are apart, and how far two runs of one source are by chance.

In: the downloads of a plan with several sources. Out: distances.csv, a row for each run and the one that it
is compared with.

The curves are cumulative incidences (:mod:`torsweep.stats.streams.incidence`), so that failed downloads lower
them and unfinished ones count as long as they were seen. The distance is that of Kolmogorov and Smirnov
between such curves, up to the time at which the first of the two can no longer be known: where the longest
download of a run was cut off by its end, nothing is known beyond.

Every source is compared with the first one, the reference; a repeat, with the run that it repeats, which is
what chance alone makes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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
from torsweep.stats.streams.incidence import CENSORED, METRICS, Floats, downloads, measured_downloads
from torsweep.stats.text import SHOWN_METRICS, TextTable, variant_words

PROBABILITIES = {"p10": 0.1, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p90": 0.9}

_DECIMALS = 12
"""Decimals of a gap: sums of equal shares differ in the sixteenth digit."""

CurveKey = tuple[str, str, str, tuple[str, ...], int]
"""Kind, metric, source, levels of the knobs, seed."""


@dataclass(frozen=True)
class Curve:
    """One run's incidence of a time in one kind of client: ``share`` is complete from each of ``times`` on.

    ``quantiles_s`` are those of :data:`PROBABILITIES`, NaN where the curve does not get that far;
    ``known_until_s`` is infinite where every download was seen to its end.
    """

    times: Floats
    share: Floats
    quantiles_s: Floats
    known_until_s: float
    count: int

    def at(self, times_s: Floats) -> Floats:
        """The share complete by each of ``times_s``."""
        return np.concatenate([[0.0], self.share])[np.searchsorted(self.times, times_s, side="right")]


@dataclass(frozen=True)
class Distance:
    """``ks`` is the greatest gap between a curve and another one, ``gap`` the same with its sign (above 0:
    more of the curve was complete by then), at ``at_s``; all NaN where neither has a completion while both
    are known."""

    ks: float
    gap: float
    at_s: float


def distance(reference: Curve, other: Curve) -> Distance:
    """How far ``other`` is from ``reference``. Both are step functions: the greatest gap is at a step."""
    steps = np.union1d(reference.times, other.times)
    steps = steps[steps <= min(reference.known_until_s, other.known_until_s)]
    if len(steps) == 0:
        return Distance(np.nan, np.nan, np.nan)
    apart = np.round(other.at(steps) - reference.at(steps), _DECIMALS)
    widest = int(np.argmax(np.abs(apart)))
    return Distance(float(abs(apart[widest])), float(apart[widest]), float(steps[widest]))


def all_curves(streams: pl.DataFrame, knobs: Sequence[str]) -> dict[CurveKey, Curve]:
    """The curve of every run in ``streams`` that has downloads of a kind; ``knobs`` begin with the source."""
    by, curves = ["kind", *knobs, "seed"], {}
    for metric in SHOWN_METRICS:
        rows = downloads(streams, METRICS[metric], by)
        incidence = rows.incidence()
        quantiles = incidence.quantiles(np.array(list(PROBABILITIES.values())))
        order = np.argsort(rows.groups, kind="stable")
        ends = np.searchsorted(rows.groups[order], np.arange(rows.keys.height + 1))
        for group, (kind, source, *levels, seed) in enumerate(rows.keys.iter_rows()):
            own = order[ends[group] : ends[group + 1]]
            if not len(own):
                # All had got so far before the warm-up ended.
                continue
            last = rows.times_s[own].max()
            cut_off = (rows.events[own][rows.times_s[own] == last] == CENSORED).any()
            steps = slice(incidence.bounds[group], incidence.bounds[group + 1])
            curves[kind, metric, source, tuple(levels), seed] = Curve(
                incidence.times[steps],
                incidence.share[steps],
                quantiles[group],
                float(last) if cut_off else np.inf,
                len(own),
            )
    return curves


def distances(analysis: Analysis) -> list[dict[str, object]] | None:
    """The columns of :data:`DISTANCES`."""
    curves = all_curves(analysis.once(measured_downloads), analysis.knobs)
    rows: list[dict[str, object]] = []
    for key, against in _opposed(analysis, curves):
        kind, metric, source, levels, seed = key
        own, other = curves[key], curves[kind, metric, against, levels, seed]
        apart = distance(other, own)
        row: dict[str, object] = {"kind": kind, "metric": metric, SOURCE: source, "against": against}
        row |= dict(zip(analysis.knobs[1:], levels, strict=True)) | {"seed": seed}
        row |= {"downloads": own.count, "against_downloads": other.count}
        row |= {"ks": apart.ks, "gap": apart.gap, "at_s": apart.at_s}
        for end, values in (
            ("_s", own.quantiles_s),
            ("_against_s", other.quantiles_s),
            ("_ratio", own.quantiles_s / other.quantiles_s),
        ):
            row |= {f"{name}{end}": value for name, value in zip(PROBABILITIES, values, strict=True)}
        rows.append(row)
    return rows or None


def _opposed(analysis: Analysis, curves: Mapping[CurveKey, Curve]) -> Iterator[tuple[CurveKey, str]]:
    """Each curve that is set against another one, and the source of that, in the order of the table."""
    runs = [(run["variant"], run["seed"]) for run in analysis.provenance.runs]
    for kind, metric in product(KINDS, SHOWN_METRICS):
        for variant, seed in runs:
            source, *levels = variant.values()
            against = source.removesuffix(REPEAT) if source.endswith(REPEAT) else analysis.levels[SOURCE][0]
            key, other = ((kind, metric, one, tuple(levels), seed) for one in (source, against))
            if source != against and key in curves and other in curves:
                yield key, against


def _in_summary(analysis: Analysis, table: pl.DataFrame) -> list[TextTable]:
    """Means over networks; a quantile that one network does not reach has none."""
    ratios = [f"{name}_ratio" for name in PROBABILITIES]
    by = ["kind", "metric", *analysis.knobs[1:], SOURCE, "against"]
    means = table.group_by(by, maintain_order=True).agg(
        pl.col("ks").count().alias("networks"),
        pl.col("ks").mean(),
        *(pl.when(pl.col(name).null_count() == 0).then(pl.col(name).mean()) for name in ratios),
    )
    rows = [
        [
            f"{row[SOURCE]} / {row['against']}",
            f"{row['kind']}, {SHOWN_METRICS[row['metric']]}",
            variant_words({knob: row[knob] for knob in analysis.knobs[1:]}),
            str(row["networks"]),
            "–" if row["ks"] is None else f"{row['ks']:.3f}",
            *("–" if row[name] is None else f"{row[name]:.2f}" for name in ratios),
        ]
        for row in means.iter_rows(named=True)
    ]
    note = (
        "KS: the greatest distance between the curves of two runs on a network, a mean over networks; of a "
        "source and its repeat it is what chance alone makes. p10 to p90: quantiles over the other's."
    )
    header = ["source / other", "time", "variant", "networks", "KS", *PROBABILITIES]
    return [TextTable("Distances between the curves", header, rows, [note])]


_RATIOS = numbers("quantile over the other's", *(f"{name}_ratio" for name in PROBABILITIES))
_DOWNLOADS = counts("how many downloads both have", "downloads", "against_downloads")
DISTANCES = Statistic(
    "distances",
    "a run of a source against the same run of the reference, or a repeat against what it repeats",
    KIND_COLUMN
    | METRIC_COLUMN
    | KNOB_COLUMNS
    | SEED_COLUMN
    | texts("the source that it is compared with", "against")
    | _DOWNLOADS
    | numbers("greatest gap between the curves, with its sign, and where it is", "ks", "gap", "at_s")
    | numbers("quantile of the run, seconds", *(f"{name}_s" for name in PROBABILITIES))
    | numbers("quantile of the other, seconds", *(f"{name}_against_s" for name in PROBABILITIES))
    | _RATIOS,
    distances,
    rests_on=SOURCE,
    in_summary=_in_summary,
    rank=12,
)
