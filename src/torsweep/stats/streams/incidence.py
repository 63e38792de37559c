"""Times of downloads, and curves that leave none out: Aalen–Johansen cumulative incidence of completion.

In: a ``streams`` table. Out: :class:`Downloads`: per download a time, an event, the time at which it came
under observation and the number of its group (a run, or a client of a run); and of these :class:`Incidence`:
for each group, the share of downloads that are complete within a time.

A download that failed or timed out is an outcome that competes with completion: it will never complete.
One cut off by the end of the run is right-censored: it says only that it took longer. One that was under way
when the warm-up ended is left-truncated: it is at risk from the time that it had taken by then. Without
either, the curve is the share of all downloads, failed ones included, that completed by then, so it tops out
at one minus the failure rate. Sources: Aalen & Johansen, Scandinavian Journal of Statistics 5 (1978) 141–150;
delayed entry: Andersen, Borgan, Gill & Keiding, Statistical Models Based on Counting Processes (1993), III.3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from torsweep.config.traffic import KINDS
from torsweep.engines.draws import PAGE
from torsweep.errors import InputError
from torsweep.stats.statistic import Analysis


def with_pages(streams: pl.DataFrame, run: Sequence[str]) -> pl.DataFrame:
    """``streams`` with pages in place of their objects; the columns ``run`` tell runs apart. A page is
    complete when all of its objects are. One that was under way when the warm-up ended comes under
    observation as its first object would."""
    page, by = pl.col("stream") // PAGE, [*run, "client", "_page"]
    objects = streams.filter(page > 0).with_columns(page.alias("_page")).sort("stream", maintain_order=True)
    if objects.is_empty():
        return streams
    first_us, complete = pl.col("start_us").min(), (pl.col("outcome") == "complete").all()
    last_us = pl.when(complete).then((pl.col("start_us") + pl.col("last_byte_us")).max() - first_us)
    # As long as nothing has failed, what is not complete is unfinished.
    worst = [pl.when((pl.col("outcome") == word).any()).then(pl.lit(word)) for word in ("failed", "timeout")]
    outcome = pl.coalesce(*worst, pl.when(complete).then(pl.lit("complete")), pl.lit("unfinished"))
    pages = (
        objects.filter((pl.col("stream") % PAGE == 1).any().over(by))
        .group_by(by, maintain_order=True)
        .agg(
            pl.all().exclude(by).first(),
            _observed_us=(pl.col("start_us") + pl.col("observed_us")).max() - first_us,
            _outcome=outcome,
            _last_us=last_us,
        )
        .with_columns(
            stream="_page",
            observed_us="_observed_us",
            outcome=pl.col("_outcome").cast(streams.schema["outcome"]),
            last_byte_us="_last_us",
            last_byte_after_command_us=pl.col("_last_us") - pl.col("command_us"),
        )
        .select(streams.columns)
    )
    return pl.concat([streams.filter(page == 0), pages])


CENSORED, COMPLETE, COMPETING = 0, 1, 2
"""Events: still running when the run ended; complete; failed or timed out."""

_ROUNDING = 1e-9
"""How far a sum of many probabilities may fall short of a quantile and still be that quantile."""

_NO_SURVIVAL = -800.0
"""The logarithm of a survival of 0: its exponential is 0, and sums over many groups stay exact."""

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
    times: npt.NDArray,
    events: npt.NDArray,
    groups: npt.NDArray,
    group_count: int,
    entries: npt.NDArray | None = None,
) -> Incidence:
    """The Aalen–Johansen estimate of the incidence of completion in each group.

    ``times`` (any unit), ``events`` (the module's constants) and ``groups`` (0 … ``group_count`` − 1) have
    one entry for each download, and so have ``entries``, from when it is at risk; without, all are from 0.

    With n_j at risk and S the all-cause Kaplan–Meier curve, F(t) = Σ S(t_j−) · complete_j / n_j. Tied
    events are taken one after another, censored ones last: the products telescope to the same sum.
    """
    order = np.lexsort((events == CENSORED, times, groups))
    times, events, groups = times[order], events[order], groups[order]
    first = np.searchsorted(groups, np.arange(group_count + 1))
    at_risk = first[groups + 1] - np.arange(len(groups))
    if entries is not None:
        at_risk = at_risk - _not_entered(times, groups, entries[order], first)
    ended = events != CENSORED
    with np.errstate(divide="ignore"):
        log_stay = np.log1p(np.where(ended, -1.0 / at_risk, 0.0))
    # Where the last one at risk ends, survival falls to 0: nothing that enters later can raise the curve.
    log_stay[np.isneginf(log_stay)] = _NO_SURVIVAL
    last = first[1:][np.diff(first) > 0] - 1
    log_stay[last] = 0.0
    survival_before = np.exp(_running_sum(log_stay, first, groups) - log_stay)
    share = _running_sum(survival_before * (events == COMPLETE) / at_risk, first, groups)
    complete = events == COMPLETE
    return Incidence(
        times[complete].astype(float),
        share[complete],
        np.searchsorted(groups[complete], np.arange(group_count + 1)),
    )


def _not_entered(
    times: npt.NDArray, groups: npt.NDArray, entries: npt.NDArray, first: npt.NDArray
) -> npt.NDArray[np.int64]:
    """How many downloads of its group enter at or after each of ``times``, in order of groups and times."""
    outside = np.zeros(len(times), np.int64)
    late = np.flatnonzero(entries > 0)
    for group in np.unique(groups[late]):
        section = slice(first[group], first[group + 1])
        waiting = np.sort(entries[section][entries[section] > 0])
        outside[section] = len(waiting) - np.searchsorted(waiting, times[section], side="left")
    return outside


def _running_sum(values: Floats, first: npt.NDArray, groups: npt.NDArray) -> Floats:
    """Cumulative sums that start anew in each group."""
    total = np.concatenate([[0.0], np.cumsum(values)])
    return total[1:] - total[first[groups]]


OPENING: Final = "opening"
REQUEST: Final = "request"
CLOCKS = (OPENING, REQUEST)
"""What starts the clock of a time: the opening of the SOCKS connection, or the request on the open stream."""

_CLOCK_NAMES = {OPENING: "from the opening of the SOCKS connection", REQUEST: "from the request"}


def clock_text(clock: str) -> str:
    """``from the request``."""
    return _CLOCK_NAMES[clock]


@dataclass(frozen=True)
class Metric:
    """A time of a download: its column, its name on an axis, and what starts its clock."""

    name: str
    column: str
    label: str
    clock: str = OPENING


AFTER_COMMAND = "_after_command"
"""How the names of times end that count from the SOCKS command."""

METRICS = {
    metric.name: metric
    for metric in (
        Metric("ttfb", "first_byte_us", "Time to first byte"),
        Metric("ttlb", "last_byte_us", "Time to last byte"),
        Metric("ttfb_after_command", "first_byte_after_command_us", "Time to first byte", REQUEST),
        Metric("ttlb_after_command", "last_byte_after_command_us", "Time to last byte", REQUEST),
    )
}
"""By name. Times from the request, as tgentools has them, leave out the wait for a circuit."""

TIMES_FROM_REQUEST = {"ttfb_after_command": "first byte", "ttlb_after_command": "last byte"}
"""Their names, with what each ends with."""


def metric_at(byte: str, clock: str) -> Metric:
    """The time to the byte of ``ttfb`` or ``ttlb``, by ``clock``."""
    return METRICS[byte if clock == OPENING else f"{byte}_after_command"]


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

ENTRY = "entry_us"
"""How long a download had been under way when the warm-up ended; frames without it have none that was."""

_GROUP = "_group"


def measured_downloads(analysis: Analysis) -> pl.DataFrame:
    """Every download, or page, of a plan that was under way after the warm-up: seed, knobs,
    :data:`STREAM_COLUMNS` and :data:`ENTRY`. InputError when there is none."""
    streams = with_pages(analysis.tables.streams((*STREAM_COLUMNS, ENTRY)), ["seed", *analysis.knobs])
    if streams.is_empty():
        raise InputError("holds no download after the warm-up", file=analysis.tables.directory)
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
    """Times in seconds, events, group numbers and the times from which they are at risk, one entry for each
    download; ``keys`` has one row for each group."""

    times_s: npt.NDArray[np.float64]
    events: npt.NDArray[np.int8]
    groups: npt.NDArray[np.int64]
    keys: pl.DataFrame
    entries_s: npt.NDArray[np.float64]

    def incidence(self) -> Incidence:
        """The curve of each group, in the order of ``keys``."""
        return cumulative_incidence(self.times_s, self.events, self.groups, self.keys.height, self.entries_s)

    def means_s(self) -> Floats:
        """The mean of each group by Little's law: all the time that downloads waited under observation, over
        the number that got as far; NaN where none did. One that fails, is cut off, or waits all the time adds
        its wait and no completion."""
        waited = np.bincount(self.groups, self.times_s - self.entries_s, self.keys.height)
        complete = np.bincount(self.groups, self.events == COMPLETE, self.keys.height)
        return np.where(complete > 0, waited / np.maximum(complete, 1), np.nan)


def downloads(streams: pl.DataFrame, metric: Metric, by: Sequence[str]) -> Downloads:
    """The downloads of ``streams`` grouped by the columns ``by``, sorted by them.

    A download that got as far as the metric counts as complete then, whatever became of it later: one
    that fails after its first byte has a time to first byte. Failed and timed-out ones among the others
    compete at the moment they ended, and unfinished ones are censored at the end of the run. One that had got
    so far before it came under observation, at the end of the warm-up, is left out.

    Times from the request leave out downloads that ended before there was one: they have no moment to count
    from.
    """
    if ENTRY not in streams.columns:
        streams = streams.with_columns(pl.lit(0).alias(ENTRY))
    zero_us: pl.Expr = pl.lit(0)
    if metric.clock == REQUEST:
        streams = streams.filter(pl.col("command_us").is_not_null())
        zero_us = pl.col("command_us")
    event = (
        pl.when(pl.col(metric.column).is_not_null())
        .then(COMPLETE)
        .when(pl.col("outcome") == "unfinished")
        .then(CENSORED)
        .otherwise(COMPETING)
    )
    keys = streams.select(by).unique().sort(by).with_row_index(_GROUP)
    rows = (
        streams.join(keys, on=by, how="left", maintain_order="left")
        .select(
            pl.col(_GROUP).cast(pl.Int64),
            (pl.coalesce(pl.col(metric.column), pl.col("observed_us") - zero_us) / 1e6).alias("time_s"),
            event.cast(pl.Int8).alias("event"),
            ((pl.col(ENTRY) - zero_us).clip(0) / 1e6).alias("entry_s"),
        )
        .filter((pl.col("time_s") > pl.col("entry_s")) | (pl.col("entry_s") == 0))
    )
    return Downloads(
        rows["time_s"].to_numpy(),
        rows["event"].to_numpy(),
        rows[_GROUP].to_numpy(),
        keys.drop(_GROUP),
        rows["entry_s"].to_numpy(),
    )
