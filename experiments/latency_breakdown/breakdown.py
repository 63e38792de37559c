"""What followed downloads waited for until their first and their last byte.

In: the breakdown of a plan (:mod:`torsweep.config.tracing` has its words). Out: breakdown.csv,
breakdown_groups.csv, breakdown_runs.csv, breakdown_time.csv and breakdown_path.csv; and, from what the
engines' provenance has of it, breakdown_counts.csv (how many followed downloads could be joined).

The parts of a byte's way add up to its time exactly, and so do their means: whoever sums rows of a slice over
legs, places or parts gets the mean of that sum. A slice holds the downloads of a run whose time to that byte
lies between two percentiles; ``all`` holds all of them.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import polars as pl

from torsweep.config.tracing import BYTES, GROUP_OF, GROUPS, LEGS, PARTS, PLACES
from torsweep.config.traffic import KINDS
from torsweep.runsets.plan_tables import PlanTables
from torsweep.stats.statistic import (
    KIND_COLUMN,
    KNOB_COLUMNS,
    NETWORKS_COLUMN,
    SEED_COLUMN,
    Analysis,
    MetricName,
    Statistic,
    counts,
    numbers,
    texts,
)
from torsweep.stats.text import TextTable, variant_words

EDGES = (0, 10, 25, 50, 75, 90, 99, 100)
"""Percentiles between which slices lie."""

ALL_DOWNLOADS = "all"
SLICES = (ALL_DOWNLOADS, *(f"{low}-{high}" for low, high in itertools.pairwise(EDGES)))

METRIC_BYTES: Mapping[MetricName, str] = {"ttfb": "first", "ttlb": "last"}

SECONDS_PER_SLOT = 10

_COLUMNS = ("client", "stream", "byte", "step", "leg", "place", "host", "part", "start_ns", "duration_ns")
_ORDERS = {"kind": KINDS, "byte": BYTES, "slice": SLICES, "leg": LEGS, "place": PLACES, "part": PARTS}


@dataclass(frozen=True)
class Pieces:
    """The breakdown of a plan, a row for each piece of a byte's way, and the whole of each byte's time with
    its slice; ``run`` are the columns that tell runs apart."""

    pieces: pl.DataFrame
    totals: pl.DataFrame
    run: list[str]
    first_seed: int

    @property
    def of_first(self) -> pl.DataFrame:
        """The pieces of the first network."""
        return self.pieces.filter(pl.col("seed") == self.first_seed)


def pieces_of_plan(analysis: Analysis) -> Pieces:
    """The pieces of the followed downloads of a plan."""
    tables = analysis.tables
    run = ["seed", *tables.knobs]
    kinds = tables.streams(("client", "stream", "kind"))
    group = pl.col("part").replace_strict(GROUP_OF, return_dtype=pl.String).alias("group")
    pieces = (
        tables.breakdown(_COLUMNS)
        .join(kinds, on=[*run, "client", "stream"], how="inner", maintain_order="left")
        .with_columns(group)
    )
    return Pieces(pieces, _totals(pieces, run), run, tables.provenance.seeds[0])


def _totals(pieces: pl.DataFrame, run: Sequence[str]) -> pl.DataFrame:
    """A row for each byte of a download: the time to it, and its slice in its run, kind and byte."""
    of_run = [*run, "kind", "byte"]
    totals = pieces.group_by(*of_run, "client", "stream", maintain_order=True).agg(
        pl.col("duration_ns").sum()
    )
    place = (pl.col("duration_ns").rank("ordinal").over(of_run) - 0.5) / pl.len().over(of_run)
    cuts = [edge / 100 for edge in EDGES[1:-1]]
    return totals.with_columns(place.cut(cuts, labels=SLICES[1:]).cast(pl.String).alias("slice"))


def means(analysis: Analysis) -> pl.DataFrame:
    """Over networks, by slice, leg, place and part."""
    breakdown = analysis.once(pieces_of_plan)
    totals, knobs, run = breakdown.totals, analysis.knobs, breakdown.run
    download = [*run, "kind", "byte", "client", "stream"]
    sliced = breakdown.pieces.join(
        totals.select(*download, "slice"), on=download, how="left", maintain_order="left"
    )
    both = pl.concat([sliced, sliced.with_columns(pl.lit(ALL_DOWNLOADS).alias("slice"))])
    whole = pl.concat([totals, totals.with_columns(pl.lit(ALL_DOWNLOADS).alias("slice"))])
    of_slice = [*run, "kind", "byte", "slice"]
    counted = whole.group_by(of_slice).len("downloads")
    sums = both.group_by(*of_slice, "leg", "place", "part", maintain_order=True).agg(
        pl.col("duration_ns").sum()
    )
    of_runs = sums.join(counted, on=of_slice, maintain_order="left").with_columns(
        pl.col("duration_ns") / pl.col("downloads") / 1e6
    )
    # A part that took no time in a network has no row there: the sum over networks is divided by all of them.
    over = [*knobs, "kind", "byte", "slice"]
    networks = counted.group_by(over).agg(pl.len().alias("networks"), pl.col("downloads").sum())
    # In the order of networks, so that rounding is the same each time.
    summed = of_runs.group_by(*over, "leg", "place", "part", maintain_order=True).agg(
        pl.col("duration_ns").sum()
    )
    mean_ms = (pl.col("duration_ns") / pl.col("networks")).alias("mean_ms")
    return _sorted(summed.join(networks, on=over).with_columns(mean_ms), [*over, "leg", "place", "part"])


def _groups(analysis: Analysis) -> pl.DataFrame:
    """The means of a slice's groups: sums of the means of their parts."""
    of_parts = analysis.once(means)
    over = [*analysis.knobs, "kind", "byte", "slice"]
    group = pl.col("part").replace_strict(GROUP_OF, return_dtype=pl.String).alias("group")
    sums = of_parts.group_by(*over, group).agg(pl.col("mean_ms").sum())
    slices = of_parts.group_by(over).agg(
        pl.col("mean_ms").sum().alias("whole_ms"), pl.col("downloads", "networks").first()
    )
    keys = [*over, "group"]
    groups = slices.join(pl.DataFrame({"group": list(GROUPS)}), how="cross")
    groups = groups.join(sums, on=keys, how="left").with_columns(pl.col("mean_ms").fill_null(0.0))
    share = (pl.col("mean_ms") / pl.col("whole_ms")).fill_nan(None).alias("share")
    return _sorted(groups.with_columns(share), keys)


