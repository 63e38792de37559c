"""Simulated time of a run.

In: a layout. Out: :class:`Clock`, which turns µs since 1970, as logs have them, into a table's µs.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from torsweep.engines.shadow.layout import Layout


@dataclass(frozen=True)
class Clock:
    """Start (the opening of the clients' window) and end of a run, µs since 1970 of the simulated clock."""

    start_us: int
    end_us: int

    @classmethod
    def of(cls, layout: Layout) -> Clock:
        """The clock of the run that ``layout`` describes."""
        start_us = layout.epoch_s * 1_000_000 + layout.bootstrap_ns // 1000
        return cls(start_us, start_us + layout.duration_ns // 1000)

    def since_start(self, column: str) -> pl.Expr:
        """``column`` counted from the start of the run."""
        return pl.col(column) - self.start_us
