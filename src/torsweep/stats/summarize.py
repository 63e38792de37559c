"""All summaries of a plan.

In: the tables of a plan (:mod:`torsweep.tables.collect`) and its experiment. Out: a :class:`Summary`, which
:mod:`torsweep.stats.writing` writes into a folder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import polars as pl

from torsweep.config.experiment import Experiment
from torsweep.errors import InputError
from torsweep.stats import starvation
from torsweep.stats.claims import Evidence, Levels, Verdict, judge
from torsweep.stats.closeup import closeup
from torsweep.stats.depths import StairTable
from torsweep.stats.differences import differences
from torsweep.stats.medians import curves, outcome_counts, run_quantiles
from torsweep.stats.metrics import STREAM_COLUMNS
from torsweep.stats.parallel import fairness_over_networks, held_level, progress_lines
from torsweep.stats.queues import COLUMNS as RELAY_COLUMNS
from torsweep.stats.queues import queues
from torsweep.stats.starvation import Fairness, fairness
from torsweep.stats.stationarity import stationarity
from torsweep.tables.reading import PlanTables, Provenance


@dataclass(frozen=True)
class Summary:
    """Everything the summaries of a plan say, before it is written.

    The frames are named as their files; ``shares``, ``clients``, ``fairness`` and ``progress`` have no rows
    where the runs were not asked for progress.
    """

    provenance: Provenance
    baseline: Levels
    medians: pl.DataFrame
    curves: pl.DataFrame
    differences: pl.DataFrame
    outcomes: pl.DataFrame
    stationarity: pl.DataFrame
    stairs: pl.DataFrame
    closeup: pl.DataFrame
    queues: pl.DataFrame
    shares: pl.DataFrame
    clients: pl.DataFrame
    fairness: pl.DataFrame
    progress: pl.DataFrame
    verdicts: tuple[Verdict, ...]


def summarize(tables: PlanTables, experiment: Experiment) -> Summary:
    """The summary of ``tables``, a plan of ``experiment``.

    Raises InputError when the tables are of another experiment, or of other knobs than their plan has.
    """
    baseline = _plan_baseline(tables, experiment)
    provenance, knobs = tables.provenance, tables.knobs
    streams = tables.streams(STREAM_COLUMNS)
    if streams.is_empty():
        raise InputError("holds no download that started after the warm-up", file=tables.directory)
    medians = run_quantiles(streams, knobs)
    steps = StairTable(streams)
    progress = tables.progress(starvation.PROGRESS_COLUMNS)
    shared = _fairness(tables, progress)
    asked = shared if provenance.progress else None
    evidence = Evidence(medians, provenance.knobs, baseline, steps.depths, asked)
    verdicts = tuple(
        judge(claim, evidence, setting)
        for claim in experiment.claims
        for setting in _settings(provenance.knobs, experiment.knobs)
    )
    return Summary(
        provenance=provenance,
        baseline=baseline,
        medians=medians,
        curves=curves(streams, knobs),
        differences=differences(medians, list(provenance.variants()), baseline),
        outcomes=outcome_counts(streams, knobs),
        stationarity=stationarity(streams, provenance, knobs),
        stairs=steps.frame(),
        closeup=closeup(streams, provenance.knobs),
        queues=queues(tables.relays(RELAY_COLUMNS), knobs),
        shares=shared.shares,
        clients=shared.clients,
        fairness=fairness_over_networks(shared.clients, knobs),
        progress=progress_lines(shared.shares, progress, knobs, held_level(provenance.knobs, baseline)),
        verdicts=verdicts,
    )


def _fairness(tables: PlanTables, progress: pl.DataFrame) -> Fairness:
    streams = tables.streams(starvation.STREAM_COLUMNS)
    return fairness(streams if tables.provenance.progress else streams.head(0), progress, tables.knobs)


def _plan_baseline(tables: PlanTables, experiment: Experiment) -> dict[str, str]:
    provenance = tables.provenance
    if provenance.experiment != experiment.name:
        raise InputError(
            "is of another experiment",
            file=tables.directory,
            value=provenance.experiment,
            accepted=experiment.name,
        )
    plan = experiment.plan(provenance.plan)
    baseline = dict(plan.baseline.levels)
    if list(baseline) != list(provenance.knobs):
        raise InputError(
            f"has other knobs than plan {plan.name} of {experiment.name}",
            file=tables.directory,
            value=", ".join(provenance.knobs),
            accepted=", ".join(baseline),
        )
    if baseline not in provenance.variants():
        raise InputError("lacks the baseline's runs", file=tables.directory, accepted=plan.baseline.key)
    return baseline


def _settings(knobs: Mapping[str, Sequence[str]], own: Mapping[str, Sequence[str]]) -> list[dict[str, str]]:
    """Every combination of levels of the knobs that a sensitivity adds: claims are judged in each."""
    added = {knob: levels for knob, levels in knobs.items() if knob not in own}
    return [dict(zip(added, levels, strict=True)) for levels in product(*added.values())]
