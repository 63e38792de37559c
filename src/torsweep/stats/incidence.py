"""Curves that leave no download out: Aalen–Johansen cumulative incidence of completion.

In: per download a time, an event and the number of its group (a run, or a client of a run). Out:
:class:`Incidence`: for each group, the share of downloads that are complete within a time.

A download that failed or timed out is an outcome that competes with completion: it will never complete.
One cut off by the end of the run is right-censored: it says only that it took longer. With no censoring
the curve is the share of all downloads, failed ones included, that completed by then, so it tops out at
one minus the failure rate. Source: Aalen & Johansen, Scandinavian Journal of Statistics 5 (1978) 141–150.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

CENSORED, COMPLETE, COMPETING = 0, 1, 2
"""Events: still running when the run ended; complete; failed or timed out."""

_ROUNDING = 1e-9
"""How far a sum of many probabilities may fall short of a quantile and still be that quantile."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Incidence:
    """Right-continuous step functions, one a group.

    ``times`` and ``share`` hold the completions of all groups one after another, in order of time;
    group ``g`` has the slice ``bounds[g]:bounds[g + 1]``. ``share`` is the value from that time on.
    """

    times: Floats
    share: Floats
    bounds: npt.NDArray[np.int64]

    def quantiles(self, probabilities: Floats) -> Floats:
        """First time at which each group's share reaches each of ``probabilities``; NaN: it never does.

        Shape (groups, probabilities), in the unit of the times. The definition is inf{t: F(t) ≥ p}.
        """
        found = np.full((len(self.bounds) - 1, len(probabilities)), np.nan)
        for group in range(len(found)):
            section = slice(self.bounds[group], self.bounds[group + 1])
            rank = np.searchsorted(self.share[section], probabilities - _ROUNDING)
            reached = rank < self.bounds[group + 1] - self.bounds[group]
            found[group, reached] = self.times[section][rank[reached]]
        return found

    def at(self, times: Floats) -> Floats:
        """Share of each group that is complete by each of ``times``; shape (groups, times)."""
        found = np.zeros((len(self.bounds) - 1, len(times)))
        for group in range(len(found)):
            section = slice(self.bounds[group], self.bounds[group + 1])
            rank = np.searchsorted(self.times[section], times, side="right")
            found[group] = np.concatenate([[0.0], self.share[section]])[rank]
        return found

    def top(self) -> Floats:
        """The value at which each group's curve ends; 0 where nothing completed. Shape (groups,)."""
        ends = np.zeros(len(self.bounds) - 1)
        filled = np.diff(self.bounds) > 0
        ends[filled] = self.share[self.bounds[1:][filled] - 1]
        return ends


def cumulative_incidence(
    times: npt.NDArray, events: npt.NDArray, groups: npt.NDArray, group_count: int
) -> Incidence:
    """The Aalen–Johansen estimate of the incidence of completion in each group.

    ``times`` (any unit), ``events`` (the module's constants) and ``groups`` (0 … ``group_count`` − 1) have
    one entry for each download.

    With n_j at risk and S the all-cause Kaplan–Meier curve, F(t) = Σ S(t_j−) · complete_j / n_j. Tied
    events are taken one after another, censored ones last: the products telescope to the same sum.
    """
    order = np.lexsort((events == CENSORED, times, groups))
    times, events, groups = times[order], events[order], groups[order]
    first = np.searchsorted(groups, np.arange(group_count + 1))
    at_risk = first[groups + 1] - np.arange(len(groups))
    ended = events != CENSORED
    with np.errstate(divide="ignore"):
        log_stay = np.log1p(np.where(ended, -1.0 / at_risk, 0.0))
    # Survival falls to 0 only at the last row of a group, after which nothing of the group is left.
    log_stay[np.isneginf(log_stay)] = 0.0
    survival_before = np.exp(_running_sum(log_stay, first, groups) - log_stay)
    share = _running_sum(survival_before * (events == COMPLETE) / at_risk, first, groups)
    complete = events == COMPLETE
    return Incidence(
        times[complete].astype(float),
        share[complete],
        np.searchsorted(groups[complete], np.arange(group_count + 1)),
    )


def _running_sum(values: Floats, first: npt.NDArray, groups: npt.NDArray) -> Floats:
    """Cumulative sums that start anew in each group."""
    total = np.concatenate([[0.0], np.cumsum(values)])
    return total[1:] - total[first[groups]]
