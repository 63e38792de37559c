"""How a contrast depends on the scale of the network.

In: the streams of a plan that turns the knob ``scale``. Out: scale_contrasts.csv, a row for each contrast of
two variants that differ in one other knob, at each scale; scale_times.csv, the times themselves, a row for
each variant; and scale_trends.csv, a row for each contrast over all scales that have
two networks or more.

A contrast is the logarithm of the ratio of a quantile of two variants on the same network. Its **effect** is
the mean over the networks of a scale, with a t-interval, given as a ratio. Its **spread** is the standard
deviation between networks, with the interval of a normal distribution's (χ²): how far the answer of one
network is from that of the next. Variants never differ in scale, so all of it is paired by network.

``networks_for_margin`` says with how many networks the interval of the effect reaches no farther than the
margin to each side, if further networks spread as these do.

Trends: the change of the effect when the network is ten times as large is the slope of the scales' means over
log10(scale), each scale counting alike, with Welch's interval for such a sum of means (Satterthwaite,
Biometrics Bulletin 2, 1946, 110–114). The spread's exponent is the slope of its logarithm over that of the
scale, weighted by 2 (networks − 1), the inverse variance of the logarithm of a standard deviation, with a
normal interval. Networks made of independent parts would have an exponent of −1/2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import special

from torsweep.config.variant import one_knob_apart
from torsweep.stats.inference.intervals import (
    CONFIDENCE,
    Interval,
    t_interval,
    welch_interval,
)
from torsweep.stats.statistic import (
    KIND_COLUMN,
    KNOB_COLUMNS,
    METRIC_COLUMN,
    NETWORKS_COLUMN,
    Analysis,
    Columns,
    Statistic,
    counts,
    numbers,
    texts,
)
from torsweep.stats.streams.differences import paired
from torsweep.stats.streams.incidence import (
    METRICS,
    Compute,
    downloads,
    measured_downloads,
    unless_perf_alone,
)
from torsweep.stats.text import SHOWN_METRICS, TextTable, percent_text

SCALE_KNOB = "scale"
"""The knob."""

SCALE_QUANTILES = {"median": 0.5, "p90": 0.9, "p99": 0.99}
"""Quantiles over the downloads of a run, by name."""

_COMPARED = ("ttfb", "ttlb")
_Floats = npt.NDArray[np.float64]
_Contrast = tuple[str, str, str, str]
"""Knob, levels of the other knobs that vary, and the two levels that are compared."""


def quantiles_by_run(analysis: Analysis) -> pl.DataFrame:
    """Kind, knobs, seed, ``metric`` and :data:`SCALE_QUANTILES` (s) of each run; null: never reached."""
    streams, by = analysis.once(measured_downloads), ["kind", *analysis.knobs, "seed"]
    frames = []
    for name in _COMPARED:
        rows = downloads(streams, METRICS[name], by)
        quantiles = rows.incidence().quantiles(np.array(list(SCALE_QUANTILES.values())))
        columns = [pl.Series(quantile, quantiles[:, i]) for i, quantile in enumerate(SCALE_QUANTILES)]
        frames.append(rows.keys.with_columns(*columns, metric=pl.lit(name)))
    return pl.concat(frames)


def spread_interval(values: _Floats) -> Interval:
    """The standard deviation of ``values`` and its interval, as if they were normal; without bounds where two
    values or more are not there, or all are alike."""
    networks = len(values)
    spread = float(np.std(values, ddof=1)) if networks > 1 else np.nan
    if not spread > 0:
        return Interval(spread, np.nan, np.nan, networks, CONFIDENCE)
    tails = special.chdtri(networks - 1, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    low, high = spread * np.sqrt((networks - 1) / tails)
    return Interval(spread, float(low), float(high), networks, CONFIDENCE)


MOST_NETWORKS = 10_000
"""The most networks that are considered."""


def networks_for(spread: float, margin: float) -> int | None:
    """The fewest networks, two or more, whose interval of a mean of logarithms that spread so reaches no
    farther than a relative ``margin``; None where there is no spread, or more than :data:`MOST_NETWORKS`."""
    if not spread > 0:
        return None
    networks = np.arange(2, MOST_NETWORKS + 1)
    half = special.stdtrit(networks - 1, 0.5 + CONFIDENCE / 2) * spread / np.sqrt(networks)
    enough = np.flatnonzero(half <= np.log1p(margin))
    return int(networks[enough[0]]) if len(enough) else None


def _own_contrasts(analysis: Analysis) -> dict[_Contrast, list[tuple[Mapping[str, str], Mapping[str, str]]]]:
    """The pairs of variants of each contrast, one for each scale in the order of the plan."""
    varying = [knob for knob, levels in analysis.levels.items() if len(levels) > 1 and knob != SCALE_KNOB]
    contrast_pairs: dict[_Contrast, list[tuple[Mapping[str, str], Mapping[str, str]]]] = {}
    for one, other, knob in one_knob_apart(list(analysis.provenance.variants())):
        if knob != SCALE_KNOB:
            at = ", ".join(one[name] for name in varying if name != knob)
            contrast_pairs.setdefault((knob, at, one[knob], other[knob]), []).append((one, other))
    return contrast_pairs


def _log_ratios(analysis: Analysis) -> list[tuple[dict[str, str], dict[str, _Floats]]]:
    """Each contrast of a kind, metric and quantile, with its logarithms (one for each network) by scale."""
    runs, contrasts = analysis.once(quantiles_by_run), analysis.once(_own_contrasts)
    ratios = []
    for (metric, kind), section in runs.group_by(["metric", "kind"], maintain_order=True):
        for (knob, at, first, second), pairs in contrasts.items():
            for estimand in SCALE_QUANTILES:
                head = {"metric": str(metric), "kind": str(kind), "estimand": estimand, "knob": knob}
                values = {
                    one[SCALE_KNOB]: paired(section, estimand, one, two).log_ratio for one, two in pairs
                }
                ratios.append(({**head, "at": at, "from": first, "to": second}, values))
    return ratios


def contrasts(analysis: Analysis) -> list[dict[str, object]]:
    """The columns of :data:`SCALE_CONTRASTS`."""
    rows: list[dict[str, object]] = []
    for head, by_scale in analysis.once(_log_ratios):
        roots = _falling_with_root(by_scale)
        for scale, values in by_scale.items():
            effect, spread = t_interval(values), spread_interval(values)
            ends = _columns("ratio", effect, np.exp) | _columns("spread", spread)
            rows.append(
                {**head, "scale": scale, "networks": len(values), **ends}
                | {"spread_by_root": roots[scale]}
                | {"networks_for_margin": networks_for(spread.mean, analysis.margin)}
            )
    return rows


def _falling_with_root(by_scale: Mapping[str, _Floats]) -> dict[str, float]:
    """Spreads that fall with the root of the scale, with the same geometric mean as those of ``by_scale``."""
    sizes = np.array([float(scale) for scale in by_scale])
    spreads = np.array([spread_interval(values).mean for values in by_scale.values()])
    known = spreads > 0
    level = np.exp(np.mean(np.log((spreads * np.sqrt(sizes))[known]))) if known.any() else np.nan
    return dict(zip(by_scale, level / np.sqrt(sizes), strict=True))


def times(analysis: Analysis) -> list[dict[str, object]]:
    """The columns of :data:`SCALE_TIMES`."""
    by, rows = ["metric", "kind", *analysis.knobs], []
    for key, of_variant in analysis.once(quantiles_by_run).group_by(by, maintain_order=True):
        for estimand in SCALE_QUANTILES:
            logs = np.log(of_variant[estimand].to_numpy())
            mean, spread = t_interval(logs), spread_interval(logs)
            ends = _columns("time_s", mean, np.exp) | _columns("spread", spread)
            head = dict(zip(by, key, strict=True))
            rows.append({**head, "estimand": estimand, "networks": len(logs), **ends})
    return rows


def trends(analysis: Analysis) -> list[dict[str, object]]:
    """The columns of :data:`SCALE_TRENDS`."""
    rows: list[dict[str, object]] = []
    for head, every in analysis.once(_log_ratios):
        # A scale with one network has no spread, and its mean no interval.
        by_scale = {scale: values for scale, values in every.items() if len(values) > 1}
        if len(by_scale) < 2:
            continue
        scales = np.log10([float(scale) for scale in by_scale])
        change = slope_of_means(scales, list(by_scale.values()))
        exponent = slope_of_spreads(scales, list(by_scale.values()))
        ends = _columns("tenfold", change, np.exp) | _columns("spread_exponent", exponent)
        rows.append({**head, "networks": change.networks, **ends})
    return rows


def slope_of_means(scales: _Floats, groups: Sequence[_Floats]) -> Interval:
    """The slope of the means of ``groups`` over ``scales``, with Welch's interval."""
    return welch_interval(groups, (scales - scales.mean()) / np.sum((scales - scales.mean()) ** 2))


