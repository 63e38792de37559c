"""All measures over networks, and how variants differ in them.

In: :func:`measures_of`. Out: measures.csv, a row for each measure, group and variant;
measure_differences.csv, each variant against the baseline, paired by network: of a share the difference in
percentage points, of anything else the relative change, whose mean and interval are those of logarithms. A
measure that no run recorded has no rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import polars as pl

from torsweep.config.traffic import KIND_NAMES
from torsweep.engines.table_schema import ROLES
from torsweep.network.model import POSITIONS
from torsweep.runsets.plan_tables import at_levels
from torsweep.stats.inference.intervals import exponential, log_interval, t_interval
from torsweep.stats.listing import by_name, values
from torsweep.stats.measures import ALL, GROUP, SECONDS, Measure, by_run, in_group, ordered
from torsweep.stats.measures.circuits import CIRCUIT_MEASURES
from torsweep.stats.measures.downloads import DOWNLOAD_MEASURES
from torsweep.stats.measures.relays import RELAY_MEASURES
from torsweep.stats.statistic import (
    KNOB_COLUMNS,
    NETWORKS_COLUMN,
    Analysis,
    Levels,
    Statistic,
    mean_and_band,
    numbers,
    texts,
)
from torsweep.stats.streams.differences import TOO_FEW, Paired, bounds_of, paired
from torsweep.stats.streams.incidence import METRICS, downloads, measured_downloads
from torsweep.stats.text import MOST_TIMES, TextTable, variant_words

CONTINENT_TIMES = {"first": METRICS["ttfb"], "last": METRICS["ttlb"]}


def medians_by_continent(analysis: Analysis) -> pl.DataFrame:
    """``first_s`` and ``last_s``, a row for each run and continent: the median over all downloads of the web
    clients there; null where fewer than half of them got so far."""
    by = [*by_run(analysis), GROUP]
    clients = analysis.tables.clients().filter(pl.col("kind") == "web").drop_nulls("continent")
    where = in_group(clients, pl.col("continent")).select(*by, "client")
    if where.is_empty():
        return where.drop("client").with_columns(
            pl.lit(None, pl.Float64).alias(f"{name}_s") for name in CONTINENT_TIMES
        )
    streams = analysis.once(measured_downloads).join(where, on=[*by_run(analysis), "client"])
    frame = streams.select(by).unique()
    for name, metric in CONTINENT_TIMES.items():
        rows = downloads(streams, metric, by)
        medians = pl.Series(f"{name}_s", rows.incidence().quantiles(np.array([0.5]))[:, 0], nan_to_null=True)
        frame = frame.join(rows.keys.with_columns(medians), on=by, how="left")
    return frame


CONTINENT_MEASURES = tuple(
    Measure(
        f"{name}_byte_by_continent",
        "Web, by continent",
        f"{name} byte, median",
        SECONDS,
        f"median time to the {name} byte of the web clients in a continent, of networks that have countries",
        medians_by_continent,
        pl.col(f"{name}_s").first(),
    )
    for name in CONTINENT_TIMES
)


_SHARED = (*CIRCUIT_MEASURES, *DOWNLOAD_MEASURES, *CONTINENT_MEASURES, *RELAY_MEASURES)


def measures_of(experiment: str = "") -> Mapping[str, Measure]:
    """Every measure by its name, in the order of tables and figures: the shared ones, then those of
    ``experiment``; InputError where two have one name."""
    found = (value for value in values(experiment) if isinstance(value, Measure))
    own = by_name("measures", ((measure.name, measure) for measure in found))
    return {**{measure.name: measure for measure in _SHARED}, **own}


ORDER = (ALL, *KIND_NAMES, *POSITIONS, *ROLES)
"""Groups in the order of tables and figures."""


def numbers_of_runs(analysis: Analysis) -> dict[tuple[str, str], pl.DataFrame]:
    """Seed, knobs and ``value`` of each run that has one, by measure and group."""
    # Simulations of an import that share a network have one number together.
    runs = _runs(analysis).unique(maintain_order=True)
    by_measure = {}
    for measure in measures_of(analysis.provenance.experiment).values():
        rows = analysis.once(measure.rows).lazy()
        number = measure.number.cast(pl.Float64).alias("value")
        values = rows.group_by(*runs.columns, GROUP).agg(number).collect(engine="streaming")
        for group in ordered(values[GROUP].unique().to_list(), ORDER):
            of_group = values.filter(pl.col(GROUP) == group).drop(GROUP)
            each = runs.join(of_group, on=runs.columns, how="left", maintain_order="left")
            if measure.absent is not None:
                each = each.with_columns(pl.col("value").fill_null(measure.absent))
            # A ratio to nothing keeps its place, so that a mean over the other networks does not flatter.
            finite = pl.when(pl.col("value").is_finite()).then("value").otherwise(float("nan"))
            by_measure[measure.name, group] = each.drop_nulls("value").with_columns(finite)
    return {key: frame for key, frame in by_measure.items() if frame.height}


def _runs(analysis: Analysis) -> pl.DataFrame:
    keys = [{"seed": run["seed"], **run["variant"]} for run in analysis.provenance.runs]
    schema = pl.Schema({"seed": pl.Int64})
    schema |= {knob: pl.Enum(levels) for knob, levels in analysis.levels.items()}
    return pl.DataFrame(keys, schema)


def measures(analysis: Analysis) -> list[dict[str, object]]:
    """The columns of :data:`MEASURE_MEANS`."""
    known = measures_of(analysis.provenance.experiment)
    rows: list[dict[str, object]] = []
    for (name, group), runs in analysis.once(numbers_of_runs).items():
        for key, runs_of_variant in runs.group_by(analysis.knobs, maintain_order=True):
            measure = known[name]
            interval_of = log_interval if measure.unit == SECONDS else t_interval
            interval = interval_of(runs_of_variant["value"].to_numpy())
            most = 1.0 if measure.share else measure.most
            variant = dict(zip(analysis.knobs, key, strict=True))
            rows.append(
                {"measure": name, "group": group, "unit": measure.unit, **variant}
                | {"networks": interval.networks, "mean": interval.mean}
                | {"mean_low": max(interval.low, 0.0), "mean_high": min(interval.high, most)}
            )
    return rows


def differences(analysis: Analysis) -> list[dict[str, object]]:
    """The columns of :data:`MEASURE_DIFFERENCES`."""
    known = measures_of(analysis.provenance.experiment)
    rows: list[dict[str, object]] = []
    for ((name, group), runs), (baseline, others) in product(
        analysis.once(numbers_of_runs).items(), analysis.compared()
    ):
        share = known[name].share
        for variant in others:
            pair = paired(runs, "value", baseline, variant)
            rows.append(
                {"measure": name, "group": group, "change_in": "points" if share else "parts", **variant}
                | _change(pair, share, len(others))
            )
    return rows


def _change(pair: Paired, share: bool, family_size: int) -> dict[str, object]:
    """How two variants differ; without a number where one of the quantities is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        # Differences of shares that are alike differ in their last digits.
        changes = np.round(pair.difference_s * 100, 9) if share else pair.log_ratio
    changes = np.where(np.isfinite(changes), changes, np.nan)
    intervals = pair.intervals(changes, family_size, (lambda side: side * 100) if share else np.log)
    # A difference of shares is no larger than 100 points.
    each, together = (
        replace(one, low=np.clip(one.low, -100, 100), high=np.clip(one.high, -100, 100))
        if share
        else exponential(one)
        for one in intervals
    )
    means = {"baseline": t_interval(pair.reference_s).mean, "variant": t_interval(pair.variant_s).mean}
    return {"networks": pair.networks, **means, **bounds_of("change", each, together)}


