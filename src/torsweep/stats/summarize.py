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
from torsweep.stats.breakdown import Breakdown, breakdown
from torsweep.stats.cell_times import CellTimes, cell_times
from torsweep.stats.claims import Evidence, Inquiry, Levels, Verdict, ask
from torsweep.stats.closeup import closeup
from torsweep.stats.depths import StairTable
from torsweep.stats.design import FIXED, Design
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
    """The content of all summaries of a plan, before it is written.

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
    cells: CellTimes
    breakdown: Breakdown
    verdicts: tuple[Verdict, ...]
    design: Design = FIXED


def summarize(tables: PlanTables, experiment: Experiment) -> Summary:
    """The summary of ``tables``, a plan of ``experiment``.

    Raises InputError when the tables are of another experiment, of other knobs than their plan has, or
    of a number of networks at which ``replicates: auto`` does not look.
    """
    design = Design(experiment.looks)
    design.check(len(tables.provenance.seeds))
    streams = tables.streams(STREAM_COLUMNS)
    steps = StairTable(streams)
    progress = tables.progress(starvation.PROGRESS_COLUMNS)
    shared = _fairness(tables, progress)
    cells, ways = cell_times(tables), breakdown(tables)
    evidence = gather(tables, experiment, steps, shared, cells, ways)
    provenance, knobs, baseline = tables.provenance, tables.knobs, dict(evidence.baseline)
    # The claims decide which steps are measured: they come before the table of them.
    verdicts = tuple(inquiry.verdict(design) for inquiry in inquiries(evidence, experiment))
    return Summary(
        provenance=provenance,
        baseline=baseline,
        medians=evidence.runs,
        curves=curves(streams, knobs),
        differences=differences(evidence.runs, list(provenance.variants()), baseline),
        outcomes=outcome_counts(streams, knobs),
        stationarity=stationarity(streams, provenance, knobs),
        stairs=steps.frame(),
        closeup=closeup(streams, provenance.knobs),
        queues=queues(tables.relays(RELAY_COLUMNS), knobs),
        shares=shared.shares,
        clients=shared.clients,
        fairness=fairness_over_networks(shared.clients, knobs),
        progress=progress_lines(shared.shares, progress, knobs, held_level(provenance.knobs, baseline)),
        cells=cells,
        breakdown=ways,
        verdicts=verdicts,
        design=design,
    )


def gather(
    tables: PlanTables,
    experiment: Experiment,
    steps: StairTable,
    shared: Fairness | None = None,
    cells: CellTimes | None = None,
    ways: Breakdown | None = None,
) -> Evidence:
    """What the claims of ``experiment`` are judged by, from ``tables`` and the ``steps`` of their streams.

    ``shared`` is the fairness of the tables, ``cells`` the times of their cells and ``ways`` the breakdown,
    where they have been worked out.
    """
    baseline = _plan_baseline(tables, experiment)
    if steps.streams.is_empty():
        raise InputError("holds no download that started after the warm-up", file=tables.directory)
    if shared is None and tables.provenance.progress:
        shared = _fairness(tables, tables.progress(starvation.PROGRESS_COLUMNS))
    return Evidence(
        run_quantiles(steps.streams, tables.knobs),
        tables.provenance.knobs,
        baseline,
        steps.depths,
        shared if tables.provenance.progress else None,
        experiment.precision.margin,
        cells=(cells or cell_times(tables)).runs,
        ways=(ways or breakdown(tables)).runs,
    )


def inquiries(evidence: Evidence, experiment: Experiment) -> list[Inquiry]:
    """What each claim comes to, in each setting of the knobs that the plan adds."""
    settings = _settings(evidence.knobs, experiment.knobs)
    return [ask(claim, evidence, setting) for claim in experiment.claims for setting in settings]


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
