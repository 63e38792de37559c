"""Quantiles and means of each run, and counts of outcomes.

In: the streams of a plan. Out: medians.csv (a row for each run) and outcomes.csv (a row for each variant).

Closed-loop clients that are fast download more: the median over downloads is mostly theirs, and
``fastest_quarter`` says how much. Two numbers beside it count every client. In the median over clients of
each client's own median, each counts once; one that downloaded nothing is slower than all others. The mean,
by Little's law, is the time that all clients spent waiting over the number of downloads that got as far.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from torsweep.config.traffic import KIND_NAMES
from torsweep.engines.table_schema import OUTCOMES
from torsweep.stats.inference.intervals import log_interval
from torsweep.stats.statistic import (
    KIND_COLUMN,
    KNOB_COLUMNS,
    METRIC_COLUMN,
    SEED_COLUMN,
    Analysis,
    Statistic,
    counts,
    numbers,
)
from torsweep.stats.streams.incidence import (
    ENTRY,
    METRICS,
    OPENING,
    Metric,
    clock_text,
    downloads,
    measured_downloads,
    unless_perf_alone,
)
from torsweep.stats.text import TextTable, by_variant, interval_text, variant_words

QUANTILES = {"p10_s": 0.1, "p25_s": 0.25, "median_s": 0.5, "p75_s": 0.75, "p90_s": 0.9, "p95_s": 0.95}
"""Quantiles over the downloads of a run that are compared between variants, by column, seconds."""

CLIENT_MEDIAN, MEAN = "client_median_s", "mean_s"
PAIRED = "paired"

ESTIMANDS = {
    "median": "median download",
    "p90": "ninth decile of downloads",
    "p95": "95th percentile of downloads",
    "client_median": "median client",
    "mean": "mean",
    PAIRED: "same download",
}
"""What claims about times are judged by (a column without its unit, or :data:`PAIRED`), in words."""


def run_quantiles(
    streams: pl.DataFrame, knobs: Sequence[str], clients: pl.DataFrame | None = None
) -> pl.DataFrame:
    """Quantiles and means of each metric in every run: the columns of :data:`MEDIANS`. ``clients`` (kind,
    ``knobs``, seed, client) are all that there are; without, those that downloaded."""
    by = ["kind", *knobs, "seed"]
    clients = (streams if clients is None else clients).select(*by, "client").unique()
    sizes = streams.group_by(by).len("downloads").join(_weights(streams, clients, by), on=by)
    frames = []
    for metric in METRICS.values():
        rows = downloads(streams, metric, by)
        incidence = rows.incidence()
        quantiles = incidence.quantiles(np.array(list(QUANTILES.values())))
        columns = [pl.Series(name, quantiles[:, i]) for i, name in enumerate(QUANTILES)]
        ends = (pl.Series(MEAN, rows.means_s()), pl.Series("top", incidence.top()))
        frame = rows.keys.with_columns(*columns, *ends)
        of_clients = _client_medians(streams, clients, metric, by)
        frame = frame.join(of_clients, on=by, how="left", maintain_order="left")
        frame = frame.join(sizes, on=by, how="left", maintain_order="left")
        frames.append(frame.with_columns(pl.lit(metric.name).alias("metric")))
    named = ("metric", *by, "downloads", "clients", *QUANTILES, CLIENT_MEDIAN, MEAN, "fastest_quarter", "top")
    return pl.concat(frames).select(named).with_columns(pl.col(pl.Float64).fill_nan(None))


def quantiles_of_runs(analysis: Analysis) -> pl.DataFrame:
    """:func:`run_quantiles` of a plan."""
    clients = analysis.tables.clients()
    return run_quantiles(analysis.once(measured_downloads), analysis.knobs, clients)


def _weights(streams: pl.DataFrame, clients: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """The ``clients`` of a run, and the share of complete downloads of the quarter that has most."""
    complete = streams.filter(pl.col("outcome") == "complete").group_by(*by, "client").len("_complete")
    each = clients.join(complete, on=[*by, "client"], how="left")
    completed = pl.col("_complete").fill_null(0).sort(descending=True)
    share = completed.head((pl.len() + 3) // 4).sum() / completed.sum()
    return each.group_by(by).agg(clients=pl.len().cast(pl.Int64), fastest_quarter=share)


def _medians_in_summary(analysis: Analysis, medians: pl.DataFrame) -> list[TextTable]:
    few = analysis.few

    def table(estimand: str, title: str, notes: Sequence[str] = ()) -> TextTable:
        def entry(section: pl.DataFrame) -> str:
            of_networks = section[estimand].fill_null(np.nan).to_numpy()
            interval = log_interval(of_networks)
            if few and interval.known:
                return f"{interval.mean:.3f} ({', '.join(f'{one:.3f}' for one in of_networks)})"
            return interval_text(interval)

        return by_variant(analysis.provenance, medians, title, entry, notes)

    about = f"Means over networks are geometric; in brackets {'each network' if few else '95 % intervals'}."
    notes = [f"Times are {clock_text(OPENING)}.", about, *_weight_text(medians, analysis.knobs)]
    return [
        table("median_s", "Medians over downloads, seconds", notes),
        table(CLIENT_MEDIAN, "Medians over clients of each client's median, seconds"),
        table(MEAN, "Means, seconds of waiting for each download that got as far"),
    ]


def _weight_text(medians: pl.DataFrame, knobs: Sequence[str]) -> Iterator[str]:
    means = medians.filter(metric="ttlb").group_by("kind", *knobs).agg(pl.col("fastest_quarter").mean())
    for kind, name in KIND_NAMES.items():
        shares = means.filter(kind=kind)["fastest_quarter"].drop_nulls().to_list()
        if shares:
            many = " to ".join(dict.fromkeys(f"{100 * share:.0f}" for share in (min(shares), max(shares))))
            yield f"The fastest quarter of {name} clients has {many} % of the complete downloads."


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
    | numbers("median over clients of each client's median, absent clients last", CLIENT_MEDIAN)
    | numbers("time that clients waited, for each download that got as far", MEAN)
    | numbers("share of complete downloads by the quarter of clients with most", "fastest_quarter")
    | TOP,
    unless_perf_alone(lambda analysis: analysis.once(quantiles_of_runs)),
    in_summary=_medians_in_summary,
    rank=50,
)


def _client_medians(
    streams: pl.DataFrame, clients: pl.DataFrame, metric: Metric, by: list[str]
) -> pl.DataFrame:
    """The median of each client's downloads, without left truncation: one client has too few of them."""
    rows = downloads(streams.drop(ENTRY, strict=False), metric, [*by, "client"])
    medians = rows.keys.with_columns(
        pl.Series(CLIENT_MEDIAN, rows.incidence().quantiles(np.array([0.5]))[:, 0])
    )
    # A client that never reaches its median is slower than any that does.
    each = clients.join(medians, on=[*by, "client"], how="left").with_columns(
        pl.col(CLIENT_MEDIAN).fill_nan(None).fill_null(np.inf)
    )
    middle = pl.col(CLIENT_MEDIAN).quantile(0.5, interpolation="lower")
    return each.group_by(by).agg(pl.when(middle.is_finite()).then(middle).alias(CLIENT_MEDIAN))


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
            variant_words({knob: row[knob] for knob in analysis.knobs}),
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