def _means_in_summary(analysis: Analysis, frame: pl.DataFrame) -> list[TextTable]:
    def entry(measure: Measure, row: Mapping[str, float | None]) -> str:
        factor, unit = (100, " %") if measure.share else (1, "")
        known = (row[name] for name in ("mean", "mean_low", "mean_high"))
        return _with_bounds([_number(factor * one) for one in known if one is not None], unit)

    return _by_measure("Measures", analysis, frame, analysis.provenance.variants(), entry)


def _differences_in_summary(analysis: Analysis, frame: pl.DataFrame) -> list[TextTable]:
    def entry(measure: Measure, row: Mapping[str, float | None]) -> str:
        bounds = [row["change"], row["change_low"], row["change_high"]]
        return _change_text(bounds, " points" if measure.share else " %", 1 if measure.share else 100)

    others = [variant for _, compared in analysis.compared() for variant in compared]
    bounds = "Each with its own 95 % t-interval over networks: by chance alone, one row in twenty excludes 0."
    note = f"{TOO_FEW if analysis.few else bounds} Points are percentage points."
    title = "Measures against the baseline, paired by network"
    return _by_measure(title, analysis, frame, others, entry, [note])


def _by_measure(
    title: str,
    analysis: Analysis,
    frame: pl.DataFrame,
    variants: Iterable[Levels],
    entry: Callable[[Measure, Mapping[str, float | None]], str],
    notes: Sequence[str] = (),
) -> list[TextTable]:
    """A table with a line for each measure and group of ``frame`` and a column for each of ``variants``."""
    known, columns = measures_of(analysis.provenance.experiment), list(variants)
    rows = []
    for (name, group), of_group in frame.group_by(["measure", "group"], maintain_order=True):
        measure = known[str(name)]
        of_variants = [at_levels(of_group, one) for one in columns]
        cells = [entry(measure, own.row(0, named=True)) if own.height else "–" for own in of_variants]
        rows.append([line_name(measure, str(group)), *cells])
    header = ["measure", *map(variant_words, columns)]
    return [TextTable(title, header, rows, notes)] if rows else []


