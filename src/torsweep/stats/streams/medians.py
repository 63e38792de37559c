"""Quantiles of each run, counts of outcomes, and whether the network still changed after the warm-up.

In: the streams of a plan (:meth:`torsweep.runsets.reading.PlanTables.streams`). Out: medians.csv (a row for
each run), outcomes.csv and stationarity.csv (a row for each variant).

The estimand is the median of a run's downloads. Closed-loop clients that are fast download more, so the
median over clients of each client's own median stands beside it: there every client counts once.

For stationarity, the measured time is cut into five equal blocks, downloads by their start. In each run a
straight line is fitted through the logarithms of the blocks' medians; ``drift`` is the relative change along
it from the first block to the last. Over networks it has a t-interval; Bonferroni over the variants of a kind
and metric gives the simultaneous one. A drift counts as ``drifting`` when the simultaneous interval leaves
out 0 and the change is more than 5 %, as ``steady`` when the 95 % interval lies within ±5 %, else as
``unclear``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from torsweep.config.traffic import KIND_NAMES
from torsweep.engines.table_schema import OUTCOMES
from torsweep.runsets.reading import Provenance
from torsweep.stats.inference.intervals import CONFIDENCE, bonferroni, t_interval
from torsweep.stats.statistic import (
    KIND_COLUMN,
    KNOB_COLUMNS,
    METRIC_COLUMN,
    NETWORKS_COLUMN,
    SEED_COLUMN,
    Analysis,
    Statistic,
    counts,
    mean_and_band,
    numbers,
    texts,
)
from torsweep.stats.streams.incidence import METRICS, Metric, downloads, measured_downloads, unless_perf_alone
from torsweep.stats.text import (
    SHOWN_METRICS,
    TextTable,
    by_variant,
    interval_text,
    percent_text,
    variant_text,
)

QUANTILES = {"p10_s": 0.1, "p25_s": 0.25, "median_s": 0.5, "p75_s": 0.75, "p90_s": 0.9}
"""Quantiles over the downloads of a run that are compared between variants, by column, seconds."""

CLIENT_MEDIAN = "client_median_s"


def run_quantiles(streams: pl.DataFrame, knobs: Sequence[str]) -> pl.DataFrame:
    """Quantiles of each metric in every run: the columns of :data:`MEDIANS`."""
    by = ["kind", *knobs, "seed"]
    sizes = streams.group_by(by).agg(
        pl.len().alias("downloads"), pl.col("client").n_unique().alias("clients")
    )
    frames = []
    for metric in METRICS.values():
        rows = downloads(streams, metric, by)
        incidence = rows.incidence()
        quantiles = incidence.quantiles(np.array(list(QUANTILES.values())))
        columns = [pl.Series(name, quantiles[:, i]) for i, name in enumerate(QUANTILES)]
        frame = rows.keys.with_columns(*columns, pl.Series("top", incidence.top()))
        frame = frame.join(_client_medians(streams, metric, by), on=by, how="left", maintain_order="left")
        frame = frame.join(sizes, on=by, how="left", maintain_order="left")
        frames.append(frame.with_columns(pl.lit(metric.name).alias("metric")))
    named = ("metric", *by, "downloads", "clients", *QUANTILES, CLIENT_MEDIAN, "top")
    return pl.concat(frames).select(named).with_columns(pl.col(pl.Float64).fill_nan(None))


def quantiles_of_runs(analysis: Analysis) -> pl.DataFrame:
    """:func:`run_quantiles` of a plan."""
    return run_quantiles(analysis.once(measured_downloads), analysis.knobs)


def _medians_in_summary(analysis: Analysis, medians: pl.DataFrame) -> list[TextTable]:
    def table(estimand: str, title: str) -> TextTable:
        def entry(section: pl.DataFrame) -> str:
            return interval_text(t_interval(section[estimand].fill_null(np.nan).to_numpy()))

        return by_variant(analysis.provenance, medians, title, entry)

    return [
        table("median_s", "Medians over downloads, seconds"),
        table(CLIENT_MEDIAN, "Medians over clients of each client's median, seconds"),
    ]


TOP = numbers("share of downloads at which the curve ends, as failed ones never complete", "top")
MEDIANS = Statistic(
    "medians",
    "quantiles of the downloads of one run, seconds; null: too few ever completed",
    METRIC_COLUMN
    | KIND_COLUMN
    | KNOB_COLUMNS
    | SEED_COLUMN
    | counts("how many the run has", "downloads", "clients")
    | numbers("quantile over downloads", *QUANTILES)
    | numbers("median over clients of each client's median", CLIENT_MEDIAN)
    | TOP,
    unless_perf_alone(lambda analysis: analysis.once(quantiles_of_runs)),
    in_summary=_medians_in_summary,
    rank=50,
)


def _client_medians(streams: pl.DataFrame, metric: Metric, by: list[str]) -> pl.DataFrame:
    rows = downloads(streams, metric, [*by, "client"])
    # A client that never reaches its median is slower than any that does.
    medians = np.nan_to_num(rows.incidence().quantiles(np.array([0.5]))[:, 0], nan=np.inf)
    middle = pl.col(CLIENT_MEDIAN).quantile(0.5, interpolation="lower")
    return (
        rows.keys.with_columns(pl.Series(CLIENT_MEDIAN, medians))
        .group_by(by)
        .agg(pl.when(middle.is_finite()).then(middle).alias(CLIENT_MEDIAN))
    )


def downloads_by_kind(outcomes: pl.DataFrame) -> dict[str, int]:
    """Downloads of each kind of client in what :func:`outcome_counts` returns, over all variants."""
    by_kind = dict(outcomes.group_by("kind").agg(pl.col("downloads").sum()).iter_rows())
    return {kind: by_kind[kind] for kind in KIND_NAMES if kind in by_kind}


def outcome_counts(streams: pl.DataFrame, knobs: Sequence[str]) -> pl.DataFrame:
    """Downloads by outcome, for every kind and variant, over all networks; with the share that failed."""
    counted = streams.group_by(["kind", *knobs], maintain_order=True).agg(
        pl.len().alias("downloads"), *((pl.col("outcome") == word).sum().alias(word) for word in OUTCOMES)
    )
    failed = (pl.col("failed") + pl.col("timeout")) / pl.col("downloads")
    return counted.sort(["kind", *knobs]).with_columns(failed.alias("failure_share"))


def _outcomes_in_summary(analysis: Analysis, outcomes: pl.DataFrame) -> list[TextTable]:
    rows = [
        [
            KIND_NAMES[row["kind"]],
            variant_text(row[knob] for knob in analysis.knobs),
            *(f"{row[name]:,}" for name in ("downloads", *OUTCOMES)),
            f"{row['failure_share']:.2%}",
        ]
        for row in outcomes.iter_rows(named=True)
    ]
    ends = ("complete", "failed", "timed out", "unfinished")
    header = ["kind", "variant", "downloads", *ends, "failure share"]
    return [TextTable("Outcomes, all networks together", header, rows)]


OUTCOME_COUNTS = Statistic(
    "outcomes",
    "downloads of a variant by how they ended, all networks together",
    KIND_COLUMN
    | KNOB_COLUMNS
    | counts("how many downloads, by how they ended", "downloads", *OUTCOMES)
    | numbers("share that failed or timed out", "failure_share"),
    unless_perf_alone(lambda analysis: outcome_counts(analysis.once(measured_downloads), analysis.knobs)),
    in_summary=_outcomes_in_summary,
    rank=70,
)


BLOCKS = 5
DRIFT_TOLERANCE = 0.05
"""The largest change of the median over the measured time that does not matter."""


def stationarity(streams: pl.DataFrame, provenance: Provenance, knobs: Sequence[str]) -> pl.DataFrame:
    """Drift of the median of times to first and last byte, for every kind and variant: :data:`STATIONARITY`.

    A block whose median is never reached, because the end of the run cut its downloads off, is left out.
    """
    begin_us = provenance.warm_up_ns / 1e3
    width_us = (provenance.duration_ns - provenance.warm_up_ns) / 1e3 / BLOCKS
    block = ((pl.col("start_us") - begin_us) / width_us).floor().clip(0, BLOCKS - 1).cast(pl.Int64)
    blocked = streams.with_columns(block.alias("_block"))
    return pl.concat(_drifts(blocked, metric, ["kind", *knobs]) for metric in ("ttfb", "ttlb"))


def _stationarity_in_summary(analysis: Analysis, drifts: pl.DataFrame) -> list[TextTable]:
    rows = []
    for row in drifts.iter_rows(named=True):
        bounds = (row["drift_low"], row["drift_high"])
        interval = "" if None in bounds else f" [{percent_text(bounds[0])}, {percent_text(bounds[1])}]"
        drift = "–" if row["drift"] is None else f"{percent_text(row['drift'])}{interval}"
        what = f"{row['kind']}, {SHOWN_METRICS[row['metric']]}"
        rows.append([what, variant_text(row[knob] for knob in analysis.knobs), drift, row["verdict"]])
    title = "Stationarity: change of the median from the first to the last fifth of the measured time"
    return [TextTable(title, ["", "variant", "drift", "verdict"], rows)]


STATIONARITY = Statistic(
    "stationarity",
    "how far a variant's median moves from the first to the last fifth of the measured time",
    METRIC_COLUMN
    | KIND_COLUMN
    | KNOB_COLUMNS
    | NETWORKS_COLUMN
    | numbers("median of the first and of the last fifth, seconds", "first_block_s", "last_block_s")
    | mean_and_band("change, as a part", "drift")
    | texts("steady, drifting or unclear", "verdict"),
    unless_perf_alone(
        lambda analysis: stationarity(analysis.once(measured_downloads), analysis.provenance, analysis.knobs)
    ),
    in_summary=_stationarity_in_summary,
    rank=80,
)


def _drifts(blocked: pl.DataFrame, metric: str, by: list[str]) -> pl.DataFrame:
    rows = downloads(blocked, METRICS[metric], [*by, "seed", "_block"])
    medians = rows.keys.with_columns(pl.Series("median_s", rows.incidence().quantiles(np.array([0.5]))[:, 0]))
    variants = {kind: len(part.unique(by)) for (kind,), part in medians.group_by(["kind"])}
    rows_out = []
    for key, section in medians.group_by(by, maintain_order=True):
        slopes, ends = [], []
        for _, run in section.group_by("seed", maintain_order=True):
            known = run.filter(pl.col("median_s").is_finite())
            slopes.append(_relative_change(known["_block"].to_numpy(), known["median_s"].to_numpy()))
            ends.append(known["median_s"].to_list())
        each = t_interval(slopes)
        together = t_interval(slopes, bonferroni(CONFIDENCE, variants[key[0]]))
        rows_out.append(
            {
                "metric": metric,
                **dict(zip(by, key, strict=True)),
                "networks": each.networks,
                "first_block_s": float(np.mean([end[0] if end else np.nan for end in ends])),
                "last_block_s": float(np.mean([end[-1] if end else np.nan for end in ends])),
                "drift": each.mean,
                "drift_low": each.low,
                "drift_high": each.high,
                "verdict": _verdict(each.low, each.high, together.low, together.high, each.mean),
            }
        )
    return pl.DataFrame(rows_out, schema_overrides={name: rows.keys.schema[name] for name in by})


def _relative_change(blocks: np.ndarray, medians_s: np.ndarray) -> float:
    if len(blocks) < 2:
        return float("nan")
    slope = np.polyfit(blocks, np.log(medians_s), 1)[0]
    return float(np.expm1(slope * (BLOCKS - 1)))


def _verdict(low: float, high: float, together_low: float, together_high: float, drift: float) -> str:
    if not np.isfinite(low):
        return "unclear"
    if (together_low > 0 or together_high < 0) and abs(drift) > DRIFT_TOLERANCE:
        return "drifting"
    return "steady" if low > -DRIFT_TOLERANCE and high < DRIFT_TOLERANCE else "unclear"
