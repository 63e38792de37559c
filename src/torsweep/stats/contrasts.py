"""What each source shows of contrasts between variants and of claims, and what all sources say together.

In: medians of runs (:mod:`torsweep.stats.streams.medians`). Out: contrasts.csv, a row for each contrast,
kind, metric and source.

A contrast is between two variants that differ in one knob: the logarithm of the ratio of their medians within
each network, averaged over networks. On that scale half and double are equally far from equal, and one slow
network does not outweigh the others.

Within a source it is over all networks that ran both variants, with a t-interval. An interval within ± the
experiment's margin shows that there is no difference. Otherwise, an interval above 1 shows that times are
longer, and one below 1 that they are shorter.

verdicts.csv has a row for each claim, setting and source. A claim is judged as in any summary
(:mod:`torsweep.stats.claims.judging`), on the networks that every variant of the plan has run on in the
source; where there is none, it has not been run.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
import polars as pl

from torsweep.config.traffic import KINDS
from torsweep.config.variant import JOINED_BY, one_knob_apart
from torsweep.runsets.plan_tables import REPEAT, SOURCE
from torsweep.stats.claims.judging import CONTRADICTED, HOLDS, NO_DIFFERENCE, UNCLEAR, Verdict, verdicts
from torsweep.stats.inference.intervals import Interval, t_interval
from torsweep.stats.statistic import (
    KIND_COLUMN,
    METRIC_COLUMN,
    NETWORKS_COLUMN,
    Analysis,
    Statistic,
    numbers,
    texts,
)
from torsweep.stats.streams.medians import quantiles_of_runs
from torsweep.stats.text import MOST_TIMES, SHOWN_METRICS, TextTable, level_words, variant_words

NOT_RUN = "not run"
"""The verdict under a source without a single network that every variant has run on."""

SURVIVES, DIFFERS, OPEN = "survives", "differs", "open"
"""What sources say together: two engines or more decide it, all alike; two sources decide it differently;
neither. Two TCPs of the model are one engine: they share all else."""

_DECIDED = (HOLDS, CONTRADICTED, NO_DIFFERENCE)


def together(decided: Mapping[str, str | None]) -> str:
    """The agreement between sources, by their names; None stands for a source that does not decide."""
    known = {source: one for source, one in decided.items() if one is not None}
    if len(set(known.values())) > 1:
        return DIFFERS
    engines = {source.partition(JOINED_BY)[0] for source in known}
    return SURVIVES if len(engines) > 1 else OPEN


def _verdicts_of_sources(analysis: Analysis) -> list[dict[str, object]] | None:
    """The columns of :data:`VERDICTS`; None where no source has a whole network, or there are no claims."""
    by_claim: dict[tuple[str, str], dict[str, Verdict]] = {}
    for verdict in analysis.once(verdicts):
        source, _, setting = verdict.setting.removeprefix(f"{SOURCE}=").partition(", ")
        by_claim.setdefault((verdict.claim, setting), {})[source] = verdict
    whole = {source: len(part.provenance.seeds) for source, part in analysis.parts.items()}
    if not any(whole.values()):
        return None
    rows: list[dict[str, object]] = []
    for (claim, setting), of_sources in by_claim.items():
        of_each = {
            source: one.verdict if one.verdict in _DECIDED else None for source, one in of_sources.items()
        }
        for source, one in of_sources.items():
            rows.append(
                {"claim": claim, "text": one.text, "setting": setting, SOURCE: source}
                | {"verdict": one.verdict if whole[source] else NOT_RUN, "reason": one.reason}
                | {"networks": whole[source], "together": together(of_each)}
            )
    return rows or None


def _verdicts_in_summary(analysis: Analysis, table: pl.DataFrame) -> list[TextTable]:
    rows = []
    for own in table.partition_by("claim", "setting", maintain_order=True):
        first = own.row(0, named=True)
        listed = [f"{row['verdict']} ({row['networks']})" for row in own.iter_rows(named=True)]
        text = f"{first['text']} ({first['setting']})" if first["setting"] else first["text"]
        agreed = first["together"]
        rows.append([text, *listed, agreed if agreed == OPEN else f"**{agreed}**"])
    note = (
        "In brackets: how many networks have all of the plan's variants, on which the verdict rests. "
        f"Together: {SURVIVES} where two engines or more decide a claim, all alike, {DIFFERS} where "
        f"two sources decide it differently, else {OPEN}."
    )
    header = ["claim", *analysis.parts, "together"]
    return [TextTable("Claims under each source", header, rows, [note])]


VERDICTS = Statistic(
    "verdicts",
    "a claim under one source",
    texts("the claim, and in which setting of added knobs", "claim", "text", "setting")
    | texts("the source", SOURCE)
    | texts("the verdict, not run without a whole network, and why", "verdict", "reason")
    | NETWORKS_COLUMN
    | texts("what all sources say: survives, differs or open", "together"),
    _verdicts_of_sources,
    rests_on=SOURCE,
    in_summary=_verdicts_in_summary,
    rank=13,
)


LONGER, SHORTER = "longer", "shorter"
"""What an interval of a contrast shows that lies above 1, or below it."""

CONTRAST_KEYS = ["kind", "metric", "knob", "at", "from", "to"]
"""What tells contrasts apart."""

ByNetwork = Mapping[int, float]
"""The logarithm of a ratio of medians by the seed of its network; NaN where one has no median."""

BySource = Mapping[str, ByNetwork]
"""The logarithms of one contrast by source."""


def contrasts(analysis: Analysis) -> list[dict[str, object]] | None:
    """The columns of :data:`CONTRASTS`, for every pair of variants one knob apart that a source has run.

    A plan of one engine has them where it turns two knobs: within each level of the other, those from the
    baseline's level.
    """
    knobs = [knob for knob in analysis.knobs if knob != SOURCE]
    varying = {knob for knob in knobs if len({one[knob] for one in analysis.grid}) > 1}
    several = SOURCE in analysis.knobs
    if not several and len(varying) < 2:
        return None
    sources = analysis.levels[SOURCE] if several else [analysis.provenance.engine]
    medians: dict[tuple[Any, ...], dict[int, float]] = {}
    for row in analysis.once(quantiles_of_runs).iter_rows(named=True):
        levels = (row.get(SOURCE, sources[0]), *(row[knob] for knob in knobs))
        median = np.nan if row["median_s"] is None else row["median_s"]
        medians.setdefault((row["kind"], row["metric"], *levels), {})[row["seed"]] = median
    pairs = one_knob_apart(analysis.grid)
    if not several:
        usual = analysis.baseline
        pairs = [
            (one, other, knob) if one[knob] == usual[knob] else (other, one, knob)
            for one, other, knob in pairs
            if usual[knob] in (one[knob], other[knob])
        ]
    rows: list[dict[str, object]] = []
    kinds = [kind for kind in KINDS if any(measure[0] == kind for measure in medians)]
    for kind, metric in product(kinds, SHOWN_METRICS):
        by_pair = [
            {
                source: _log_ratios(
                    medians.get((kind, metric, source, *one.values()), {}),
                    medians.get((kind, metric, source, *other.values()), {}),
                )
                for source in sources
            }
            for one, other, _ in pairs
        ]
        for (one, other, knob), own in zip(pairs, by_pair, strict=True):
            at = variant_words({name: one[name] for name in knobs if name in varying and name != knob})
            head = {"kind": kind, "metric": metric, "knob": knob, "at": at}
            head |= {"from": one[knob], "to": other[knob]}
            rows += [head | row for row in _of_sources(own, analysis.margin)]
    return rows or None


def _log_ratios(ones: ByNetwork, others: ByNetwork) -> ByNetwork:
    """The logarithm of the median of the second variant over that of the first, by network."""
    return {seed: float(np.log(others[seed] / ones[seed])) for seed in sorted(ones) if seed in others}


def _of_sources(own: BySource, margin: float) -> list[dict[str, object]]:
    """A row for each source, with all but what the contrast is; none where no source has run it."""
    rows: list[dict[str, object]] = []
    for source in (each for each in own if not each.endswith(REPEAT)):
        interval = t_interval(list(own[source].values()))
        row: dict[str, object] = {SOURCE: source, "networks": interval.networks}
        rows.append({**row, **_ratio(interval), "shows": shows(interval, margin)})
    agreed = together(
        {str(row[SOURCE]): None if row["shows"] == UNCLEAR else str(row["shows"]) for row in rows}
    )
    return [{**row, "together": agreed} for row in rows] if any(row["networks"] for row in rows) else []


def shows(interval: Interval, margin: float) -> str:
    """The direction that the interval of a logarithm shows."""
    if not interval.known:
        return UNCLEAR
    if np.expm1(interval.low) > -margin and np.expm1(interval.high) < margin:
        return NO_DIFFERENCE
    if interval.low > 0:
        return LONGER
    return SHORTER if interval.high < 0 else UNCLEAR


def _ratio(interval: Interval) -> dict[str, object]:
    """An interval of a logarithm as one of a ratio; None where there is none."""
    bounds = (interval.mean, interval.low, interval.high)
    return {
        name: float(np.exp(bound)) if np.isfinite(bound) else None
        for name, bound in zip(("ratio", "low", "high"), bounds, strict=True)
    }


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


def _of_one(table: pl.DataFrame) -> TextTable:
    """The contrasts of a plan of one engine: a column for each time."""
    rows, measures = [], list(product(table["kind"].unique(maintain_order=True), SHOWN_METRICS))
    for own in table.partition_by("knob", "at", "from", "to", maintain_order=True):
        of_times = {(row["kind"], row["metric"]): ratio_text(row) for row in own.iter_rows(named=True)}
        cells = [of_times.get(measure, "–") for measure in measures]
        rows.append([contrast_name(own.row(0, named=True)), *cells])
    note = (
        "Ratios of medians, paired by network, with 95 % t-intervals and the number of networks; no allowance"
        " is made for looking at many."
    )
    times = [f"{kind}, {SHOWN_METRICS[metric]}" for kind, metric in measures]
    return TextTable("One knob changed, the other held", ["from → to", *times], rows, [note])


def _in_summary(analysis: Analysis, table: pl.DataFrame) -> list[TextTable]:
    if SOURCE not in analysis.knobs:
        return [_of_one(table)]
    sources = table[SOURCE].unique(maintain_order=True).to_list()
    rows = []
    for own in table.partition_by(CONTRAST_KEYS, maintain_order=True):
        first = own.row(0, named=True)
        agreed = first["together"]
        rows.append(
            [
                f"{first['kind']}, {SHOWN_METRICS[first['metric']]}",
                contrast_name(first),
                *map(ratio_text, own.iter_rows(named=True)),
                agreed if agreed == OPEN else f"**{agreed}**",
            ]
        )
    note = (
        "Ratios of medians of two variants that differ in one knob: geometric means over the networks (their "
        "number in brackets), with 95 % t-intervals of the logarithms, paired by network. Together: "
        f"{SURVIVES} where two engines or more show the same (times are longer, shorter, or there is "
        f"{NO_DIFFERENCE}, within ±{100 * analysis.margin:g} %), {DIFFERS} where two show something else, "
        f"else {OPEN}. No allowance is made for looking at many contrasts."
    )
    return [TextTable("Contrasts", ["time", "from → to", *sources, "together"], rows, [note])]


CONTRASTS = Statistic(
    "contrasts",
    "two variants that differ in one knob, in one source: the ratio of their medians over networks; of plans"
    " of several sources, and of two knobs",
    KIND_COLUMN
    | METRIC_COLUMN
    | texts("the knob, the levels of the other knobs, and its two levels", "knob", "at", "from", "to")
    | texts("the source", SOURCE)
    | NETWORKS_COLUMN
    | numbers("to over from, with the 95 % interval", "ratio", "low", "high")
    | texts("longer, shorter, no difference or unclear; and what all sources show", "shows", "together"),
    contrasts,
    in_summary=_in_summary,
    rank=14,
)
