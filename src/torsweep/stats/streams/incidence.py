"""Times of downloads, and curves that leave none out: Aalen–Johansen cumulative incidence of completion.

In: a ``streams`` table. Out: :class:`Downloads`: per download a time, an event and the number of its group (a
run, or a client of a run), and of these :class:`Incidence`: for each group, the share of downloads that are
complete within a time.

A download that failed or timed out is an outcome that competes with completion: it will never complete.
One cut off by the end of the run is right-censored: it says only that it took longer. With no censoring
the curve is the share of all downloads, failed ones included, that completed by then, so it tops out at
one minus the failure rate. Source: Aalen & Johansen, Scandinavian Journal of Statistics 5 (1978) 141–150.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from torsweep.config.traffic import KINDS
from torsweep.errors import InputError
from torsweep.stats.statistic import Analysis
from torsweep.stats.streams.pages import with_pages

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
        values = np.full((len(self.bounds) - 1, len(probabilities)), np.nan)
        for group in range(len(values)):
            section = slice(self.bounds[group], self.bounds[group + 1])
            rank = np.searchsorted(self.share[section], probabilities - _ROUNDING)
            reached = rank < self.bounds[group + 1] - self.bounds[group]
            values[group, reached] = self.times[section][rank[reached]]
        return values

    def at(self, times: Floats) -> Floats:
        """Share of each group that is complete by each of ``times``; shape (groups, times)."""
        values = np.zeros((len(self.bounds) - 1, len(times)))
        for group in range(len(values)):
            section = slice(self.bounds[group], self.bounds[group + 1])
            rank = np.searchsorted(self.times[section], times, side="right")
            values[group] = np.concatenate([[0.0], self.share[section]])[rank]
        return values

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


@dataclass(frozen=True)
class Metric:
    """A time of a download: its column, its name on an axis, and from when it counts."""

    name: str
    column: str
    label: str
    after_command: bool = False


METRICS = {
    metric.name: metric
    for metric in (
        Metric("ttfb", "first_byte_us", "Time to first byte"),
        Metric("ttlb", "last_byte_us", "Time to last byte"),
        Metric("ttfb_after_command", "first_byte_after_command_us", "Time to first byte after command", True),
        Metric("ttlb_after_command", "last_byte_after_command_us", "Time to last byte after command", True),
    )
}
"""By name. The first two count from the opening of the SOCKS connection; the others, which tgentools
uses, from the SOCKS command, so they leave the wait for a circuit out."""

STREAM_COLUMNS = (
    "client",
    "kind",
    "stream",
    "start_us",
    "command_us",
    "observed_us",
    "outcome",
    *(metric.column for metric in METRICS.values()),
)
"""What the statistics read of a ``streams`` table."""

_GROUP = "_group"


def measured_downloads(analysis: Analysis) -> pl.DataFrame:
    """Seed, knobs and :data:`STREAM_COLUMNS` of every download, or page, of a plan after the warm-up.

    Raises InputError when there is none.
    """
    streams = with_pages(analysis.tables.streams(STREAM_COLUMNS), ["seed", *analysis.knobs])
    if streams.is_empty():
        raise InputError("holds no download that started after the warm-up", file=analysis.tables.directory)
    return streams


Compute = Callable[[Analysis], Any]


def unless_perf_alone(compute: Compute) -> Compute:
    """``compute``, which needs :func:`measured_downloads`; None where a plan has perf clients alone, as on
    networks of tornettools, and is asked for the others."""

    def computed(analysis: Analysis) -> Any:
        perf_alone = analysis.provenance.given_networks and analysis.tables.kinds == KINDS
        return None if perf_alone else compute(analysis)

    return computed


@dataclass(frozen=True)
class Downloads:
    """Times in seconds, events and group numbers, one entry for each download; ``keys`` has one row for each
    group."""

    times_s: npt.NDArray[np.float64]
    events: npt.NDArray[np.int8]
    groups: npt.NDArray[np.int64]
    keys: pl.DataFrame

    def incidence(self) -> Incidence:
        """The curve of each group, in the order of ``keys``."""
        return cumulative_incidence(self.times_s, self.events, self.groups, self.keys.height)


def downloads(streams: pl.DataFrame, metric: Metric, by: Sequence[str]) -> Downloads:
    """The downloads of ``streams`` grouped by the columns ``by``, sorted by them.

    A download that got as far as the metric counts as complete then, whatever became of it later: one
    that fails after its first byte has a time to first byte. Of the others, failed and timed-out ones
    compete at the moment they ended and unfinished ones are censored at the end of the run.

    Metrics after the command leave out downloads that ended before a command was sent: they have no
    moment to count from.
    """
    if metric.after_command:
        streams = streams.filter(pl.col("command_us").is_not_null())
        waited = pl.col("observed_us") - pl.col("command_us")
    else:
        waited = pl.col("observed_us")
    event = (
        pl.when(pl.col(metric.column).is_not_null())
        .then(COMPLETE)
        .when(pl.col("outcome") == "unfinished")
        .then(CENSORED)
        .otherwise(COMPETING)
    )
    keys = streams.select(by).unique().sort(by).with_row_index(_GROUP)
    rows = streams.join(keys, on=by, how="left", maintain_order="left").select(
        pl.col(_GROUP).cast(pl.Int64),
        (pl.coalesce(pl.col(metric.column), waited) / 1e6).alias("time_s"),
        event.cast(pl.Int8).alias("event"),
    )
    return Downloads(
        rows["time_s"].to_numpy(), rows["event"].to_numpy(), rows[_GROUP].to_numpy(), keys.drop(_GROUP)
    )