def slope_of_spreads(scales: _Floats, groups: Sequence[_Floats]) -> Interval:
    """The slope of the decimal logarithms of spreads over ``scales``; NaN where a group has no spread."""
    networks = sum(map(len, groups))
    spreads = np.array([spread_interval(group).mean for group in groups])
    if not (spreads > 0).all():
        return Interval(np.nan, np.nan, np.nan, networks, CONFIDENCE)
    weights = np.array([2.0 * (len(group) - 1) for group in groups])
    centred = scales - np.average(scales, weights=weights)
    curvature = np.sum(weights * centred**2)
    slope = float(np.sum(weights * centred * np.log10(spreads)) / curvature)
    # The weights are inverse variances of natural logarithms.
    half = float(special.ndtri(0.5 + CONFIDENCE / 2) / np.sqrt(curvature) / np.log(10))
    return Interval(slope, slope - half, slope + half, networks, CONFIDENCE)


def _ends(name: str) -> tuple[str, str, str]:
    return name, f"{name}_low", f"{name}_high"


def _columns(
    name: str, interval: Interval, of: Callable[[float], float] = lambda bound: bound
) -> dict[str, float]:
    """The columns ``name`` of ``interval``, each bound as ``of`` has it."""
    return {
        end: of(b) for end, b in zip(_ends(name), (interval.mean, interval.low, interval.high), strict=True)
    }


