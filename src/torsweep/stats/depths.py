"""Stair-steps of the runs of a plan.

In: the streams of a plan. Out: :class:`StairTable`, which measures a variant at a period when asked, once,
and remembers it for stairs.csv.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import polars as pl

from torsweep import seeds
from torsweep.errors import InputError
from torsweep.stats.metrics import METRICS
from torsweep.stats.stairs import Stairs, stairs
from torsweep.units import NANOSECONDS_PER, parse_quantity


@dataclass
class StairTable:
    """Stair-steps measured so far: (kind, metric, variant, period, seed) → :class:`Stairs`.

    ``resamples`` is the size of the smooth null, 0 where the depth alone will do.
    """

    streams: pl.DataFrame
    resamples: int = 99
    measured: dict[tuple[str, str, tuple[tuple[str, str], ...], str, int], Stairs] = field(
        default_factory=dict
    )

    @cached_property
    def networks(self) -> list[int]:
        """Seeds of all networks of the plan."""
        return self.streams["seed"].unique().sort().to_list()

    def depths(self, kind: str, metric: str, variant: Mapping[str, str], period: str) -> np.ndarray:
        """Depth of the step of width ``period`` (``100ms``) in each network of the plan, in order of seeds.

        NaN for a network in which too few downloads of ``variant`` got that far.
        """
        levels = tuple(variant.items())
        chosen = self.streams.filter(
            pl.col("kind").cast(pl.String) == kind,
            pl.col(METRICS[metric].column).is_not_null(),
            *(pl.col(knob).cast(pl.String) == level for knob, level in levels),
        )
        found = []
        for seed in self.networks:
            key = (kind, metric, levels, period, seed)
            if key not in self.measured:
                times_s = chosen.filter(pl.col("seed") == seed)[METRICS[metric].column].to_numpy() / 1e6
                generator = seeds.stream(seed, "stairs", *map(str, key))
                self.measured[key] = stairs(times_s, _seconds(period), generator, self.resamples)
            found.append(self.measured[key].depth)
        return np.array(found)

    def frame(self) -> pl.DataFrame:
        """A row for each variant, period and network: the depth, and the most a smooth distribution gives."""
        rows = [
            {
                "metric": metric,
                "kind": kind,
                **dict(variant),
                "period": period,
                "seed": seed,
                "depth": step.depth,
                "smooth_null": step.smooth_null,
                "above_smooth": step.above_smooth,
            }
            for (kind, metric, variant, period, seed), step in self.measured.items()
        ]
        return pl.DataFrame(rows).with_columns(pl.col(pl.Float64).fill_nan(None)) if rows else pl.DataFrame()


def _seconds(period: str) -> float:
    try:
        return parse_quantity(period, NANOSECONDS_PER, "100ms") / 1e9
    except ValueError as error:
        raise InputError(
            "a stair-step needs levels that are durations", key="claims", value=period
        ) from error