def waits_of_runs(analysis: Analysis) -> pl.DataFrame:
    """Mean and share of each group in each run; a group that took no time in a run has a row with 0."""
    breakdown = analysis.once(pieces_of_plan)
    of_run = [*breakdown.run, "kind", "byte"]
    whole = breakdown.totals.group_by(of_run).agg(
        pl.len().alias("downloads"), pl.col("duration_ns").sum().alias("whole_ns")
    )
    keys = [*of_run, "group"]
    sums = breakdown.pieces.group_by(keys).agg(pl.col("duration_ns").sum())
    groups = whole.join(pl.DataFrame({"group": list(GROUPS)}), how="cross").join(sums, on=keys, how="left")
    spent_ns = pl.col("duration_ns").fill_null(0)
    mean_ms = (spent_ns / pl.col("downloads") / 1e6).alias("mean_ms")
    return _sorted(groups.with_columns(mean_ms, (spent_ns / pl.col("whole_ns")).alias("share")), keys)


def _time(analysis: Analysis) -> pl.DataFrame:
    """Means of :data:`SECONDS_PER_SLOT` by group, in the first network."""
    breakdown = analysis.once(pieces_of_plan)
    download = [*breakdown.run, "kind", "byte", "client", "stream"]
    opened = pl.col("start_ns").min().over(download) // (SECONDS_PER_SLOT * 1_000_000_000) * SECONDS_PER_SLOT
    binned = breakdown.of_first.with_columns(opened.alias("second"))
    of_bin = [*breakdown.run, "kind", "byte", "second"]
    counted = binned.unique([*of_bin, "client", "stream"]).group_by(of_bin).len("downloads")
    keys = [*of_bin, "group"]
    sums = binned.group_by(keys).agg(pl.col("duration_ns").sum()).join(counted, on=of_bin)
    mean_ms = (pl.col("duration_ns") / pl.col("downloads") / 1e6).alias("mean_ms")
    share = (pl.col("duration_ns") / pl.col("duration_ns").sum().over(of_bin)).alias("share")
    return _sorted(sums.with_columns(mean_ms, share), keys)


