"""How the times of downloads answer to knobs that have a range: curves, effects, and the best setting.

In: the median times of each run (:mod:`torsweep.stats.streams.medians`) of a plan whose knobs have ranges.
Out: responses.csv, effects.csv and best_setting.csv.

To each network a quadratic surface is fitted by least squares: the logarithm of the median time over the
places of the settings in their ranges (−1 to 1), with a square for each knob and a product for each two; only
with products, or straight, where there are too few settings. Every number is worked out from each network's
surface, so that intervals are over networks. Source: Box and Draper, Response Surfaces, Mixtures, and Ridge
Analyses, 2nd edition (2007), chapter 3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from torsweep.config.plan import KnobRange
from torsweep.runsets.plan_tables import REPEAT, SOURCE
from torsweep.seeds import stream
from torsweep.stats.inference.intervals import (
    CONFIDENCE,
    FEWEST_FOR_BANDS,
    SHORTEST_S,
    Interval,
    bands,
    change_intervals,
)
from torsweep.stats.statistic import (
    KIND_COLUMN,
    METRIC_COLUMN,
    NETWORKS_COLUMN,
    Analysis,
    Columns,
    Statistic,
    numbers,
    texts,
)
from torsweep.stats.streams.incidence import unless_perf_alone
from torsweep.stats.streams.medians import quantiles_of_runs
from torsweep.stats.text import SHOWN_METRICS, TextTable, interval_text, variant_words

_CURVE_POINTS, _CANDIDATES, _RESAMPLES = 41, 20_000, 400
"""Places of a curve; the most settings that the best is chosen from; draws of networks with replacement."""

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Response:
    """The surfaces of one kind of client and time, where the knobs without a range are ``at`` some levels.

    ``places`` has a row for each setting and a column for each knob of ``ranges``, and ``logs`` (networks ×
    settings) the logarithms of median times. ``terms`` are the knobs that are multiplied in each column of
    ``surfaces`` (networks × terms).
    """

    what: Mapping[str, str]
    ranges: Mapping[str, KnobRange]
    baseline: Array
    places: Array
    logs: Array
    terms: Sequence[tuple[int, ...]]
    surfaces: Array

    def columns(self, places: Array) -> Array:
        """The terms at ``places``, in columns."""
        return _columns(places, self.terms)

    def along(self, knob: int, places: npt.ArrayLike) -> Array:
        """Settings with ``knob`` at ``places`` and the others at the baseline."""
        along = np.tile(self.baseline, (np.size(places), 1))
        along[:, knob] = places
        return along


def _columns(places: Array, terms: Sequence[tuple[int, ...]]) -> Array:
    return np.stack([places[:, list(term)].prod(axis=1) for term in terms], axis=1)


def _terms(places: Array) -> Sequence[tuple[int, ...]] | None:
    """The terms of the largest surface that has fewer than there are settings, all determined; else None."""
    knobs = range(places.shape[1])
    straight: list[tuple[int, ...]] = [(), *((one,) for one in knobs)]
    products = [*straight, *combinations(knobs, 2)]
    for terms in ([*products, *((one, one) for one in knobs)], products, straight):
        if np.linalg.matrix_rank(_columns(places, terms)) == len(terms) < len(places):
            return terms
    return None


def responses(analysis: Analysis) -> list[Response]:
    """The responses of a plan; none without ranges, or with too few settings."""
    ranges = analysis.ranges
    if not ranges:
        return []
    frame = analysis.once(quantiles_of_runs).filter(pl.col("metric").is_in(list(SHOWN_METRICS)))
    others = [knob for knob in analysis.knobs if knob not in ranges]
    if SOURCE in others:
        frame = frame.filter(~pl.col(SOURCE).cast(pl.String).str.ends_with(REPEAT))
    found = []
    for key, own in frame.group_by(["metric", "kind", *others], maintain_order=True):
        at = variant_words({knob: level for knob, level in zip(others, key[2:], strict=True)})
        what = {"metric": str(key[0]), "kind": str(key[1]), "at": at}
        found.append(_response(own, what, ranges, analysis.baseline))
    return [one for one in found if one is not None]


def _response(
    own: pl.DataFrame, what: Mapping[str, str], ranges: Mapping[str, KnobRange], baseline: Mapping[str, str]
) -> Response | None:
    wide = own.with_columns(pl.col(list(ranges)).cast(pl.String)).pivot(
        "seed", index=list(ranges), values="median_s", maintain_order=True
    )
    # Networks on which a setting has not run, as in a set of several sources, are left out.
    counts = own.group_by("seed").len().filter(pl.col("len") == len(wide))["seed"].sort()
    levels = wide.select(list(ranges)).rows()
    places = np.array(
        [[one.place_of(level) for one, level in zip(ranges.values(), row, strict=True)] for row in levels]
    )
    terms = _terms(places)
    if terms is None or counts.is_empty():
        return None
    times = wide.select(str(seed) for seed in counts).fill_null(np.nan).to_numpy().T
    logs = np.log(np.maximum(times, SHORTEST_S))
    surfaces = logs @ np.linalg.pinv(_columns(places, terms)).T
    middle = np.array([one.place_of(baseline[knob]) for knob, one in ranges.items()])
    return Response(what, ranges, middle, places, logs, terms, surfaces)


def _ratio(logs: npt.ArrayLike) -> dict[str, float]:
    """Columns with the mean over networks of the logarithms of a ratio, and its interval; of two or three
    networks the lowest and the highest."""
    interval, _ = change_intervals(logs, 1)
    ends = {"ratio": interval.mean, "ratio_low": interval.low, "ratio_high": interval.high}
    return {end: float(np.exp(bound)) for end, bound in ends.items()}


def _rows(row: Callable[[Response], Iterator[dict[str, Any]]]) -> Callable[[Analysis], Any]:
    """A computation with rows of each response; None where a plan has none."""

    def computed(analysis: Analysis) -> list[dict[str, Any]] | None:
        every = analysis.once(responses)
        rows = [{**one.what, "networks": len(one.logs), **columns} for one in every for columns in row(one)]
        return rows or None

    return unless_perf_alone(computed)


def _curves(one: Response) -> Iterator[dict[str, Any]]:
    """The curve of each knob, then the settings, moved along the surface to the baseline's other levels.

    Each network's own curve is taken relative to the baseline, as networks differ far more than settings do.
    """
    places = np.linspace(-1, 1, _CURVE_POINTS)
    mean = one.surfaces.mean(axis=0)
    middle = one.columns(one.baseline[None])
    beside = one.logs.mean(axis=0) - one.columns(one.places) @ mean
    for knob, (name, of_knob) in enumerate(one.ranges.items()):
        line = bands(one.surfaces @ (one.columns(one.along(knob, places)) - middle).T)
        about = {"knob": name, "unit": of_knob.unit, "scale": of_knob.scale}
        for place, *ends in zip(places, *line, strict=True):
            ratio = dict(zip(("ratio", "ratio_low", "ratio_high"), map(float, np.exp(ends)), strict=True))
            yield {**about, "what": "curve", "number": float(of_knob.number_at(place)), **ratio}
        moved = beside + (one.columns(one.along(knob, one.places[:, knob])) - middle) @ mean
        for place, log in zip(one.places[:, knob], moved, strict=True):
            number = float(of_knob.number_at(place))
            yield {**about, "what": "setting", "number": number, "ratio": float(np.exp(log))}


def _effects(one: Response) -> Iterator[dict[str, Any]]:
    names = list(one.ranges)
    mean = one.surfaces.mean(axis=0)
    left = one.logs.mean(axis=0) - one.columns(one.places) @ mean
    apart = float(np.sqrt(np.mean(left**2)))
    for column, term in enumerate(one.terms):
        of_networks = one.surfaces[:, column]
        if not term:
            continue
        if len(term) == 1:
            effect, logs = "main", 2 * of_networks
        elif term[0] == term[1]:
            effect, logs = "curvature", -of_networks
        else:
            effect, logs = "interaction", 4 * of_networks
        knobs = {"knob": names[term[0]], "other": names[term[1]] if effect == "interaction" else ""}
        ends = {"from": one.ranges[knobs["knob"]].low, "to": one.ranges[knobs["knob"]].high}
        yield {"effect": effect, **knobs, **ends, **_ratio(logs), "unexplained": float(np.expm1(apart))}


def _best(one: Response) -> Iterator[dict[str, Any]]:
    knobs, networks = len(one.ranges), len(one.logs)
    each = min(_CURVE_POINTS, int(_CANDIDATES ** (1 / knobs)))
    axes = np.meshgrid(*[np.linspace(-1, 1, each)] * knobs, indexing="ij")
    candidates = np.stack(axes, -1).reshape(-1, knobs)
    if not np.isfinite(one.surfaces).all():
        return
    columns = one.columns(candidates)
    draws = np.arange(networks)[:, None]
    if networks >= FEWEST_FOR_BANDS:
        draws = stream(0, "best setting").integers(networks, size=(_RESAMPLES, networks))
    resampled = candidates[(one.surfaces[draws].mean(axis=1) @ columns.T).argmin(axis=1)]
    chosen = candidates[(one.surfaces.mean(axis=0) @ columns.T).argmin()]
    # On each network, the setting that is best on the others: chosen on the same one it would flatter itself.
    others = (one.surfaces.sum(axis=0) - one.surfaces) if networks > 1 else one.surfaces
    gains = one.surfaces * (columns[(others @ columns.T).argmin(axis=1)] - one.columns(one.baseline[None]))
    ratio = _ratio(gains.sum(axis=1))
    for knob, (name, of_knob) in enumerate(one.ranges.items()):
        shares = (0.025, 0.975) if networks >= FEWEST_FOR_BANDS else (0, 1)
        low, high = np.quantile(resampled[:, knob], shares)
        best, least, most = map(of_knob.level_at, (chosen[knob], low, high))
        yield {"knob": name, "best": best, "best_low": least, "best_high": most, **ratio}


def _effects_in_summary(analysis: Analysis, frame: pl.DataFrame) -> list[TextTable]:
    rows = []
    for row in frame.drop_nulls("ratio").fill_null(np.nan).iter_rows(named=True):
        what = {"main": f"{row['from']} → {row['to']}", "curvature": "middle against both ends"}
        words = what.get(row["effect"]) or f"with {row['other']}"
        rows.append([_where(row), row["knob"], words, _factor(row), f"{row['unexplained']:.1%}"])
    bounds = "lowest, highest" if analysis.few else "95 % interval"
    header = ["times", "knob", "effect", f"factor [{bounds}]", "settings beside the surface"]
    note = (
        "From a quadratic surface for each network. The first effect of a knob is that of its range with the "
        "others in the middle of theirs; one with another knob is the factor on it over the other's range."
    )
    return [TextTable("Effects of the knobs over their ranges", header, rows, [note])]


def _best_in_summary(analysis: Analysis, frame: pl.DataFrame) -> list[TextTable]:
    rows = [
        [_where(row), row["knob"], f"{row['best']} [{row['best_low']}, {row['best_high']}]", _factor(row)]
        for row in frame.fill_null(np.nan).iter_rows(named=True)
    ]
    over = "the networks" if analysis.few else "95 % of resampled sets of networks"
    note = (
        f"The least time on the mean surface, and where it lies on {over}. Against the baseline: each "
        "network's own surface at the setting that is best on the others."
    )
    header = ["times", "knob", "best level", "against the baseline"]
    return [TextTable("The best setting", header, rows, [note])]


def _where(row: Mapping[str, Any]) -> str:
    where = f"{row['kind']}, {SHOWN_METRICS[row['metric']]}"
    return f"{where}, {row['at']}" if row["at"] else where


def _factor(row: Mapping[str, Any]) -> str:
    return f"× {interval_text(Interval(row['ratio'], row['ratio_low'], row['ratio_high'], 0, CONFIDENCE))}"


_WHAT: Columns = (
    METRIC_COLUMN
    | KIND_COLUMN
    | texts("levels of the knobs without a range", "at")
    | NETWORKS_COLUMN
    | texts("knob with a range", "knob")
)
RESPONSES = Statistic(
    "responses",
    "a point of the response of a median time to a knob, the other knobs with ranges at the baseline",
    _WHAT
    | texts("unit of the number (ms, or none), and scale of the range", "unit", "scale")
    | texts("`curve`, or `setting`: one that has run, moved to the baseline's other levels", "what")
    | numbers("number in the level", "number")
    | numbers("time over the baseline's: geometric mean over networks", "ratio")
    | numbers(
        "its 95 % interval; of two or three networks the lowest and highest", "ratio_low", "ratio_high"
    ),
    _rows(_curves),
)
EFFECTS = Statistic(
    "effects",
    "an effect of a knob over its range on a median time",
    _WHAT
    | texts("`main`, `curvature` (middle against both ends) or `interaction` with the knob `other`", "effect")
    | texts("the other knob, and the ends of the range", "other", "from", "to")
    | numbers("factor: geometric mean over networks", "ratio")
    | numbers("its 95 % interval; of two or three networks the lowest and highest", "ratio_low", "ratio_high")
    | numbers("how far settings are beside the surface: root mean square of the part", "unexplained"),
    _rows(_effects),
    in_summary=_effects_in_summary,
    rank=60,
)
BEST_SETTING = Statistic(
    "best_setting",
    "a knob at the setting with the least median time",
    _WHAT
    | texts("level on the mean surface", "best")
    | texts("95 % of resampled sets of networks; of two or three networks all", "best_low", "best_high")
    | numbers("time over the baseline's: geometric mean over networks", "ratio")
    | numbers(
        "its 95 % interval; of two or three networks the lowest and highest", "ratio_low", "ratio_high"
    ),
    _rows(_best),
    in_summary=_best_in_summary,
    rank=61,
)
