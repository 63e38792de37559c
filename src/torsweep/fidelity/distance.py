"""How far two runs are apart in a time: the greatest gap between their curves, and ratios of quantiles.

In: the downloads of both. Out: :class:`Distance`.

The curves are cumulative incidences (:mod:`torsweep.stats.streams.incidence`), so that failed downloads lower
them and unfinished ones count as long as they were seen. The gap is that of Kolmogorov and Smirnov between
such curves, up to the time at which the first of the two can no longer be known: where the longest download
of a run was cut off by its end, nothing is known beyond.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from torsweep.stats.streams.incidence import CENSORED, METRICS, Incidence, downloads

PROBABILITIES = {"p10": 0.1, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p90": 0.9}

SHOWN_METRICS = ("ttfb", "ttlb")


@dataclass(frozen=True)
class Curve:
    """One run's incidence of a time in one kind of client.

    ``quantiles_s`` are those of :data:`PROBABILITIES`, NaN where the curve does not get that far;
    ``known_until_s`` is infinite where every download was seen to its end.
    """

    incidence: Incidence
    quantiles_s: npt.NDArray[np.float64]
    known_until_s: float
    count: int

    def at(self, times_s: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """The share complete by each of ``times_s``; NaN where it cannot be known."""
        return np.where(times_s <= self.known_until_s, self.incidence.at(times_s)[0], np.nan)


@dataclass(frozen=True)
class Distance:
    """``ks`` is the greatest gap between a curve and the reference's, ``gap`` the same with its sign
    (above 0: more of the curve was complete by then), at ``at_s``; all NaN where neither has a completion
    while both are known. ``ratios`` are curve over reference."""

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
