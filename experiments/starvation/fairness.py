"""Who starved while others on their circuit were served.

In: the streams and the progress of a plan whose clients download in parallel. Out: :class:`Fairness`: for
each stream what it had when the first of its client's was complete (shares.csv), and for each client how many
had starved by then, and how even the shares were (clients.csv); the means over networks (fairness.csv), and
cells received against time (progress.csv).

A stream has starved when it has less than a quarter of its bytes at that moment. Jain's index of the shares
x is (Σx)² / (n Σx²): 1 when all are equal, 1/n when one has everything (Jain, Chiu and Hawe, DEC-TR-301,
1984). Where no download completes before the end of the run there is no such moment: the columns are null,
and claims about it stay open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl

from torsweep.config.world_knobs import CELL_PAYLOAD_BYTES
from torsweep.runsets.plan_tables import at_levels
from torsweep.stats.inference.intervals import bands, median_interval
from torsweep.stats.statistic import (
    KIND_COLUMN,
    KNOB_COLUMNS,
    SEED_COLUMN,
    Analysis,
    Statistic,
    counts,
    mean_and_band,
    numbers,
    texts,
)
from torsweep.stats.text import TextTable, interval_text, variant_words

STARVED_BELOW = 0.25
"""Share of its own bytes below which a stream has starved, when the first one is complete."""

FAIRNESS_COLUMNS = (
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
    """The streams, in the columns of :data:`SHARES`, and the clients, in :data:`FAIRNESS_OF_CLIENTS`'."""

    shares: pl.DataFrame
    clients: pl.DataFrame

    def starved(self, kind: str, variant: Mapping[str, str]) -> tuple[np.ndarray, np.ndarray]:
        """Mean number of starved streams and of streams of the clients of ``kind``, one each a network."""
        means = pl.col("starved", "opened").mean().fill_null(np.nan)
        chosen = at_levels(self.clients, {**variant, "kind": kind}).group_by("seed").agg(means).sort("seed")
        return chosen["starved"].to_numpy(), chosen["opened"].to_numpy()

    def served_share(self, kind: str, variant: Mapping[str, str], served: str, count: int) -> np.ndarray:
        """The share of the first ``count`` streams to complete that was opened ``first`` or ``last``.

        One number for each network; NaN where none completes.
        """
        streams = pl.len().over("seed", "client")
        among = pl.col("opened") <= count if served == "first" else pl.col("opened") > streams - count
        chosen = at_levels(self.shares, {**variant, "kind": kind}).with_columns(among.alias("_among"))
        early = pl.col("_among").filter(pl.col("completed") <= count)
        return chosen.group_by("seed").agg(early.mean()).sort("seed")["_among"].fill_null(np.nan).to_numpy()


def fairness(streams: pl.DataFrame, progress: pl.DataFrame, knobs: Sequence[str]) -> Fairness:
    """The fairness of ``streams`` (:data:`FAIRNESS_COLUMNS`) by ``progress`` (:data:`PROGRESS_COLUMNS`).

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


FAIRNESS_NUMBERS = ("jain", "starved")

HELD_KNOB = "middle_bandwidth"
"""Lines are kept at the baseline's level of it: a panel for each level would be too many."""

_POINTS = 400
"""Steps of a line."""

_KEPT = ("opened", "client", "stream", "first_byte_s", "completed_s")


def fairness_over_networks(clients: pl.DataFrame, knobs: Sequence[str]) -> list[dict[str, object]]:
    """A row for each variant: the columns of :data:`FAIRNESS`. ``clients`` is that of :class:`Fairness`."""
    rows = []
    for key, section in clients.group_by(list(knobs), maintain_order=True):
        mean = pl.col("opened", *FAIRNESS_NUMBERS).cast(pl.Float64).mean()
        values = section.group_by("seed").agg(mean).sort("seed")
        row = dict(zip(knobs, key, strict=True)) | {"opened": values["opened"].mean()}
        for name in FAIRNESS_NUMBERS:
            mean_of, low, high = bands(values[name].fill_null(np.nan).to_numpy()[:, np.newaxis])
            most = 1.0 if name == "jain" else row["opened"]
            row |= {name: mean_of[0], f"{name}_low": max(low[0], 0.0), f"{name}_high": min(high[0], most)}
        rows.append(row)
    return rows


def held_level(knobs: Mapping[str, Sequence[str]], baseline: Mapping[str, str]) -> dict[str, str]:
    """The one level at which lines are kept, by its knob; empty where the plan does not vary it."""
    return {HELD_KNOB: baseline[HELD_KNOB]} if len(knobs.get(HELD_KNOB, ())) > 1 else {}


