"""Whether the network still changes after the warm-up.

In: the streams and the relays of a plan. Out: stationarity.csv, a row for each variant, for all variants
together, and for each variant against the baseline; and :func:`drift_sentences`, which say what drifts.

The measured time is cut into five equal blocks: downloads by their start, queues by the second. In each run a
straight line is fitted through the logarithms of the blocks' numbers, which are medians of times, or means of
the longest queue at the relay of the ninth decile. ``drift`` is the relative change along the line from the
first block to the last. A single variant shows a drift only if it is large. So the drifts of a network's
variants are averaged (``all``), which shows what they have in common, and compared with the baseline's
(``against baseline``), which shows effects that depend on the time at which they are looked at.

Over networks a drift has a t-interval. Rows of one of these three scopes are a family (Bonferroni). A drift
counts as ``drifting`` when its simultaneous interval leaves out 0 and the change is more than 5 %, as
``steady`` when its 95 % interval lies within ±5 %, else as ``unclear``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from torsweep.runsets.plan_tables import Provenance, at_levels
from torsweep.stats.inference.intervals import CONFIDENCE, bonferroni, exponential, t_interval
from torsweep.stats.queues import QUEUE_COLUMNS, queues_of_runs
from torsweep.stats.statistic import (
    KIND_COLUMN,
    KNOB_COLUMNS,
    NETWORKS_COLUMN,
    Analysis,
    Statistic,
    mean_and_band,
    numbers,
    texts,
)
from torsweep.stats.streams.incidence import METRICS, downloads, measured_downloads, unless_perf_alone
from torsweep.stats.text import SHOWN_METRICS, TextTable, percent_text, variant_words

BLOCKS = 5
DRIFT_TOLERANCE = 0.05
"""The largest change over the measured time that does not matter."""

VARIANT, ALL_VARIANTS, AGAINST_BASELINE = "variant", "all", "against baseline"
DRIFTING, STEADY, UNCLEAR_DRIFT = "drifting", "steady", "unclear"

QUEUE, RELAY_KIND = "queue", "relays"
_NAMES = {**SHOWN_METRICS, QUEUE: "longest queues, ninth decile"}


def stationarity(
    streams: pl.DataFrame, relays: pl.DataFrame, provenance: Provenance, baseline: Mapping[str, str]
) -> list[dict[str, Any]]:
    """The columns of :data:`STATIONARITY`.

    A block whose median is never reached, because the end of the run cut its downloads off, is left out.
    """
    knobs, rows = list(provenance.knobs), []
    blocks = _blocks_of_times(streams, provenance, knobs) + _blocks_of_queues(relays, provenance, knobs)
    for (metric, kind), of_metric in pl.concat(blocks).group_by(["metric", "kind"], maintain_order=True):
        head = {"metric": metric, "kind": kind}
        rows += [head | row for row in _drifts(of_metric, provenance, baseline)]
    families = {scope: sum(row["scope"] == scope for row in rows) for scope in _SCOPES}
    return [_row(row, families[row["scope"]]) for row in rows]


_SCOPES = (ALL_VARIANTS, VARIANT, AGAINST_BASELINE)


def _block(time: pl.Expr, provenance: Provenance, per_s: float) -> pl.Expr:
    begin = provenance.warm_up_ns / 1e9 * per_s
    width = (provenance.duration_ns - provenance.warm_up_ns) / 1e9 * per_s / BLOCKS
    return ((time - begin) / width).floor().clip(0, BLOCKS - 1).cast(pl.Int64).alias("block")


def _blocks_of_times(streams: pl.DataFrame, provenance: Provenance, knobs: list[str]) -> list[pl.DataFrame]:
    """Metric, kind, knobs, seed, block and ``value``: the median of the downloads that started in it."""
    late = streams.filter(pl.col("start_us") >= provenance.warm_up_ns // 1000)
    blocked = late.with_columns(_block(pl.col("start_us"), provenance, 1e6))
    frames = []
    for metric in SHOWN_METRICS:
        rows = downloads(blocked, METRICS[metric], ["kind", *knobs, "seed", "block"])
        medians = pl.Series("value", rows.incidence().quantiles(np.array([0.5]))[:, 0])
        frames.append(_named(rows.keys.with_columns(medians), metric, pl.col("kind").cast(pl.String), knobs))
    return frames


def _blocks_of_queues(relays: pl.DataFrame, provenance: Provenance, knobs: list[str]) -> list[pl.DataFrame]:
    by = [*knobs, "seed", "block"]
    blocked = queues_of_runs(relays, knobs).with_columns(_block(pl.col("second"), provenance, 1.0))
    means = blocked.group_by(by, maintain_order=True).agg(pl.col("ninth_decile").mean().alias("value"))
    return [_named(means.sort(by), QUEUE, pl.lit(RELAY_KIND), knobs)]


def _named(frame: pl.DataFrame, metric: str, kind: pl.Expr, knobs: list[str]) -> pl.DataFrame:
    levels = pl.col(knobs).cast(pl.String)
    return frame.select(pl.lit(metric).alias("metric"), kind.alias("kind"), levels, "seed", "block", "value")


def _drifts(
    blocks: pl.DataFrame, provenance: Provenance, baseline: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """A row for each scope; ``drifts`` are logarithms, one for each network that all its variants ran on."""
    by_reference: dict[str, list[tuple[dict[str, str], dict[int, float]]]] = {}
    for variant in provenance.variants():
        of_variant = at_levels(blocks, variant)
        runs = of_variant.group_by("seed", maintain_order=True).agg(pl.struct("block", "value"))
        drifts = {seed: _log_change(points) for seed, points in runs.iter_rows()}
        if drifts:
            # A dimension that the baseline does not name, such as the source, is the same on both sides.
            by_reference.setdefault(str({**variant, **baseline}), []).append((variant, drifts))
            ends = [of_variant.filter(block=block)["value"].mean() for block in (0, BLOCKS - 1)]
            values = np.array(list(drifts.values()))
            yield {"scope": VARIANT, **variant, "drifts": values, "first": ends[0], "last": ends[1]}
    for of_variants in by_reference.values():
        if len(of_variants) > 1:
            yield from _drifts_together(of_variants, baseline)


def _drifts_together(
    of_variants: Sequence[tuple[dict[str, str], dict[int, float]]], baseline: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """A row for all variants, and one for each but the baseline."""
    shared = set.intersection(*(set(drifts) for _, drifts in of_variants))
    together = [np.mean([drifts[seed] for _, drifts in of_variants]) for seed in sorted(shared)]
    head = {**of_variants[0][0], **dict.fromkeys(baseline)}
    yield {"scope": ALL_VARIANTS, **head, "drifts": np.array(together)}
    reference = next((drifts for variant, drifts in of_variants if baseline.items() <= variant.items()), {})
    for variant, drifts in of_variants:
        if reference and not baseline.items() <= variant.items():
            against = [drifts[seed] - reference[seed] for seed in sorted(drifts.keys() & reference)]
            yield {"scope": AGAINST_BASELINE, **variant, "drifts": np.array(against)}


def _log_change(points: list[dict[str, float]]) -> float:
    """Along a straight line through the logarithms of a run's blocks, from the first block to the last."""
    known = [(point["block"], point["value"]) for point in points if (point["value"] or 0) > 0]
    if len(known) < 2:
        return float("nan")
    blocks, values = np.array(known).T
    return float(np.polyfit(blocks, np.log(values), 1)[0] * (BLOCKS - 1))


