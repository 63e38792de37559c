"""The streams of a circuit under each source: when each was complete, who starved, how even the shares were.

In: the tables of each source on the networks that all have run, of a plan with progress. Out: three frames,
all with the knobs and ``source``: ``streams`` (a row for each stream of each network), ``stream_means`` (over
networks) and ``starved`` (a row for each variant, with intervals over networks).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from torsweep.runsets.reading import PlanTables, level_order
from torsweep.stats.inference.intervals import t_interval
from torsweep.stats.streams import fairness

STARVED_NUMBERS = ("starved", "jain", "first_completed_s", "all_completed_s")


def stream_frames(tables: Mapping[str, PlanTables], knobs: Sequence[str]) -> dict[str, pl.DataFrame]:
    """The frames of the module's docstring, by name, from ``tables`` by source."""
    shares, clients = [], []
    for label, own in tables.items():
        streams, progress = own.streams(fairness.FAIRNESS_COLUMNS), own.progress(fairness.PROGRESS_COLUMNS)
        found = fairness.fairness(streams, progress, own.knobs)
        named = pl.lit(label).alias("source"), pl.col(*knobs).cast(pl.String)
        shares.append(found.shares.with_columns(*named).select(*knobs, "source", "seed", *_SHARES))
        clients.append(found.clients.with_columns(*named).select(*knobs, "source", "seed", *STARVED_NUMBERS))
    levels = next(iter(tables.values())).provenance.knobs
    order = level_order({knob: levels[knob] for knob in knobs})
    every = pl.concat(shares).sort(*order, "seed", "opened", maintain_order=True)
    means = (
        every.group_by([*knobs, "opened", "source"], maintain_order=True)
        .agg(pl.col("completed_s").mean(), pl.col("completed_s").count().alias("networks"))
        .sort(*order, "opened", maintain_order=True)
    )
    numbers = pl.concat(clients).sort(*order, maintain_order=True)
    return {"streams": every, "stream_means": means, "starved": _starved(numbers, knobs)}


_SHARES = ("client", "opened", "completed", "first_byte_s", "completed_s", "share")


def _starved(clients: pl.DataFrame, knobs: Sequence[str]) -> pl.DataFrame:
    """Means over networks of each number, with 95 % t-intervals where there are two or more that differ."""
    rows = []
    for key, section in clients.group_by([*knobs, "source"], maintain_order=True):
        row = dict(zip([*knobs, "source"], key, strict=True))
        means = section.group_by("seed").agg(pl.col(STARVED_NUMBERS).cast(pl.Float64).mean()).sort("seed")
        for name in STARVED_NUMBERS:
            interval = t_interval(means[name].fill_null(float("nan")).to_numpy())
            row |= {name: interval.mean, f"{name}_low": interval.low, f"{name}_high": interval.high}
        rows.append(row | {"networks": means.height})
    return pl.DataFrame(rows, infer_schema_length=None).with_columns(pl.col(pl.Float64).fill_nan(None))
