"""What followed downloads waited for until their first and their last byte.

In: the breakdown of a plan (:mod:`torsweep.config.ways` has its words). Out: :class:`Breakdown`: frames for
breakdown.csv, breakdown_groups.csv, breakdown_runs.csv, breakdown_time.csv, breakdown_way.csv,
breakdown_counts.csv and breakdown_clocks.csv. Without rows where no download was followed.

The parts of a byte's way add up to its time exactly, and so do their means: whoever sums rows of a slice over
legs, places or parts gets the mean of that sum. A slice holds the downloads of a run whose time to that byte
lies between two percentiles; ``all`` holds all of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from torsweep.config.claims import Metric
from torsweep.config.clients import KINDS
from torsweep.config.ways import BYTES, GROUP_OF, GROUPS, LEGS, PARTS, PLACES
from torsweep.stats.breakdown_checks import clock_checks, download_counts
from torsweep.tables.reading import PlanTables

EDGES = (0, 10, 25, 50, 75, 90, 99, 100)
"""Percentiles between which slices lie."""

ALL = "all"
SLICES = (ALL, *(f"{low}-{high}" for low, high in itertools.pairwise(EDGES)))

TEXTS = ("byte", "slice", "leg", "place", "part", "group", "host", "client")
"""Columns of text, beside the knobs."""

METRIC_BYTES: Mapping[Metric, str] = {"ttfb": "first", "ttlb": "last"}

SECONDS_PER_BIN = 10

_COLUMNS = ("client", "stream", "byte", "step", "leg", "place", "host", "part", "start_ns", "duration_ns")
_ORDERS = {"kind": KINDS, "byte": BYTES, "slice": SLICES, "leg": LEGS, "place": PLACES, "part": PARTS}


@dataclass(frozen=True)
class Breakdown:
    """The frames that the module's docstring names.

    ``means`` is over networks, by slice, leg, place and part, ms; ``groups`` their sums by slice and group,
    with the mean of the whole and the group's share of it; ``runs`` has the mean and the share of each group
    in each run; ``time`` the means of ``SECONDS_PER_BIN`` by group, and ``way`` one download of each variant,
    piece by piece, both of the first network. That download is the one whose time to the first byte is the
    median of web clients', or of the first kind there is. ``counts`` and ``clocks`` are those of
    :mod:`~torsweep.stats.breakdown_checks`.
    """

    means: pl.DataFrame
    groups: pl.DataFrame
    runs: pl.DataFrame
    time: pl.DataFrame
    way: pl.DataFrame
    counts: pl.DataFrame
    clocks: pl.DataFrame


def breakdown(tables: PlanTables) -> Breakdown:
    """The breakdown of ``tables``; a group that took no time in a run has a row with 0."""
    run = ["seed", *tables.knobs]
    kinds = tables.streams(("client", "stream", "kind"))
    ways = tables.breakdown(_COLUMNS).join(
        kinds, on=[*run, "client", "stream"], how="inner", maintain_order="left"
    )
    ways = ways.with_columns(pl.col("part").replace_strict(GROUP_OF, return_dtype=pl.String).alias("group"))
    totals = _totals(ways, run)
    first = ways.filter(pl.col("seed") == tables.provenance.seeds[0])
    means = _means(ways, totals, tables.knobs, run)
    return Breakdown(
        means=means,
        groups=_groups(means, tables.knobs),
        runs=_runs(ways, totals, run),
        time=_time(first, run),
        way=_way(first, totals, tables.knobs, run),
        counts=download_counts(tables),
        clocks=clock_checks(tables),
    )


def _totals(ways: pl.DataFrame, run: Sequence[str]) -> pl.DataFrame:
    """A row for each byte of a download: the time to it, and in which slice of its run, kind and byte that
    lies."""
    of_run = [*run, "kind", "byte"]
    totals = ways.group_by(*of_run, "client", "stream", maintain_order=True).agg(pl.col("duration_ns").sum())
    place = (pl.col("duration_ns").rank("ordinal").over(of_run) - 0.5) / pl.len().over(of_run)
    cuts = [edge / 100 for edge in EDGES[1:-1]]
    return totals.with_columns(place.cut(cuts, labels=SLICES[1:]).cast(pl.String).alias("slice"))


def _means(
    ways: pl.DataFrame, totals: pl.DataFrame, knobs: Sequence[str], run: Sequence[str]
) -> pl.DataFrame:
    download = [*run, "kind", "byte", "client", "stream"]
    sliced = ways.join(totals.select(*download, "slice"), on=download, how="left", maintain_order="left")
    both = pl.concat([sliced, sliced.with_columns(pl.lit(ALL).alias("slice"))])
    counts = pl.concat([totals, totals.with_columns(pl.lit(ALL).alias("slice"))])
    of_slice = [*run, "kind", "byte", "slice"]
    counted = counts.group_by(of_slice).len("downloads")
    sums = both.group_by(*of_slice, "leg", "place", "part").agg(pl.col("duration_ns").sum())
    means = sums.join(counted, on=of_slice).with_columns(pl.col("duration_ns") / pl.col("downloads") / 1e6)
    # A part that took no time in a network has no row there: the sum over networks is divided by all of them.
    over = [*knobs, "kind", "byte", "slice"]
    networks = counted.group_by(over).agg(pl.len().alias("networks"), pl.col("downloads").sum())
    summed = means.group_by(*over, "leg", "place", "part").agg(pl.col("duration_ns").sum())
    found = summed.join(networks, on=over).with_columns(
        (pl.col("duration_ns") / pl.col("networks")).alias("mean_ms")
    )
    keys = [*over, "leg", "place", "part"]
    return _sorted(found.select(*keys, "mean_ms", "downloads", "networks"), keys)


def _groups(means: pl.DataFrame, knobs: Sequence[str]) -> pl.DataFrame:
    """The means of a slice's groups: what ``means`` says of their parts, added up."""
    over = [*knobs, "kind", "byte", "slice"]
    group = pl.col("part").replace_strict(GROUP_OF, return_dtype=pl.String).alias("group")
    sums = means.group_by(*over, group).agg(pl.col("mean_ms").sum())
    slices = means.group_by(over).agg(
        pl.col("mean_ms").sum().alias("whole_ms"), pl.col("downloads", "networks").first()
    )
    keys = [*over, "group"]
    found = slices.join(pl.DataFrame({"group": list(GROUPS)}), how="cross")
    found = found.join(sums, on=keys, how="left").with_columns(pl.col("mean_ms").fill_null(0.0))
    share = (pl.col("mean_ms") / pl.col("whole_ms")).fill_nan(None).alias("share")
    return _sorted(found.select(*keys, "mean_ms", share, "whole_ms", "downloads", "networks"), keys)


