"""Queues in relays over time.

In: the relays of a plan. Out: queues.csv: the longest circuit queues of each second at the median relay and
at that of the ninth decile, means over networks with bands.

The maximum within a second is taken, not the value at its end: a relay that refills once a second is always
seen at the same phase there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from torsweep.stats.inference.intervals import bands
from torsweep.stats.statistic import KNOB_COLUMNS, Statistic, counts, mean_and_band

QUEUE_COLUMNS = ("second", "queued_cells_max")
"""What is read of a ``relays`` table."""

QUEUE_QUANTILES = {"ninth_decile": 0.9, "median": 0.5}
"""Over the relays of a network."""

MEAN_OVER_S = 5


def queues(relays: pl.DataFrame, knobs: Sequence[str]) -> pl.DataFrame | Sequence[Mapping[str, object]]:
    """The columns of :data:`QUEUES`. Bands are pointwise 95 % t-intervals, not below 0; null for one network.
    Where the engine cannot see the queues there is no row."""
    return over_networks(queues_of_runs(relays, knobs), list(knobs), list(QUEUE_QUANTILES))


def queues_of_runs(relays: pl.DataFrame, knobs: Sequence[str]) -> pl.DataFrame:
    """Knobs, seed, second and :data:`QUEUE_QUANTILES` of the longest queues, for each five seconds."""
    by = [*knobs, "seed", "second"]
    return (
        relays.drop_nulls("queued_cells_max")
        .group_by(by)
        .agg(
            pl.col("queued_cells_max").quantile(q, "linear").alias(name)
            for name, q in QUEUE_QUANTILES.items()
        )
        # A mean in another order has other last digits.
        .sort(by)
        .with_columns((pl.col("second") // MEAN_OVER_S * MEAN_OVER_S).alias("second"))
        .group_by(by, maintain_order=True)
        .agg(pl.col(*QUEUE_QUANTILES).mean())
    )


QUEUES = Statistic(
    "queues",
    "a moment of a variant: the longest circuit queue of a relay, cells",
    KNOB_COLUMNS
    | counts("seconds since the start", "second")
    | mean_and_band("relay of the ninth decile", "ninth_decile")
    | mean_and_band("median relay", "median"),
    lambda analysis: queues(analysis.tables.relays(QUEUE_COLUMNS), analysis.knobs),
)


def over_networks(
    rows: pl.DataFrame, knobs: list[str], names: Sequence[str]
) -> pl.DataFrame | Sequence[Mapping[str, object]]:
    """The columns ``names`` of each variant, by seed and second, as means over networks with bands at each
    second, not below 0; nothing without ``rows``."""
    variants = rows.group_by(knobs, maintain_order=True)
    frames = [_of_variant(rows_of_variant, knobs, names) for _, rows_of_variant in variants]
    return pl.concat(frames) if frames else []


def _of_variant(rows: pl.DataFrame, knobs: list[str], names: Sequence[str]) -> pl.DataFrame:
    seconds = rows.select(*knobs, "second").unique(maintain_order=True).sort("second")
    columns = []
    for name in names:
        wide = rows.pivot("second", index="seed", values=name, sort_columns=False).sort("seed")
        values = wide.select(map(str, seconds["second"])).to_numpy().astype(float)
        mean, low, high = bands(values)
        columns += [
            pl.Series(name, mean),
            pl.Series(f"{name}_low", np.maximum(low, 0.0)),
            pl.Series(f"{name}_high", high),
        ]
    return seconds.with_columns(columns)
