"""Streams that share a circuit, in the numbers that their figures show.

In: what :mod:`torsweep.stats.starvation` found, and the progress of a plan. Out: frames for fairness.csv
(means over networks) and progress.csv (cells received against time).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from torsweep.config.knobs import CELL_PAYLOAD_BYTES
from torsweep.stats.intervals import bands

FAIRNESS_NUMBERS = ("jain", "starved")

HELD_KNOB = "middle_bandwidth"
"""Lines are kept at the baseline's level of it: a panel for each level would be too many."""

_POINTS = 400
"""Steps of a line."""

_KEPT = ("opened", "client", "stream", "first_byte_s", "completed_s")


def fairness_over_networks(clients: pl.DataFrame, knobs: Sequence[str]) -> pl.DataFrame:
    """A row for each variant: the knobs, ``opened`` streams, and each number's mean over networks with its
    band.

    ``clients`` is that of :class:`torsweep.stats.starvation.Fairness`. Bands are 95 % t-intervals; null with
    one network.
    """
    rows = []
    for key, section in clients.group_by(list(knobs), maintain_order=True):
        mean = pl.col("opened", *FAIRNESS_NUMBERS).cast(pl.Float64).mean()
        values = section.group_by("seed").agg(mean).sort("seed")
        row = dict(zip(knobs, key, strict=True)) | {"opened": values["opened"].mean()}
        for name in FAIRNESS_NUMBERS:
            mean_of, low, high = bands(values[name].fill_null(np.nan).to_numpy()[:, np.newaxis])
            row |= {name: mean_of[0], f"{name}_low": low[0], f"{name}_high": high[0]}
        rows.append(row)
    numbers = ["opened", *(name + part for name in FAIRNESS_NUMBERS for part in ("", "_low", "_high"))]
    schema = {knob: clients.schema[knob] for knob in knobs} | dict.fromkeys(numbers, pl.Float64)
    return pl.DataFrame(rows, schema=schema).with_columns(pl.col(pl.Float64).fill_nan(None))


def held_level(knobs: Mapping[str, Sequence[str]], baseline: Mapping[str, str]) -> dict[str, str]:
    """The one level at which lines are kept, by its knob; empty where the plan does not vary it."""
    return {HELD_KNOB: baseline[HELD_KNOB]} if len(knobs.get(HELD_KNOB, ())) > 1 else {}


def progress_lines(
    shares: pl.DataFrame, progress: pl.DataFrame, knobs: Sequence[str], held: Mapping[str, str]
) -> pl.DataFrame:
    """Cells received at equal steps of time, a line for each stream of the first network at the levels
    ``held``.

    Columns: ``seed``, the knobs, ``opened``, ``client``, ``stream``, ``first_byte_s``, ``completed_s``,
    ``time_s`` and ``cells_received``. ``shares`` is that of :class:`torsweep.stats.starvation.Fairness`.
    """
    chosen = [pl.col(knob).cast(pl.String) == level for knob, level in held.items()]
    first = pl.col("seed") == pl.lit(shares["seed"].min(), pl.Int64)
    shares, progress = (frame.filter(first, *chosen) for frame in (shares, progress))
    empty = shares.head(0).select("seed", *knobs, *_KEPT, time_s=pl.lit(0.0), cells_received=pl.lit(0.0))
    frames = [empty]
    for key, section in shares.group_by(list(knobs), maintain_order=True):
        levels = dict(zip(knobs, key, strict=True))
        of_variant = progress.filter(pl.col(knob) == level for knob, level in levels.items())
        frames += _lines(section, of_variant, list(empty.columns))
    return pl.concat(frames)


def _lines(shares: pl.DataFrame, progress: pl.DataFrame, columns: list[str]) -> list[pl.DataFrame]:
    """The lines of one variant, up to its last byte."""
    last_us = progress["time_us"].max() or 1
    grid_us = np.linspace(0, float(last_us), _POINTS + 1)  # type: ignore[arg-type]
    frames = []
    for row in shares.sort("opened").iter_slices(1):
        own = progress.join(row, on=["client", "stream"], how="semi")
        cells = np.concatenate([[0.0], own["bytes_got"].to_numpy() / CELL_PAYLOAD_BYTES])
        received = cells[np.searchsorted(own["time_us"].to_numpy(), grid_us, side="right")]
        points = row[np.zeros(len(grid_us), dtype=int)].with_columns(
            pl.Series("time_s", grid_us / 1e6), pl.Series("cells_received", received)
        )
        frames.append(points.select(columns))
    return frames
