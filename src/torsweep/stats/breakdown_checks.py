"""Whether a breakdown can be trusted: how many followed downloads could be joined, and the hosts' clocks.

In: what the engines' provenance has of it, which the tables of a plan carry. Out: frames for
breakdown_counts.csv and breakdown_clocks.csv. Without rows where no download was followed, or where an engine
has no clocks to compare.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from torsweep.tables.reading import PlanTables

COUNTED = {"outcome": pl.String, "downloads": pl.Int64}
COMPARED = {
    **dict.fromkeys(("host", "against", "verdict"), pl.String),
    "messages": pl.Int64,
    **dict.fromkeys(("offset_us", "drift_ppm", "uncertainty_us"), pl.Float64),
}


def download_counts(tables: PlanTables) -> pl.DataFrame:
    """A row for each run and outcome: ``followed``, ``first_bytes``, ``whole``, and the reasons why not."""
    rows = [
        {**run, "outcome": outcome, "downloads": count}
        for run, checks in _runs(tables)
        for outcome, count in checks.get("followed_downloads", {}).items()
    ]
    return pl.DataFrame(rows, schema=_keys(tables) | COUNTED)


def clock_checks(tables: PlanTables) -> pl.DataFrame:
    """A row for each run and host: its clock against that of a host before it, as messages between them tell.

    Null without an estimate.
    """
    rows = [
        {**run, **{column: clock.get(column) for column in COMPARED}}
        for run, checks in _runs(tables)
        for clock in checks.get("clocks", ())
    ]
    return pl.DataFrame(rows, schema=_keys(tables) | COMPARED)


def _runs(tables: PlanTables) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    for run in tables.provenance.runs:
        yield {**run["variant"], "seed": run["seed"]}, run.get("checks", {})


def _keys(tables: PlanTables) -> dict[str, Any]:
    return {**dict.fromkeys(tables.knobs, pl.String), "seed": pl.Int64}
