"""Downloads that were still going on when the simulation stopped.

In: the downloads that TGen reported, and the steps of its graphs. Out: the downloads that it did not report,
with their start. TGen reports a download only at its end; but it begins each one at a known time after the
one before (its pause is drawn beforehand), so every start without a report belongs to an unfinished download.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from torsweep.engines.shadow.read.graphs import Steps
from torsweep.engines.shadow.read.logs import Log
from torsweep.engines.shadow.read.tgen import TgenLog

_KEY = ["log", "vertex", "occurrence"]


def unfinished_downloads(logs: Sequence[Log], tgen: TgenLog, steps: Steps, end_us: int) -> pl.DataFrame:
    """``log``, ``vertex``, ``created_us``, ``server``, ``bytes_wanted`` of each download without a report.

    ``end_us`` is the end of the run, µs since 1970. Raises InputError when a report has no download before
    it that it could have followed: then the log has lost one.
    """
    begun = tgen.begun.join(steps.first, on="log", maintain_order="left").select(
        "log", "vertex", created_us="time_us"
    )
    followed = tgen.downloads.join(steps.following, on=["log", "vertex"], maintain_order="left").select(
        "log", vertex="next", created_us=pl.col("ended_us") + pl.col("pause_us")
    )
    expected = _numbered(pl.concat([begun, followed]))
    reported = _numbered(tgen.downloads.select("log", "vertex", "created_us", "line"))
    lost = reported.join(expected, on=_KEY, how="anti").sort("created_us")
    if lost.height:
        raise logs[lost["log"][0]].error(
            "reports a download without the one before it: the log has lost a line",
            line=lost["line"][0],
            value=lost["vertex"][0],
        )
    return (
        expected.join(reported, on=_KEY, how="anti")
        .filter(pl.col("created_us") < end_us)
        .join(steps.downloads, on=["log", "vertex"], how="left")
        .select("log", "vertex", "created_us", "server", "bytes_wanted")
        .sort("log", "created_us", "vertex")
    )


def _numbered(downloads: pl.DataFrame) -> pl.DataFrame:
    """With ``occurrence``: how often the client had come to this step by then; steps come round again."""
    ordered = downloads.sort("log", "created_us", "vertex")
    return ordered.with_columns(occurrence=pl.int_range(pl.len()).over("log", "vertex"))
