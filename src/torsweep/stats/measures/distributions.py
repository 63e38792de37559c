"""How measures are spread within a run: curves over networks.

In: the rows that measures are worked out from. Out: distributions.csv: quantiles of each run, as means over
networks with pointwise bands, taken of logarithms where the axis of a figure is logarithmic. Circuits that
failed and downloads that are not complete have no build time and no goodput: measures.csv has their shares.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from torsweep.stats.inference.intervals import bands
from torsweep.stats.measures import ALL, GROUP, ordered
from torsweep.stats.measures.circuits import ended_circuits, round_trips
from torsweep.stats.measures.downloads import downloads
from torsweep.stats.measures.relays import utilisations
from torsweep.stats.measures.summary import ORDER
from torsweep.stats.statistic import (
    KNOB_COLUMNS,
    NETWORKS_COLUMN,
    Analysis,
    Statistic,
    counts,
    numbers,
    texts,
)

SPREAD_PROBABILITIES = (np.arange(200) + 0.5) / 200
"""The quantiles of a curve: the middles of equal steps from 0 to 1."""


@dataclass(frozen=True)
class Distribution:
    """What is spread: ``column`` of ``rows``, each of which is a ``thing``; of ``whole`` only the group of
    all."""

    name: str
    label: str
    thing: str
    rows: Callable[[Analysis], pl.DataFrame | pl.LazyFrame]
    column: str
    logarithmic: bool = True
    whole: bool = False


DISTRIBUTIONS = {
    one.name: one
    for one in (
        Distribution("build_time", "Circuit build time (s)", "circuits", ended_circuits, "build_s"),
        Distribution("round_trip", "Round trip at the exit (s)", "round trips", round_trips, "round_trip_s"),
        Distribution("goodput", "Goodput (KiB/s)", "downloads", downloads, "whole"),
        Distribution(
            "utilisation", "Utilisation", "relays", utilisations, "utilisation", logarithmic=False, whole=True
        ),
    )
}
"""The distributions by name, in the order of figures."""


def distributions(analysis: Analysis) -> list[pl.DataFrame]:
    """The columns of :data:`SPREAD`, a frame for each distribution, group and variant."""
    frames = []
    for one in DISTRIBUTIONS.values():
        rows = analysis.once(one.rows).lazy().filter(pl.col(one.column).is_not_null())
        # A row for each run and group, with all its values.
        runs = rows.group_by(GROUP, *analysis.knobs, "seed").agg(one.column).collect(engine="streaming")
        by_group = runs.sort(*analysis.knobs, "seed").partition_by(GROUP, as_dict=True)
        for group in ordered([str(key) for (key,) in by_group], ORDER):
            if group == ALL or not one.whole:
                frames += _curves(by_group[(group,)], one, analysis.knobs)
    return frames


def _curves(runs: pl.DataFrame, one: Distribution, knobs: list[str]) -> list[pl.DataFrame]:
    frames = []
    for _, runs_of_variant in runs.group_by(knobs, maintain_order=True):
        quantiles = np.array(
            [np.quantile(values.to_numpy(), SPREAD_PROBABILITIES) for values in runs_of_variant[one.column]]
        )
        curve = map(np.exp, bands(np.log(quantiles))) if one.logarithmic else bands(quantiles)
        points = dict(zip(("value", "value_low", "value_high"), curve, strict=True))
        keys = [pl.lit(one.name).alias("distribution"), pl.col(GROUP)]
        about = runs_of_variant.head(1).select(*keys, *(pl.col(knob).cast(pl.String) for knob in knobs))
        many = {"networks": len(quantiles), "fewest": runs_of_variant[one.column].list.len().min()}
        frame = pl.DataFrame({"share": SPREAD_PROBABILITIES, **many, **points})
        frames.append(about.join(frame, how="cross"))
    return frames


SPREAD = Statistic(
    "distributions",
    "a quantile of what measures are worked out from, over networks",
    texts("what is spread: " + ", ".join(DISTRIBUTIONS), "distribution")
    | texts("kind of client, or all", "group")
    | KNOB_COLUMNS
    | NETWORKS_COLUMN
    | counts("how many circuits, downloads or relays the network has that has fewest", "fewest")
    | numbers("the quantile", "share")
    | numbers("mean over networks and 95 % interval", "value", "value_low", "value_high"),
    lambda analysis: pl.concat(frames) if (frames := distributions(analysis)) else [],
)