def progress_lines(
    shares: pl.DataFrame, progress: pl.DataFrame, knobs: Sequence[str], held: Mapping[str, str]
) -> pl.DataFrame:
    """Cells received at equal steps of time, a line for each stream of the first network at the levels
    ``held``: the columns of :data:`STREAM_PROGRESS`. ``shares`` is that of :class:`Fairness`."""
    first = pl.col("seed") == pl.lit(shares["seed"].min(), pl.Int64)
    shares, progress = (at_levels(frame, held).filter(first) for frame in (shares, progress))
    empty = shares.head(0).select("seed", *knobs, *_KEPT, time_s=pl.lit(0.0), cells_received=pl.lit(0.0))
    frames = [empty]
    for key, section in shares.group_by(list(knobs), maintain_order=True):
        levels = dict(zip(knobs, key, strict=True))
        of_variant = at_levels(progress, levels)
        frames += _lines(section, of_variant, list(empty.columns))
    return pl.concat(frames)


def _lines(shares: pl.DataFrame, progress: pl.DataFrame, columns: list[str]) -> list[pl.DataFrame]:
    """The lines of one variant, up to its last byte."""
    last_us = progress["time_us"].max() or 1
    grid_us = np.linspace(0, float(last_us), _POINTS + 1)  # type: ignore[arg-type]
    frames = []
    for row in shares.sort("opened").iter_slices(1):
        of_stream = progress.join(row, on=["client", "stream"], how="semi")
        cells = np.concatenate([[0.0], of_stream["bytes_got"].to_numpy() / CELL_PAYLOAD_BYTES])
        received = cells[np.searchsorted(of_stream["time_us"].to_numpy(), grid_us, side="right")]
        points = row[np.zeros(len(grid_us), dtype=int)].with_columns(
            pl.Series("time_s", grid_us / 1e6), pl.Series("cells_received", received)
        )
        frames.append(points.select(columns))
    return frames


def fairness_of_plan(analysis: Analysis) -> Fairness:
    """:func:`fairness` of a plan whose runs recorded progress."""
    tables = analysis.tables
    return fairness(tables.streams(FAIRNESS_COLUMNS), tables.progress(PROGRESS_COLUMNS), analysis.knobs)


def _in_summary(analysis: Analysis, clients: pl.DataFrame) -> list[TextTable]:
    columns = {
        "opened": "streams",
        "starved": "starved",
        "jain": "Jain's index",
        "first_completed_s": "first complete, s",
        "all_completed_s": "all complete, s",
    }
    rows = []
    for variant in analysis.provenance.variants():
        of_variant = at_levels(clients, variant)
        by_network = of_variant.group_by("seed").agg(pl.col(*columns).cast(pl.Float64).mean()).sort("seed")
        medians = (median_interval(by_network[name].fill_null(np.nan).to_numpy()) for name in columns)
        rows.append([variant_words(variant), *map(interval_text, medians)])
    title = "Who starved when the first of a client's streams was complete"
    note = (
        "Medians over networks with exact 95 % intervals, which take six networks. Starved: less than a "
        "quarter of its own bytes by then. Jain's index of the shares by then."
    )
    return [TextTable(title, ["variant", *columns.values()], rows, [note])]


OPENED = counts("place of the stream in the order in which its client opened them, from 1", "opened")
SINCE_OPENED = "seconds since the client's first stream was opened"
STREAM = texts("name of the client in network.json", "client") | counts("number of the download", "stream")
of_progress = partial(Statistic, rests_on="progress")
SHARES = of_progress(
    "shares",
    "a stream: what it had when the first of its client's was complete",
    KIND_COLUMN
    | KNOB_COLUMNS
    | SEED_COLUMN
    | STREAM
    | OPENED
    | counts("its place in the order of completion; null: never", "completed")
    | numbers(SINCE_OPENED, *_TIMES)
    | numbers("share of its bytes by then", "share")
    | {"starved": (pl.Boolean, "whether that is less than a quarter")},
    lambda analysis: analysis.once(fairness_of_plan).shares,
)
FAIRNESS_OF_CLIENTS = of_progress(
    "clients",
    "a client, when the first of its streams was complete",
    KIND_COLUMN
    | KNOB_COLUMNS
    | SEED_COLUMN
    | texts("name of the client in network.json", "client")
    | counts("how many streams it had, and how many had starved by then", "opened", "starved")
    | numbers("Jain's index of the shares by then", "jain")
    | numbers(SINCE_OPENED, "first_completed_s", "all_completed_s"),
    lambda analysis: analysis.once(fairness_of_plan).clients,
    in_summary=_in_summary,
    rank=20,
)
FAIRNESS = of_progress(
    "fairness",
    "a variant: how even shares were, and how many streams starved",
    KNOB_COLUMNS
    | numbers("streams of a client", "opened")
    | mean_and_band("Jain's index", "jain")
    | mean_and_band("starved streams", "starved"),
    lambda analysis: fairness_over_networks(analysis.once(fairness_of_plan).clients, analysis.knobs),
)
STREAM_PROGRESS = of_progress(
    "progress",
    "a moment of a stream of the first network",
    SEED_COLUMN
    | KNOB_COLUMNS
    | OPENED
    | STREAM
    | numbers(SINCE_OPENED, *_TIMES, "time_s")
    | numbers("cells received by then", "cells_received"),
    lambda analysis: progress_lines(
        analysis.once(fairness_of_plan).shares,
        analysis.tables.progress(PROGRESS_COLUMNS),
        analysis.knobs,
        held_level(analysis.levels, analysis.baseline),
    ),
)
