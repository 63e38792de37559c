"""How far the times of two sources are apart, and how far two runs of one source are by chance.

In: the runs of sources. Out: :class:`Curve` for each run, kind of client and time; and three frames:
``distances`` (a row for each run and the one it is compared with), ``gaps`` (means over networks, with the
floor and a verdict) and ``curves`` (to draw).

The curves are cumulative incidences (:mod:`torsweep.stats.streams.incidence`), so that failed downloads lower
them and unfinished ones count as long as they were seen. The distance is that of Kolmogorov and Smirnov
between such curves, up to the time at which the first of the two can no longer be known: where the longest
download of a run was cut off by its end, nothing is known beyond.

Every source is compared with the first one, the reference; a repeat, with the run that it repeats. The floor
is the distance between the reference and its repeat: the difference that chance alone makes. A variant that
was not repeated has the mean floor of those that were. A gap is within the aim when
it is at most :data:`MARGIN` above the floor.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt
import polars as pl

from torsweep.compare.sources import REPEATS, RUNS, Key, SourceRuns
from torsweep.config.traffic import KINDS
from torsweep.config.variant import Variant
from torsweep.engines.table_schema import STREAMS
from torsweep.runsets.run import Run, read_table
from torsweep.stats.streams.incidence import CENSORED, METRICS, STREAM_COLUMNS, Incidence, downloads
from torsweep.stats.streams.pages import with_pages

PROBABILITIES = {"p10": 0.1, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p90": 0.9}
COMPARED_METRICS = ("ttfb", "ttlb")

MARGIN = 0.05
"""How much of a gap, beyond that between two runs of the reference, a source may have."""

WITHIN, BEYOND, UNKNOWN = "within", "beyond", "not known"

POINTS = 400
"""Times at which curves are drawn, evenly spaced on a logarithmic scale."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Curve:
    """One run's incidence of a time in one kind of client.

    ``quantiles_s`` are those of :data:`PROBABILITIES`, NaN where the curve does not get that far;
    ``known_until_s`` is infinite where every download was seen to its end.
    """

    incidence: Incidence
    quantiles_s: Floats
    known_until_s: float
    count: int

    @property
    def median_s(self) -> float:
        """The time by which half of the downloads are complete."""
        return float(self.quantiles_s[list(PROBABILITIES).index("p50")])

    def at(self, times_s: Floats) -> Floats:
        """The share complete by each of ``times_s``; NaN where it cannot be known."""
        return np.where(times_s <= self.known_until_s, self.incidence.at(times_s)[0], np.nan)


@dataclass(frozen=True)
class What:
    """What a curve is of: a run of a source, a kind of client and a metric."""

    source: str
    series: str
    key: Key
    kind: str
    metric: str


Curves = Mapping[What, Curve]


@dataclass(frozen=True)
class Distance:
    """``ks`` is the greatest gap between a curve and another one, ``gap`` the same with its sign (above 0:
    more of the curve was complete by then), at ``at_s``; all NaN where neither has a completion while both
    are known. ``ratios`` are curve over the other."""

    ks: float
    gap: float
    at_s: float
    ratios: Mapping[str, float]


def curve(streams: pl.DataFrame, kind: str, metric: str) -> Curve | None:
    """The curve of ``metric`` over the downloads of ``kind``; None when there are none."""
    chosen = streams.filter(pl.col("kind") == kind)
    if chosen.is_empty():
        return None
    rows = downloads(chosen, METRICS[metric], ["kind"])
    incidence = rows.incidence()
    last = rows.times_s.max()
    cut_off = bool((rows.events[rows.times_s == last] == CENSORED).any())
    quantiles = incidence.quantiles(np.array(list(PROBABILITIES.values())))[0]
    return Curve(incidence, quantiles, float(last) if cut_off else np.inf, len(rows.times_s))


