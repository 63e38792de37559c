"""The times that summaries and figures are about, read from a ``streams`` table.

In: a frame of downloads. Out: :class:`Downloads`: times, events and groups for
:mod:`torsweep.stats.incidence`, and the frame that says what each group is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from torsweep.stats.incidence import CENSORED, COMPETING, COMPLETE, Incidence, cumulative_incidence


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
    "start_us",
    "command_us",
    "observed_us",
    "outcome",
    *(metric.column for metric in METRICS.values()),
)
"""What the statistics read of a ``streams`` table."""

GROUP = "_group"


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
    keys = streams.select(by).unique().sort(by).with_row_index(GROUP)
    rows = streams.join(keys, on=by, how="left", maintain_order="left").select(
        pl.col(GROUP).cast(pl.Int64),
        (pl.coalesce(pl.col(metric.column), waited) / 1e6).alias("time_s"),
        event.cast(pl.Int8).alias("event"),
    )
    return Downloads(
        rows["time_s"].to_numpy(), rows["event"].to_numpy(), rows[GROUP].to_numpy(), keys.drop(GROUP)
    )
