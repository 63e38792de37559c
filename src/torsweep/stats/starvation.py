"""Who starved while others on their circuit were served.

In: the streams and the progress of a plan whose clients download in parallel. Out: :class:`Fairness`: for
each stream what it had when the first of its client's was complete, and for each client how many had
starved by then, and how even the shares were.

A stream has starved when it has less than a quarter of its bytes at that moment. Jain's index of the shares
x is (Σx)² / (n Σx²): 1 when all are equal, 1/n when one has everything (Jain, Chiu and Hawe, DEC-TR-301,
1984). Where no download completes before the end of the run there is no such moment: the columns are null,
and claims about it stay open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

STARVED_BELOW = 0.25
"""Share of its own bytes below which a stream has starved, when the first one is complete."""

STREAM_COLUMNS = (
    "client",
    "kind",
    "stream",
    "start_us",
    "first_byte_us",
    "last_byte_us",
    "bytes_wanted",
    "outcome",
)
_TIMES = ("first_byte_s", "completed_s")

PROGRESS_COLUMNS = ("client", "stream", "time_us", "bytes_got")


@dataclass(frozen=True)
class Fairness:
    """``shares`` has a row for each stream, ``clients`` one a client; both with kind, knobs and seed.

    ``shares``: ``opened`` (1 for the stream opened first), ``completed`` (1 for the one completed first,
    null: never), ``first_byte_s`` and ``completed_s`` (since the client's first stream was opened),
    ``share`` (of its bytes, when the first one is complete) and ``starved``. ``clients``: ``opened`` (how
    many streams), ``starved``, ``jain``, ``first_completed_s``, ``all_completed_s``.
    """

    shares: pl.DataFrame
    clients: pl.DataFrame

    def starved(self, kind: str, variant: Mapping[str, str]) -> tuple[np.ndarray, np.ndarray]:
        """Mean number of starved streams and of streams of the clients of ``kind``, one each a network."""
        means = pl.col("starved", "opened").mean().fill_null(np.nan)
        chosen = _chosen(self.clients, kind, variant).group_by("seed").agg(means).sort("seed")
        return chosen["starved"].to_numpy(), chosen["opened"].to_numpy()

    def served_share(self, kind: str, variant: Mapping[str, str], served: str, count: int) -> np.ndarray:
        """The share of the first ``count`` streams to complete that was opened ``first`` or ``last``.

        One number for each network; NaN where none completes.
        """
        streams = pl.len().over("seed", "client")
        among = pl.col("opened") <= count if served == "first" else pl.col("opened") > streams - count
        chosen = _chosen(self.shares, kind, variant).with_columns(among.alias("_among"))
        early = pl.col("_among").filter(pl.col("completed") <= count)
        return chosen.group_by("seed").agg(early.mean()).sort("seed")["_among"].fill_null(np.nan).to_numpy()


def _chosen(frame: pl.DataFrame, kind: str, variant: Mapping[str, str]) -> pl.DataFrame:
    levels = {**variant, "kind": kind}
    return frame.filter(*(pl.col(name).cast(pl.String) == level for name, level in levels.items()))


def fairness(streams: pl.DataFrame, progress: pl.DataFrame, knobs: Sequence[str]) -> Fairness:
    """The fairness of ``streams`` (:data:`STREAM_COLUMNS`) by ``progress`` (:data:`PROGRESS_COLUMNS`).

    Both frames have the seed and the knobs in front.
    """
    client = [*knobs, "seed", "client"]
    begin, end = pl.col("start_us").min().over(client), pl.col("start_us") + pl.col("last_byte_us")
    timed = streams.with_columns(
        ((end - begin) / 1e6).alias("completed_s"),
        ((pl.col("start_us") + pl.col("first_byte_us") - begin) / 1e6).alias("first_byte_s"),
        pl.col("stream").rank("ordinal").over(client).cast(pl.Int64).alias("opened"),
        end.rank("ordinal").over(client).cast(pl.Int64).alias("completed"),
        end.min().over(client).alias("_moment_us"),
    )
    had = (
        progress.join(timed.select(*client, "stream", "_moment_us"), on=[*client, "stream"])
        .filter(pl.col("time_us") <= pl.col("_moment_us"))
        .group_by([*client, "stream"])
        .agg(pl.col("bytes_got").max().alias("_had"))
    )
    share = pl.when(pl.col("_moment_us").is_not_null()).then(
        pl.col("_had").fill_null(0) / pl.col("bytes_wanted")
    )
    shares = (
        timed.join(had, on=[*client, "stream"], how="left", maintain_order="left")
        .with_columns(share.alias("share"))
        .with_columns((pl.col("share") < STARVED_BELOW).alias("starved"))
        .select("kind", *client, "stream", "opened", "completed", *_TIMES, "share", "starved")
    )
    return Fairness(shares, _by_client(shares, ["kind", *client]))


def _by_client(shares: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    squares = (pl.col("share") ** 2).sum()
    decided = pl.col("share").is_not_null().all()
    return shares.group_by(by, maintain_order=True).agg(
        pl.len().alias("opened"),
        pl.when(decided).then(pl.col("starved").sum()).alias("starved"),
        pl.when(decided).then(pl.col("share").sum() ** 2 / (pl.len() * squares)).alias("jain"),
        pl.col("completed_s").min().alias("first_completed_s"),
        pl.when(pl.col("completed_s").is_not_null().all())
        .then(pl.col("completed_s").max())
        .alias("all_completed_s"),
    )
