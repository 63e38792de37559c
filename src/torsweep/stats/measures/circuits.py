"""Measures of circuits: build times, failures, and what exits see of their round trips.

A circuit counts when tor launched it in the measured time and it was opened or failed before the end of the
run. Circuits of one relay, over which tor fetches directory documents, are left out where they were opened.
"""

from __future__ import annotations

from functools import partial

import polars as pl

from torsweep.stats.measures import GROUP, SECONDS, SHARE, Measure, by_run, in_group
from torsweep.stats.statistic import Analysis

_FAILED = pl.col("built_us").is_null()


def ended_circuits(analysis: Analysis) -> pl.DataFrame:
    """Every circuit that was opened or failed: ``build_s`` (null: it failed) and ``close_reason``."""
    frame = analysis.tables.circuits(["launched_us", "built_us", "closed_us", "close_reason", "path"])
    one_hop = ~_FAILED & ~pl.col("path").str.contains(",").fill_null(True)
    ended = pl.any_horizontal(pl.col("built_us", "closed_us").is_not_null())
    build_s = (pl.col("built_us") - pl.col("launched_us")) / 1e6
    return in_group(frame.filter(ended, ~one_hop).with_columns(build_s=build_s))


def failed_circuits(analysis: Analysis) -> pl.DataFrame:
    """The circuits that failed, by reason, and ``of``, how many circuits their run has."""
    circuits = analysis.once(ended_circuits).with_columns(of=pl.len().over(by_run(analysis)))
    return in_group(circuits.filter(_FAILED), pl.col("close_reason").fill_null("no reason"))


def round_trips(analysis: Analysis) -> pl.LazyFrame:
    """Every time that an exit worked out a window: ``round_trip_s``, ``least_s``, ``window_cells``."""
    columns = ["host", "circuit", "time_us", "round_trip_us", "least_us", "window_cells"]
    seconds = {"round_trip_s": pl.col("round_trip_us") / 1e6, "least_s": pl.col("least_us") / 1e6}
    frame = analysis.tables.round_trips(columns).with_columns(**seconds)
    return in_group(frame.drop("round_trip_us", "least_us"))


def least_round_trips(analysis: Analysis) -> pl.LazyFrame:
    """The least round trip of each circuit, ``least_s``."""
    by = [*by_run(analysis), "host", "circuit", GROUP]
    return analysis.once(round_trips).group_by(by).agg(pl.col("least_s").min())


_BUILDING, _TRIPS = "Circuits", "Round trips"
_built = partial(Measure, topic=_BUILDING, unit=SECONDS, rows=ended_circuits)
_trip = partial(Measure, topic=_TRIPS, unit=SECONDS, rows=round_trips)
CIRCUIT_MEASURES = (
    _built(
        "build_time_median",
        label="build time, median",
        meaning="from the launch of a circuit until it is open: median over circuits",
        number=pl.col("build_s").median(),
    ),
    _built(
        "build_time_p90",
        label="build time, ninth decile",
        meaning="from the launch of a circuit until it is open: ninth decile over circuits",
        number=pl.col("build_s").quantile(0.9, "linear"),
    ),
    Measure(
        "circuit_failures",
        _BUILDING,
        "failed",
        SHARE,
        "circuits that were closed before they were open, of all that were opened or failed",
        ended_circuits,
        _FAILED.mean(),
    ),
    Measure(
        "circuit_failures_by_reason",
        _BUILDING,
        "failed",
        SHARE,
        "circuits that were closed before they were open, of all that were opened or failed, by tor's reason",
        failed_circuits,
        pl.len() / pl.col("of").first(),
        absent=0.0,
        drawn=False,
    ),
    _trip(
        "round_trip_median",
        label="at the exit, median",
        meaning=(
            "smoothed round trip of a circuit, each time that its exit worked out a window after slow start:"
            " median"
        ),
        number=pl.col("round_trip_s").median(),
    ),
    _trip(
        "round_trip_p90",
        label="at the exit, ninth decile",
        meaning="smoothed round trip of a circuit, at the same moments: ninth decile",
        number=pl.col("round_trip_s").quantile(0.9, "linear"),
    ),
    Measure(
        "least_round_trip_median",
        _TRIPS,
        "least of a circuit, median",
        SECONDS,
        "least round trip of a circuit: median over circuits",
        least_round_trips,
        pl.col("least_s").median(),
    ),
    Measure(
        "window_median",
        _TRIPS,
        "window, median",
        "cells",
        "congestion window, each time that it was worked out: median",
        round_trips,
        pl.col("window_cells").median(),
    ),
)
