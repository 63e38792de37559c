"""How much longer a download takes on one side of a comparison than on the other.

In: the downloads of a plan (:func:`torsweep.stats.streams.incidence.measured_downloads`), and two variants.
Out: for each network the logarithm of variant / reference, the interquartile mean over pairs of downloads.

The n-th download of a client has the same server, size and, with common paths, the same relays on both sides,
so that what makes one download slower than another cancels within the pair. The mean over the middle half of
the pairs is unmoved by the few that another download happened to disturb. Only downloads that began after
the warm-up count. Where one side failed, or was cut off when it had already taken longer than the other, it
is the longer one, by however much: it counts at the end of the order. Where more than a quarter is longer by
an unknown factor, as many are left out at the other end. A pair of which nothing is known is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from torsweep.config.knobs import network_levels
from torsweep.runsets.plan_tables import IMPORT, at_levels
from torsweep.stats.inference.intervals import (
    CONFIDENCE,
    Interval,
    bonferroni,
    change_intervals,
    exponential,
    t_interval,
    welch_interval,
)
from torsweep.stats.statistic import (
    KIND_COLUMN,
    KNOB_COLUMNS,
    METRIC_COLUMN,
    NETWORKS_COLUMN,
    Analysis,
    Levels,
    Statistic,
    counts,
    numbers,
    texts,
)
from torsweep.stats.streams.incidence import ENTRY, OPENING, Floats, Metric, unless_perf_alone
from torsweep.stats.streams.medians import CLIENT_MEDIAN, MEAN, QUANTILES, quantiles_of_runs
from torsweep.stats.text import TextTable, by_variant, change_text, percent_text

PAIR = ("seed", "client", "stream")
"""What two downloads have in common that are the same."""


def paired_changes(
    streams: pl.DataFrame, metric: Metric, reference: Levels, variant: Levels, seeds: Sequence[int]
) -> tuple[Floats, Floats]:
    """Interquartile means for each of ``seeds``: of the logarithms of ``variant`` over ``reference``, and of
    differences in seconds; NaN where there is none. ``streams`` are downloads of one kind."""
    one, other = (_times(streams, metric, levels) for levels in (reference, variant))
    ratio = log_ratios(*(pl.col(name) for name in ("time", "least", "time_other", "least_other")))
    pairs = one.join(other, on=PAIR, suffix="_other").select("seed", "time", "time_other", ratio=ratio)
    pairs = pairs.drop_nulls("ratio")
    # Where one side is longer by an unknown factor, it is so by an unknown time.
    less = (pl.col("time_other") - pl.col("time")) / 1e6
    pairs = pairs.with_columns(
        difference=pl.when(pl.col("ratio").is_infinite()).then("ratio").otherwise(less)
    )
    by_seed = {
        seed: [interquartile_mean(each[name].to_numpy()) for name in ("ratio", "difference")]
        for (seed,), each in pairs.group_by("seed")
    }
    changes = np.array([by_seed.get(seed, [np.nan] * 2) for seed in seeds], np.float64).reshape(-1, 2)
    return changes[:, 0], changes[:, 1]


def _times(streams: pl.DataFrame, metric: Metric, levels: Levels) -> pl.DataFrame:
    """The time of each download at ``levels``: infinite if it failed, null if cut off; its ``least``."""
    if ENTRY in streams.columns:
        streams = streams.filter(pl.col(ENTRY) <= 0)
    chosen = at_levels(streams, levels)
    zero_us: pl.Expr = pl.lit(0) if metric.clock == OPENING else pl.col("command_us")
    got = pl.col(metric.column).cast(pl.Float64)
    time = got.fill_null(pl.when(pl.col("outcome") != "unfinished").then(np.inf))
    return chosen.select(*PAIR, time=time, least=time.fill_null(pl.col("observed_us") - zero_us))


def log_ratios(time: pl.Expr, least: pl.Expr, time_other: pl.Expr, least_other: pl.Expr) -> pl.Expr:
    """The logarithm of ``time_other`` / ``time``, infinite where one is longer by an unknown factor, and null
    where that is not known either."""
    both, failed = (time_other / time).log(), time.is_infinite() & time_other.is_infinite()
    return (
        pl.when(time.is_not_null() & time_other.is_not_null() & ~failed)
        .then(both)
        .when(time.is_finite() & time_other.is_null() & (least_other >= time))
        .then(np.inf)
        .when(time.is_null() & time_other.is_finite() & (least >= time_other))
        .then(-np.inf)
    )


def interquartile_mean(values: Floats) -> float:
    """The mean of ``values`` but for the quarter at each end, or for as many as are infinite at one end; NaN
    where nothing is left."""
    cut = max(len(values) // 4, int((values == np.inf).sum()), int((values == -np.inf).sum()))
    middle = np.sort(values)[cut : len(values) - cut]
    return float(middle.mean()) if len(middle) and np.isfinite(middle).all() else float("nan")


FAMILIES = (
    ("median_s",),
    (CLIENT_MEDIAN,),
    (MEAN,),
    tuple(name for name in QUANTILES if name != "median_s"),
)
"""Estimands whose comparisons are adjusted together, within a kind and a metric."""


@dataclass(frozen=True)
class Paired:
    """An estimand of two variants, seconds, one entry for each network; where the two are ``independent``
    samples, each side has its own networks."""

    reference_s: npt.NDArray[np.float64]
    variant_s: npt.NDArray[np.float64]
    independent: bool = False

    @property
    def networks(self) -> int:
        """How many networks there are on both sides together."""
        return len(self.variant_s) + (len(self.reference_s) if self.independent else 0)

    @property
    def difference_s(self) -> npt.NDArray[np.float64]:
        """Variant minus reference, within each network."""
        return np.empty(0) if self.independent else self.variant_s - self.reference_s

    @property
    def log_ratio(self) -> npt.NDArray[np.float64]:
        """Natural logarithm of variant / reference, within each network."""
        return np.empty(0) if self.independent else np.log(self.variant_s / self.reference_s)

    def intervals(
        self, changes: npt.ArrayLike, comparisons: int, scale: Callable[[Any], Any] = np.log
    ) -> tuple[Interval, Interval]:
        """The intervals of ``changes`` (:func:`change_intervals`); of independent samples, Welch's of the
        difference of both sides on ``scale``."""
        if not self.independent:
            return change_intervals(changes, comparisons)
        sides = [scale(side) for side in (self.reference_s, self.variant_s)]
        each, together = (CONFIDENCE, bonferroni(CONFIDENCE, comparisons))
        return welch_interval(sides, (-1, 1), each), welch_interval(sides, (-1, 1), together)


def paired(
    runs: pl.DataFrame,
    estimand: str,
    reference: Mapping[str, str],
    variant: Mapping[str, str],
    networks: pl.Series | None = None,
) -> Paired:
    """``estimand`` of ``reference`` and ``variant`` by network.

    ``runs`` holds the quantiles of one kind and metric. NaN: that network never reached the quantile.
    ``networks`` are the seeds to give an entry each, whatever ran on them; without, those that both ran on.
    Two imports are independent samples unless two networks or more, or all, are in both.
    """
    sides = [
        dict(at_levels(runs, chosen).select("seed", estimand).iter_rows()) for chosen in (reference, variant)
    ]
    both = sides[0].keys() & sides[1].keys()
    if IMPORT in reference and len(both) < 2 and sides[0].keys() != sides[1].keys():
        one, other = (np.array(list(side.values()), np.float64) for side in sides)
        return Paired(one, other, independent=True)
    seeds = sorted(both) if networks is None else networks
    values = [[side[seed] if seed in both else None for seed in seeds] for side in sides]
    return Paired(*np.array(values, np.float64))


def networks_at(runs: pl.DataFrame, levels: Mapping[str, str]) -> pl.Series:
    """The seeds in ``runs`` at those of ``levels`` that make networks of their own, in order."""
    return at_levels(runs, network_levels(levels))["seed"].unique().sort()


def differences(
    runs: pl.DataFrame, compared_variants: Sequence[tuple[Levels, Sequence[Levels]]]
) -> list[dict[str, object]]:
    """Each variant against its baseline (:meth:`Analysis.compared`), for every metric, kind and estimand of
    ``runs``: the columns of :data:`DIFFERENCES`. Null bounds: a single network, or a quantile never
    reached."""
    rows: list[dict[str, object]] = []
    for (metric, kind), section in runs.group_by(["metric", "kind"], maintain_order=True):
        for family, (baseline, others) in product(FAMILIES, compared_variants):
            for estimand, variant in product(family, others):
                pair = paired(section, estimand, baseline, variant)
                rows.append(
                    {"metric": metric, "kind": kind, **variant, "estimand": estimand.removesuffix("_s")}
                    | _compare(pair, len(family) * len(others))
                )
    return rows


def _in_summary(analysis: Analysis, differences_of_plan: pl.DataFrame) -> list[TextTable]:
    chosen = differences_of_plan.filter(pl.col("estimand") == "median")
    if chosen.is_empty():
        return []
    few = analysis.few

    def entry(section: pl.DataFrame) -> str:
        if section.is_empty():
            return "baseline"
        row = section.row(0, named=True)
        if row["relative"] is None:
            return "–"
        bounds = "relative" if few else "relative_simultaneous"
        if row[f"{bounds}_low"] is None:
            return percent_text(row["relative"])
        return change_text(row["relative"], row[f"{bounds}_low"], row[f"{bounds}_high"])

    title = "Medians against the baseline, paired by network"
    size = chosen["family_size"][0]
    note = f"Simultaneous 95 % intervals: Bonferroni over the {size} variants of each column."
    if few:
        note = TOO_FEW
    return [by_variant(analysis.provenance, chosen, title, entry, [note])]


TOO_FEW = "Too few networks for intervals: of two or three, the lowest and the highest are in brackets."
"""A note below tables of changes."""
BOUNDS = ("low", "high", "simultaneous_low", "simultaneous_high")
DIFFERENCES = Statistic(
    "differences",
    "an estimand of a variant against the baseline, paired by network; null: a quantile never reached; of two"
    " or three networks, bounds are the lowest and the highest",
    METRIC_COLUMN
    | KIND_COLUMN
    | KNOB_COLUMNS
    | texts("quantile over downloads, or the median over clients", "estimand")
    | NETWORKS_COLUMN
    | numbers("mean over networks, seconds", "baseline_s", "variant_s")
    | numbers("variant less baseline, seconds", "difference_s", *(f"difference_{name}_s" for name in BOUNDS))
    | numbers("the same as a part of the baseline", "relative", *(f"relative_{name}" for name in BOUNDS))
    | counts("comparisons that are adjusted together", "family_size"),
    unless_perf_alone(lambda analysis: differences(analysis.once(quantiles_of_runs), analysis.compared())),
    in_summary=_in_summary,
    rank=60,
)


def _compare(pair: Paired, family_size: int) -> dict[str, object]:
    each, together = map(exponential, pair.intervals(pair.log_ratio, family_size))
    differences_s = pair.intervals(pair.difference_s, family_size, np.asarray)
    return {
        "networks": pair.networks,
        "baseline_s": t_interval(pair.reference_s).mean,
        "variant_s": t_interval(pair.variant_s).mean,
        **bounds_of("difference", *differences_s, "_s"),
        **bounds_of("relative", each, together),
        "family_size": family_size,
    }


def bounds_of(name: str, each: Interval, together: Interval, unit: str = "") -> dict[str, object]:
    """The columns ``NAME`` and ``NAME_low`` … of a change: its own interval and the simultaneous one."""
    bounds = (each.low, each.high, together.low, together.high)
    columns = {f"{name}_{bound}{unit}": value for bound, value in zip(BOUNDS, bounds, strict=True)}
    return {f"{name}{unit}": each.mean, **columns}