def _path(analysis: Analysis) -> pl.DataFrame:
    """One download of each variant in the first network, piece by piece: the one whose time to the first byte
    is the median of web clients', or of the first kind there is."""
    breakdown, knobs = analysis.once(pieces_of_plan), analysis.knobs
    first, run = breakdown.of_first, breakdown.run
    to_first = breakdown.totals.filter(pl.col("byte") == "first", pl.col("seed") == breakdown.first_seed)
    ranked = _sorted(to_first, [*run, "kind", "duration_ns", "client", "stream"])
    middle = ranked.group_by([*knobs, "kind"], maintain_order=True).agg(
        pl.col("client", "stream").get((pl.len() - 1) // 2)
    )
    chosen = middle.group_by(list(knobs), maintain_order=True).first()
    keys = [*knobs, "kind", "client", "stream"]
    rows = first.filter(pl.col("byte") == "first").join(chosen.select(keys), on=keys, how="semi")
    since_ms = (pl.col("start_ns") - pl.col("start_ns").min().over(list(knobs))) / 1e6
    times = [since_ms.alias("start_ms"), (pl.col("duration_ns") / 1e6).alias("duration_ms")]
    return _sorted(rows.with_columns(times), [*knobs, "step"])


def _sorted(frame: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """``frame`` by ``keys``: words in their own order, not the alphabet's."""
    orders = {**_ORDERS, "group": tuple(GROUPS)}
    by = [
        pl.col(key).cast(pl.String).cast(pl.Enum(orders[key])) if key in orders else pl.col(key)
        for key in keys
    ]
    return frame.sort(by)


def download_counts(tables: PlanTables) -> list[dict[str, Any]]:
    """A row for each run and outcome: ``followed``, ``first_bytes``, ``whole``, and the reasons why not."""
    return [
        {**run, "outcome": outcome, "downloads": count}
        for run, checks in _checks(tables)
        for outcome, count in checks.get("followed_downloads", {}).items()
    ]


def _checks(tables: PlanTables) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    for run in tables.provenance.runs:
        yield {**run["variant"], "seed": run["seed"]}, run.get("checks", {})


def _in_summary(analysis: Analysis, runs: pl.DataFrame) -> list[TextTable]:
    whole = runs.filter(pl.col("byte") == METRIC_BYTES["ttfb"])
    if whole.is_empty():
        return []
    taking = [group for group in GROUPS if whole.filter(pl.col("group") == group)["mean_ms"].sum() > 0]
    rows = []
    for key, of_kind in whole.group_by([*analysis.knobs, "kind"], maintain_order=True):
        of_group = dict(of_kind.group_by("group").agg(pl.col("mean_ms").mean()).iter_rows())
        times = [sum(of_group.values()), *(of_group[group] for group in taking)]
        rows.append(
            [
                variant_words(dict(zip(analysis.knobs, key, strict=False))),
                str(key[-1]),
                *(f"{time / 1e3:.3g}" for time in times),
            ]
        )
    header = ["variant", "clients", "all", *(group.replace("_", " ") for group in taking)]
    note = (
        "Means of followed downloads, over networks. The parts of a download add up to its time. By "
        "place and part, and for the last byte: breakdown.csv."
    )
    title, notes = "What the first byte waits for, seconds", (note, *_joined(analysis.tables))
    return [TextTable(title, header, rows, notes)]


def _joined(tables: PlanTables) -> list[str]:
    """How many followed downloads are in the table."""
    joined: Counter[str] = Counter()
    for row in download_counts(tables):
        joined[row["outcome"]] += row["downloads"]
    if not joined:
        return []
    return [
        f"Of {joined['followed']} followed downloads, {joined['first_bytes']} with a first byte and "
        f"{joined['whole']} with a last one were joined; why others were not: breakdown_counts.csv."
    ]


BYTE_COLUMNS = KIND_COLUMN | texts("first or last byte of the answer", "byte")
SLICE_COLUMN = texts(
    "percentiles of the time to the byte between which the downloads lie; all: all of them", "slice"
)
PLACE_COLUMNS = texts("where on its way, and what it waited for there", "leg", "place", "part")
WAIT_COLUMN = texts("what was waited for", "group")
FOLLOWED_COLUMN = counts("how many downloads", "downloads")
MEAN_COLUMN = numbers("mean time of a download, ms", "mean_ms")
SHARE_COLUMN = numbers("its share of the whole time", "share")
of_breakdown = partial(Statistic, rests_on="breakdown")
BREAKDOWN_PARTS = of_breakdown(
    "breakdown",
    "a part of the way to a byte, over networks",
    KNOB_COLUMNS
    | BYTE_COLUMNS
    | SLICE_COLUMN
    | PLACE_COLUMNS
    | MEAN_COLUMN
    | FOLLOWED_COLUMN
    | NETWORKS_COLUMN,
    lambda analysis: analysis.once(means),
)
BREAKDOWN_GROUPS = of_breakdown(
    "breakdown_groups",
    "what was waited for, over networks: sums of parts",
    KNOB_COLUMNS
    | BYTE_COLUMNS
    | SLICE_COLUMN
    | WAIT_COLUMN
    | MEAN_COLUMN
    | SHARE_COLUMN
    | numbers("mean of the whole, ms", "whole_ms")
    | FOLLOWED_COLUMN
    | NETWORKS_COLUMN,
    _groups,
)
BREAKDOWN_RUNS = of_breakdown(
    "breakdown_runs",
    "what was waited for in one run",
    SEED_COLUMN | KNOB_COLUMNS | BYTE_COLUMNS | WAIT_COLUMN | MEAN_COLUMN | SHARE_COLUMN | FOLLOWED_COLUMN,
    lambda analysis: analysis.once(waits_of_runs),
    in_summary=_in_summary,
    rank=40,
)
BREAKDOWN_TIME = of_breakdown(
    "breakdown_time",
    "what downloads of ten seconds of the first network waited for",
    SEED_COLUMN
    | KNOB_COLUMNS
    | BYTE_COLUMNS
    | counts("seconds since the start", "second")
    | WAIT_COLUMN
    | MEAN_COLUMN
    | SHARE_COLUMN
    | FOLLOWED_COLUMN,
    _time,
)
BREAKDOWN_PATH = of_breakdown(
    "breakdown_path",
    "a piece of the way to the first byte of one download of the first network",
    KNOB_COLUMNS
    | SEED_COLUMN
    | texts("name of the client in network.json", "client")
    | counts("number of the download", "stream")
    | KIND_COLUMN
    | counts("number of the piece", "step")
    | texts("where on its way", "leg", "place", "host")
    | texts("what it waited for", "part")
    | numbers("since the download began, ms", "start_ms")
    | numbers("how long, ms", "duration_ms"),
    _path,
)
BREAKDOWN_COUNTS = of_breakdown(
    "breakdown_counts",
    "followed downloads of one run: joined to a first or last byte, or why not",
    KNOB_COLUMNS | SEED_COLUMN | texts("what became of them", "outcome") | FOLLOWED_COLUMN,
    lambda analysis: download_counts(analysis.tables),
)