def group_text(group: str) -> str:
    """The suffix of a measure's name for ``group``, such as ``, web``; empty for the group of all."""
    return "" if group == ALL else f", {KIND_NAMES.get(group, group)}"


def line_name(measure: Measure, group: str) -> str:
    """``Goodput: of a download, median, web (KiB/s)``."""
    unit = "" if measure.share or measure.unit == "1" else f" ({measure.unit})"
    return f"{measure.topic}: {measure.label}{group_text(group)}{unit}"


def _change_text(bounds: list[float | None], unit: str, factor: float) -> str:
    """``+2.5 % [−1.0, +6.0]``; of what is more than tenfold, only that it is."""
    changes = [bound * factor for bound in bounds if bound is not None]
    most = 100 * MOST_TIMES
    texts_of = [
        f"{one:+,.{0 if abs(one) >= 100 else 1}f}".replace("-", "−") if one <= most else f"over {most:,.0f}"
        for one in changes
    ]
    return _with_bounds(texts_of, unit)


def _with_bounds(texts_of: list[str], unit: str) -> str:
    """A number with its ``unit``, and its bounds where there are any; a dash where there is no number."""
    if not texts_of:
        return "–"
    return f"{texts_of[0]}{unit}" + (f" [{texts_of[1]}, {texts_of[2]}]" if len(texts_of) == 3 else "")


def _number(value: float) -> str:
    """Three digits, without an exponent."""
    return (f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}").replace("-", "−")


_NAMED = texts("name of the measure", "measure") | texts(
    "kind of client, position, role or reason; all: the measure is not parted", "group"
)
MEASURE_MEANS = Statistic(
    "measures",
    "a measure of a variant, over networks",
    _NAMED
    | texts("unit of the number", "unit")
    | KNOB_COLUMNS
    | NETWORKS_COLUMN
    | mean_and_band("the measure", "mean"),
    measures,
    in_summary=_means_in_summary,
    rank=84,
)
MEASURE_DIFFERENCES = Statistic(
    "measure_differences",
    "a measure of a variant against the baseline, paired by network; null: not to be had",
    _NAMED
    | texts("parts of the baseline, or percentage points", "change_in")
    | KNOB_COLUMNS
    | NETWORKS_COLUMN
    | numbers("mean over networks", "baseline", "variant")
    | numbers(
        "the change: mean over networks and 95 % interval; of two or three networks, lowest and highest",
        "change",
        "change_low",
        "change_high",
    )
    | numbers(
        "interval that covers all variants; null below four networks",
        "change_simultaneous_low",
        "change_simultaneous_high",
    ),
    differences,
    in_summary=_differences_in_summary,
    rank=85,
)