def _if_scaled(compute: Callable[[Analysis], list[dict[str, object]]]) -> Compute:
    """``compute`` for plans that have several scales; None for all others."""

    def computed(analysis: Analysis) -> list[dict[str, object]] | None:
        return compute(analysis) if len(analysis.levels.get(SCALE_KNOB, ())) > 1 else None

    return unless_perf_alone(computed)


def _in_summary(analysis: Analysis, frame: pl.DataFrame) -> list[TextTable]:
    scales = list(analysis.levels[SCALE_KNOB])
    shown = frame.filter(pl.col("metric").is_in(list(SHOWN_METRICS)), kind="web")
    rows = []
    for key, of_contrast in shown.group_by(
        ["metric", "estimand", "knob", "at", "from", "to"], maintain_order=True
    ):
        metric, estimand, _, at, first, second = map(str, key)
        cells = {row["scale"]: row for row in of_contrast.iter_rows(named=True)}
        what = f"{SHOWN_METRICS[metric]}, {estimand}: {first} → {second}" + (f", {at}" if at else "")
        rows.append([what, *(_cell(cells.get(scale)) for scale in scales)])
    title = "Contrasts of web clients by scale: ratio [95 % interval], spread between networks"
    return [TextTable(title, ["", *(f"scale {scale}" for scale in scales)], rows)] if rows else []


def _cell(row: Mapping[str, float] | None) -> str:
    if row is None or row["ratio"] is None:
        return "–"
    ends = "" if row["ratio_low"] is None else f" [{row['ratio_low']:.3f}, {row['ratio_high']:.3f}]"
    spread = "" if row["spread"] is None else f", {percent_text(row['spread']).removeprefix('+')}"
    return f"× {row['ratio']:.3f}{ends}{spread} ({row['networks']})"


_WHAT: Columns = (
    METRIC_COLUMN
    | KIND_COLUMN
    | texts("quantile over downloads", "estimand")
    | texts("what differs, the other knobs that vary, and the levels compared", "knob", "at", "from", "to")
)
_SPREAD = numbers(
    "standard deviation between networks of its natural logarithm, and 95 % interval", *_ends("spread")
)
SCALE_CONTRASTS = Statistic(
    "scale_contrasts",
    "a contrast of two variants at one scale, paired by network",
    _WHAT
    | texts("the networks' scale", "scale")
    | NETWORKS_COLUMN
    | numbers("to over from: geometric mean over networks and 95 % interval", *_ends("ratio"))
    | _SPREAD
    | numbers("a spread that falls as one over the root of the scale, with the same mean", "spread_by_root")
    | counts("networks whose interval reaches no farther than the margin", "networks_for_margin"),
    _if_scaled(contrasts),
    in_summary=_in_summary,
    rank=65,
)
SCALE_TIMES = Statistic(
    "scale_times",
    "a time of a variant, whose network has one of several scales",
    METRIC_COLUMN
    | KIND_COLUMN
    | KNOB_COLUMNS
    | texts("quantile over downloads", "estimand")
    | NETWORKS_COLUMN
    | numbers("seconds: geometric mean over networks and 95 % interval", *_ends("time_s"))
    | _SPREAD,
    _if_scaled(times),
)
SCALE_TRENDS = Statistic(
    "scale_trends",
    "how a contrast of two variants changes from scale to scale",
    _WHAT
    | NETWORKS_COLUMN
    | numbers("factor on the contrast when the network is ten times as large", *_ends("tenfold"))
    | numbers("exponent of the spread as a power of the scale", *_ends("spread_exponent")),
    _if_scaled(trends),
)