def all_curves(read: Sequence[SourceRuns]) -> Curves:
    """Every curve of every run and repeat, where there are downloads that started after the warm-up."""
    found: dict[What, Curve] = {}
    for one in read:
        for series, runs in ((RUNS, one.runs), (REPEATS, one.repeats)):
            for key, run in runs.items():
                streams = _measured(run)
                for kind, metric in product(KINDS, COMPARED_METRICS):
                    made = curve(streams, kind, metric)
                    if made is not None:
                        found[What(one.label, series, key, kind, metric)] = made
    return found


def _measured(run: Run) -> pl.DataFrame:
    # open_run has compared the checksums.
    streams = read_table(run.directory, STREAMS)
    measured = streams.filter(pl.col("start_us") >= run.spec.warm_up_ns // 1000).select(STREAM_COLUMNS)
    return with_pages(measured, [])


def distance(reference: Curve, other: Curve) -> Distance:
    """How far ``other`` is from ``reference``. Both are step functions: the greatest gap is at a step."""
    steps = np.union1d(reference.incidence.times, other.incidence.times)
    steps = steps[steps <= min(reference.known_until_s, other.known_until_s)]
    ratios = dict(zip(PROBABILITIES, (other.quantiles_s / reference.quantiles_s).tolist(), strict=True))
    if len(steps) == 0:
        nothing = float("nan")
        return Distance(nothing, nothing, nothing, ratios)
    gaps = other.at(steps) - reference.at(steps)
    widest = int(np.argmax(np.abs(gaps)))
    return Distance(float(abs(gaps[widest])), float(gaps[widest]), float(steps[widest]), ratios)


def distances(read: Sequence[SourceRuns], curves: Curves) -> pl.DataFrame:
    """A row for each run, kind and metric that has a curve to stand against; see the module's docstring.

    Columns: kind, metric, the knobs, seed, ``source``, ``series``, ``against`` (a source), ``downloads`` and
    ``against_downloads``, ``ks``, ``gap`` (signed), ``at_s``, and for each quantile its time in both,
    seconds, and the ratio of the two. Null: the quantile is not reached.
    """
    rows = []
    for what, own, beside, other in _opposed(read, curves):
        apart = distance(other, own)
        row: dict[str, object] = {"kind": what.kind, "metric": what.metric, **dict(what.key[0].levels)}
        row |= {"seed": what.key[1], "source": what.source, "series": what.series, "against": beside.source}
        row |= {"downloads": own.count, "against_downloads": other.count}
        row |= {"ks": apart.ks, "gap": apart.gap, "at_s": apart.at_s}
        for suffix, of in (("_s", own), ("_against_s", other)):
            row |= {f"{name}{suffix}": float(of.quantiles_s[at]) for at, name in enumerate(PROBABILITIES)}
        rows.append(row | {f"{name}_ratio": ratio for name, ratio in apart.ratios.items()})
    return pl.DataFrame(rows, infer_schema_length=None).with_columns(pl.col(pl.Float64).fill_nan(None))


def _opposed(read: Sequence[SourceRuns], curves: Curves) -> Iterator[tuple[What, Curve, What, Curve]]:
    """Each curve and the one that it stands against, by kind, metric, source, series, variant and network."""
    for kind, metric, one in product(KINDS, COMPARED_METRICS, read):
        shared = [] if one is read[0] else one.shared(read[0])
        for series, keys, against in ((RUNS, shared, read[0]), (REPEATS, one.repeats, one)):
            for key in keys:
                what = What(one.label, series, key, kind, metric)
                beside = What(against.label, RUNS, key, kind, metric)
                if what in curves and beside in curves:
                    yield what, curves[what], beside, curves[beside]


def gaps(found: pl.DataFrame, knobs: Sequence[str], reference: str) -> pl.DataFrame:
    """A row for each source, variant, kind and metric: means over networks of what :func:`distances` found.

    Columns: kind, metric, the knobs, ``source``, ``networks``, ``ks``, ``floor`` (of ``reference``) and
    ``floor_networks`` (0: of other variants), ``own_floor`` (the source against its repeat), ``verdict``, the
    mean ratio of each quantile, and ``downloads`` and ``against_downloads`` of all networks.
    """
    by = ["kind", "metric", *knobs]
    ratios, counts = [f"{name}_ratio" for name in PROBABILITIES], ["downloads", "against_downloads"]
    frame = (
        found.filter(pl.col("series") == RUNS)
        .group_by([*by, "source"], maintain_order=True)
        .agg(
            pl.col("ks").count().alias("networks"),
            pl.col("ks").mean(),
            # A quantile that one network does not reach has no mean.
            *(pl.when(pl.col(name).null_count() == 0).then(pl.col(name).mean()) for name in ratios),
            pl.col(counts).sum(),
        )
    )
    repeats = found.filter(pl.col("series") == REPEATS)
    of_reference = repeats.filter(pl.col("source") == reference)
    for chosen, keys, name in (
        (of_reference, by, "floor"),
        (of_reference, ["kind", "metric"], "_shared"),
        (repeats, [*by, "source"], "own_floor"),
    ):
        means = chosen.group_by(keys).agg(
            pl.col("ks").mean().alias(name), pl.col("ks").count().alias(f"{name}_networks")
        )
        frame = frame.join(means, on=keys, how="left", maintain_order="left")
    beyond = pl.col("ks") > pl.col("floor") + MARGIN
    verdict = pl.when(pl.col("floor").is_null() | pl.col("ks").is_null()).then(pl.lit(UNKNOWN))
    floors = pl.coalesce("floor", "_shared").alias("floor"), pl.col("floor_networks").fill_null(0)
    shown = ("networks", "ks", "floor", "floor_networks", "own_floor", "verdict")
    return (
        frame.with_columns(floors)
        .with_columns(verdict.when(beyond).then(pl.lit(BEYOND)).otherwise(pl.lit(WITHIN)).alias("verdict"))
        .select(*by, "source", *shown, *ratios, *counts)
    )


def mean_curves(read: Sequence[SourceRuns], curves: Curves) -> pl.DataFrame:
    """The share complete by a time, as a mean over the networks on which all sources have run a variant.

    Columns: kind, metric, the knobs, ``source``, ``time_s``, ``share``, ``networks``. A time beyond which one
    of the networks cannot be known is left out; a source without any run of the variant has no curve.
    """
    variants = list(dict.fromkeys(variant for variant, _ in read[0].runs))
    frames = []
    for kind, metric, variant in product(KINDS, COMPARED_METRICS, variants):
        own = {
            one.label: {
                key[1]: curves[what]
                for key in one.shared(read[0])
                if key[0] == variant and (what := What(one.label, RUNS, key, kind, metric)) in curves
            }
            for one in read
        }
        there = [set(by_seed) for by_seed in own.values() if by_seed]
        seeds = sorted(set.intersection(*there)) if len(there) > 1 else []
        chosen = {label: [by_seed[seed] for seed in seeds] for label, by_seed in own.items() if by_seed}
        times_s = _times([each for of_source in chosen.values() for each in of_source])
        for label, of_source in chosen.items():
            if of_source:
                frames.append(_mean_curve(of_source, times_s, (kind, metric, variant, label)))
    return pl.concat(frames) if frames else pl.DataFrame()


def _mean_curve(own: Sequence[Curve], times_s: Floats, of: tuple[str, str, Variant, str]) -> pl.DataFrame:
    kind, metric, variant, label = of
    share = np.mean([each.at(times_s) for each in own], axis=0)
    names = {"kind": kind, "metric": metric, **dict(variant.levels), "source": label}
    return (
        pl.DataFrame({"time_s": times_s, "share": share})
        .filter(pl.col("share").is_finite())
        .select(
            *(pl.lit(value).alias(name) for name, value in names.items()),
            pl.all(),
            pl.lit(len(own)).alias("networks"),
        )
    )


def _times(curves: Sequence[Curve]) -> Floats:
    """The times at which curves are drawn: from before the first completion of any curve to the last."""
    times = [curve.incidence.times for curve in curves if len(curve.incidence.times)]
    if not times:
        return np.array([])
    least, most = min(part.min() for part in times), max(part.max() for part in times)
    return np.geomspace(max(least, 1e-6) * 0.95, max(most, 1e-6) * 1.05, POINTS)
