"""Contrasts: two variants that differ in one knob, under each source of a plan, or in a plan of two knobs.

In: medians of runs. Out: contrasts.csv, a row for each contrast, kind, metric and source: the logarithm of
the ratio of the medians within each network, averaged over the networks that ran both, with a t-interval.

Of several sources, every pair of variants that differ in one knob is compared; of one engine, within each
level of the other knobs, those with the baseline's level.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np
import polars as pl

from torsweep.config.traffic import KINDS
from torsweep.config.variant import one_knob_apart
from torsweep.runsets.plan_tables import REPEAT, SOURCE, at_levels
from torsweep.stats.inference.intervals import t_interval
from torsweep.stats.statistic import (
    KIND_COLUMN,
    METRIC_COLUMN,
    NETWORKS_COLUMN,
    Analysis,
    Levels,
    Statistic,
    numbers,
    texts,
)
from torsweep.stats.streams.differences import paired
from torsweep.stats.streams.medians import quantiles_of_runs
from torsweep.stats.text import MOST_TIMES, SHOWN_METRICS, TextTable, level_words, variant_words


def contrasts(analysis: Analysis) -> list[dict[str, object]] | None:
    """The columns of :data:`CONTRASTS`; None for a plan of one engine that turns fewer than two knobs."""
    several = SOURCE in analysis.knobs
    varying = [knob for knob in analysis.knobs if len({one.get(knob) for one in analysis.grid}) > 1]
    if not several and len(varying) < 2:
        return None
    sources = analysis.levels[SOURCE] if several else [analysis.provenance.engine]
    runs = analysis.once(quantiles_of_runs)
    rows: list[dict[str, object]] = []
    for kind, metric, (one, other, knob) in product(KINDS, SHOWN_METRICS, list(_pairs(analysis, several))):
        own = at_levels(runs, {"kind": kind, "metric": metric})
        at = variant_words({name: one[name] for name in varying if name != knob})
        about = {"kind": kind, "metric": metric, "knob": knob, "at": at}
        about |= {"from": one[knob], "to": other[knob]}
        of_sources = []
        for source in (each for each in sources if not each.endswith(REPEAT)):
            made_by: dict[str, str] = {SOURCE: source} if several else {}
            ratio = _ratio(own, {**made_by, **one}, {**made_by, **other})
            of_sources.append({**about, SOURCE: source, **ratio})
        rows += of_sources if any(row["networks"] for row in of_sources) else []
    return rows or None


def _pairs(analysis: Analysis, several: bool) -> Iterator[tuple[Levels, Levels, str]]:
    """The variants that are compared, and the knob in which they differ."""
    usual = analysis.baseline
    for one, other, knob in one_knob_apart(analysis.grid):
        if several or one[knob] == usual[knob]:
            yield one, other, knob
        elif other[knob] == usual[knob]:
            yield other, one, knob


def _ratio(runs: pl.DataFrame, one: Levels, other: Levels) -> dict[str, object]:
    """Networks that ran both, and the median at ``other`` over that at ``one``; None where there is none."""
    interval = t_interval(paired(runs, "median_s", one, other).log_ratio)
    bounds = {"ratio": interval.mean, "low": interval.low, "high": interval.high}
    ratios = {name: float(np.exp(bound)) if np.isfinite(bound) else None for name, bound in bounds.items()}
    return {"networks": interval.networks, **ratios}


def contrast_name(row: Mapping[str, Any]) -> str:
    """``1000ms → 10ms, ewma``; ``guards 1 → 3, load 0.5``."""
    return f"{level_words(row['knob'], row['from'])} → {row['to']}" + (f", {row['at']}" if row["at"] else "")


def ratio_text(row: Mapping[str, Any]) -> str:
    """``× 0.96 [0.67, 1.37] (3)``: ratio, interval, networks; a dash where there is none."""
    ratio, low, high, networks = (row[name] for name in ("ratio", "low", "high", "networks"))
    if ratio is None:
        return "–"
    most = f"{high:.2f}" if high is not None and high <= MOST_TIMES else f"over {MOST_TIMES:g}"
    bounds = "" if low is None or high is None else f" [{low:.2f}, {most}]"
    return f"× {ratio:.2f}{bounds} ({networks})"


def _in_summary(analysis: Analysis, table: pl.DataFrame) -> list[TextTable]:
    """A row for each contrast, under each source; a column for each time."""
    named = [SOURCE] if SOURCE in analysis.knobs else []
    times = list(product(table["kind"].unique(maintain_order=True), SHOWN_METRICS))
    rows = []
    for own in table.partition_by("knob", "at", "from", "to", *named, maintain_order=True):
        of_times = {(row["kind"], row["metric"]): ratio_text(row) for row in own.iter_rows(named=True)}
        first = own.row(0, named=True)
        cells = [of_times.get(time, "–") for time in times]
        rows.append([contrast_name(first), *(first[name] for name in named), *cells])
    note = (
        "Ratios of medians, paired by network, with 95 % t-intervals and the number of networks; no allowance"
        " is made for looking at many."
    )
    header = ["from → to", *named, *(f"{kind}, {SHOWN_METRICS[metric]}" for kind, metric in times)]
    return [TextTable("One knob changed, the other held", header, rows, [note])]


CONTRASTS = Statistic(
    "contrasts",
    "two variants that differ in one knob, in one source: the ratio of their medians over networks; of plans"
    " of several sources, and of two knobs",
    KIND_COLUMN
    | METRIC_COLUMN
    | texts("the knob, the levels of the other knobs, and its two levels", "knob", "at", "from", "to")
    | texts("the source", SOURCE)
    | NETWORKS_COLUMN
    | numbers("to over from, with the 95 % interval", "ratio", "low", "high"),
    contrasts,
    in_summary=_in_summary,
    rank=14,
)