def _runs(ways: pl.DataFrame, totals: pl.DataFrame, run: Sequence[str]) -> pl.DataFrame:
    of_run = [*run, "kind", "byte"]
    whole = totals.group_by(of_run).agg(
        pl.len().alias("downloads"), pl.col("duration_ns").sum().alias("whole_ns")
    )
    groups = whole.join(pl.DataFrame({"group": list(GROUPS)}), how="cross")
    sums = ways.group_by(*of_run, "group").agg(pl.col("duration_ns").sum())
    found = groups.join(sums, on=[*of_run, "group"], how="left").with_columns(
        pl.col("duration_ns").fill_null(0)
    )
    keys = [*of_run, "group"]
    return _sorted(
        found.select(
            *keys,
            (pl.col("duration_ns") / pl.col("downloads") / 1e6).alias("mean_ms"),
            (pl.col("duration_ns") / pl.col("whole_ns")).alias("share"),
            "downloads",
        ),
        keys,
    )


def _time(first: pl.DataFrame, run: Sequence[str]) -> pl.DataFrame:
    download = [*run, "kind", "byte", "client", "stream"]
    opened = pl.col("start_ns").min().over(download) // (SECONDS_PER_BIN * 1_000_000_000) * SECONDS_PER_BIN
    binned = first.with_columns(opened.alias("second"))
    of_bin = [*run, "kind", "byte", "second"]
    counted = binned.unique([*of_bin, "client", "stream"]).group_by(of_bin).len("downloads")
    sums = binned.group_by(*of_bin, "group").agg(pl.col("duration_ns").sum())
    found = sums.join(counted, on=of_bin)
    keys = [*of_bin, "group"]
    mean_ms = (pl.col("duration_ns") / pl.col("downloads") / 1e6).alias("mean_ms")
    share = (pl.col("duration_ns") / pl.col("duration_ns").sum().over(of_bin)).alias("share")
    return _sorted(found.select(*keys, mean_ms, share.fill_nan(None), "downloads"), keys)


def _way(first: pl.DataFrame, totals: pl.DataFrame, knobs: Sequence[str], run: Sequence[str]) -> pl.DataFrame:
    to_first = totals.filter(
        pl.col("byte") == "first", pl.col("seed").is_in(first["seed"].unique().implode())
    )
    ranked = _sorted(to_first, [*run, "kind", "duration_ns", "client", "stream"])
    middle = ranked.group_by([*knobs, "kind"], maintain_order=True).agg(
        pl.col("client", "stream").get((pl.len() - 1) // 2)
    )
    chosen = middle.group_by(list(knobs), maintain_order=True).first()
    keys = [*knobs, "kind", "client", "stream"]
    rows = first.filter(pl.col("byte") == "first").join(chosen.select(keys), on=keys, how="semi")
    told = ("client", "stream", "kind", "step", "leg", "place", "host", "part")
    since_ms = (pl.col("start_ns") - pl.col("start_ns").min().over(list(knobs))) / 1e6
    wanted = [since_ms.alias("start_ms"), (pl.col("duration_ns") / 1e6).alias("duration_ms")]
    return _sorted(rows.select(*knobs, "seed", *told, *wanted), [*knobs, "step"])


def _sorted(frame: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """``frame`` by ``keys``: words in their own order, not the alphabet's."""
    orders = {**_ORDERS, "group": tuple(GROUPS)}
    by = [
        pl.col(key).cast(pl.String).cast(pl.Enum(orders[key])) if key in orders else pl.col(key)
        for key in keys
    ]
    return frame.sort(by)