def _row(row: dict[str, Any], family_size: int) -> dict[str, Any]:
    drifts = row.pop("drifts")
    each, together = (
        exponential(t_interval(drifts, level)) for level in (CONFIDENCE, bonferroni(CONFIDENCE, family_size))
    )
    verdict = UNCLEAR_DRIFT
    if together.known and not together.low <= 0 <= together.high and abs(each.mean) > DRIFT_TOLERANCE:
        verdict = DRIFTING
    elif each.known and each.low > -DRIFT_TOLERANCE and each.high < DRIFT_TOLERANCE:
        verdict = STEADY
    return {
        **row,
        "networks": each.networks,
        "drift": each.mean,
        "drift_low": each.low,
        "drift_high": each.high,
        "verdict": verdict,
    }


def stationarity_of_plan(analysis: Analysis) -> list[dict[str, Any]]:
    """:func:`stationarity` of a plan."""
    relays = analysis.tables.relays(QUEUE_COLUMNS)
    streams = analysis.once(measured_downloads)
    return stationarity(streams, relays, analysis.provenance, analysis.baseline)


def drift_sentences(analysis: Analysis) -> tuple[str, ...]:
    """Sentences on what drifts in a plan; none if all is steady or unclear."""
    rows = unless_perf_alone(lambda of: of.once(stationarity_of_plan))(analysis) or []
    return tuple(
        f"{_what(row)}, {_where(row, analysis.knobs)}: {_drift_text(row)}"
        for row in rows
        if row["verdict"] == DRIFTING
    )


def _what(row: Mapping[str, Any]) -> str:
    return f"{row['kind']}, {_NAMES[row['metric']]}"


def _where(row: Mapping[str, Any], knobs: list[str]) -> str:
    if row["scope"] == ALL_VARIANTS:
        levels = {knob: row[knob] for knob in knobs if row.get(knob)}
        return ", ".join(filter(None, (variant_words(levels), "all variants together")))
    variant = variant_words({knob: row[knob] for knob in knobs})
    return variant if row["scope"] == VARIANT else f"{variant} against the baseline"


def _drift_text(row: Mapping[str, Any]) -> str:
    if row["drift"] is None or np.isnan(row["drift"]):
        return "–"
    bounds = (row["drift_low"], row["drift_high"])
    known = all(bound is not None and np.isfinite(bound) for bound in bounds)
    return percent_text(row["drift"]) + (f" [{', '.join(map(percent_text, bounds))}]" if known else "")


def _stationarity_in_summary(analysis: Analysis, drifts: pl.DataFrame) -> list[TextTable]:
    order = {scope: number for number, scope in enumerate(_SCOPES)}
    rows = sorted(drifts.iter_rows(named=True), key=lambda row: order[row["scope"]])
    cells = [[_what(row), _where(row, analysis.knobs), _drift_text(row), row["verdict"]] for row in rows]
    title = "Stationarity: change from the first to the last fifth of the measured time"
    return [TextTable(title, ["", "variant", "drift", "verdict"], cells)]


STATIONARITY = Statistic(
    "stationarity",
    "how far medians and queues move from the first to the last fifth of the measured time",
    texts("time to the first or last byte (ttfb, ttlb), or queue", "metric")
    | KIND_COLUMN
    | texts("variant, all (variants of a network together), or against baseline", "scope")
    | KNOB_COLUMNS
    | NETWORKS_COLUMN
    | numbers("number of the first and of the last fifth, seconds or cells", "first", "last")
    | mean_and_band("change, as a part", "drift")
    | texts("steady, drifting or unclear", "verdict"),
    unless_perf_alone(lambda analysis: analysis.once(stationarity_of_plan)),
    in_summary=_stationarity_in_summary,
    rank=80,
)
