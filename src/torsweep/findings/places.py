"""Where findings stand, and what Snakemake makes of them.

In: the wildcards of a plan, under the overrides of a user. Out: input functions and arguments of the rules in
``rules/findings.smk``.

Findings are made of runs as they stand, and none is started for them. Those of an ordinary plan are below
the name of its engine and wait for its own runs; those that ``snakemake findings`` asks for are below
``finished`` and wait for nothing.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from torsweep.config.experiment import Experiment
from torsweep.engines.selection import RUN_ENGINES
from torsweep.errors import InputError
from torsweep.findings.transports import standing_runs, transport_knobs
from torsweep.pipeline.results_tree import RESULTS, Place
from torsweep.pipeline.sweep import FIGURE_SUFFIXES, Sweep, place_of, set_arguments, stopping_with_a_line
from torsweep.provenance import PROVENANCE_FILE, sha256_of_file
from torsweep.stats.files import FINDINGS_FILE, FINDINGS_FILES

FINISHED = "finished"
"""Takes the place of an engine's name in paths of findings that wait for no plan's own runs."""

ANY_NETWORK = "any"
"""Takes the place of a network's name when each transport is taken on the networks on which it has run."""


class FindingsPlan:
    """What the findings of a sweep are made of."""

    def __init__(self, sweep: Sweep) -> None:
        self.sweep = sweep
        sweep.findings_files = self.files_of

    @stopping_with_a_line
    def targets(self) -> list[str]:
        """Every file of the findings that the overrides ask for."""
        overrides = self.sweep.overrides
        experiment = self.sweep.experiment(overrides.experiment)
        plan = experiment.plan(overrides.plan)
        place = Place(experiment.name, FINISHED, experiment.era, overrides.network or ANY_NETWORK, plan.name)
        if transport_knobs(plan):
            raise InputError(
                "turns the transport itself", key="plan", value=plan.name, accepted="such as main"
            )
        if not self._standing(experiment, place):
            raise InputError("no run of the plan is finished", file=RESULTS / "runs" / experiment.name)
        return self._files(place)

    def files_of(self, place: Place) -> list[str]:
        """The findings of a plan in an engine; none where it has run over no other transport."""
        experiment = self.sweep.experiment(place.experiment)
        if self.sweep.overrides.findings is not None:
            return self._files(place)
        if transport_knobs(experiment.plan(place.plan)) or not self._standing(experiment, place):
            return []
        return self._files(place)

    @stopping_with_a_line
    def verdicts_of_plan(self, wildcards: Any) -> list[str]:
        """The one file of them that a summary reads."""
        return [file for file in self.files_of(place_of(wildcards)) if Path(file).name == FINDINGS_FILE]

    def summary_argument(self, wildcards: Any, input: Any) -> str:
        """``--findings FILE`` for a summary, or nothing."""
        return f"--findings {shlex.quote(str(input.findings[0]))}" if input.findings else ""

    @stopping_with_a_line
    def runs(self, wildcards: Any) -> list[str]:
        """The runs that the findings wait for: those of the plan in its engine."""
        if wildcards.asked == FINISHED or self.sweep.overrides.findings is not None:
            return []
        place = _place(wildcards)
        return self.sweep.runs_on(place, self.sweep.seeds_of(place), (PROVENANCE_FILE,))

    @stopping_with_a_line
    def given(self, wildcards: Any) -> dict[str, str]:
        """The checksum of each record of a run that is taken as it stands, by its folder.

        No rule makes these runs for the findings, so that they are no input; this parameter tells when one of
        them changes.
        """
        if self.sweep.overrides.findings is not None:
            return {"findings": sha256_of_file(Path(self.sweep.overrides.findings))}
        place = _place(wildcards)
        folders = self._standing(self.sweep.experiment(place.experiment), place)
        return {str(folder): sha256_of_file(folder / PROVENANCE_FILE) for folder in folders}

    @stopping_with_a_line
    def arguments(self, wildcards: Any) -> str:
        """What is asked of ``torsweep results findings``: the networks, and the experiment's keys."""
        overrides, place = self.sweep.overrides, _place(wildcards)
        parts = [set_arguments(self.sweep.experiment_settings())]
        if overrides.findings is not None:
            parts.append(f"--given {shlex.quote(overrides.findings)}")
        if place.engine != FINISHED:
            seeds = self.sweep.seeds_of(place)
            parts.append(f"--seeds {seeds[0]}-{seeds[-1]}")
        elif place.network != ANY_NETWORK:
            parts.append(f"--network {shlex.quote(place.network)}")
            if overrides.replicates is not None or overrides.first_seed is not None:
                seeds = self.sweep.experiment(place.experiment).seeds
                parts.append(f"--seeds {seeds[0]}-{seeds[-1]}")
        return " ".join(filter(None, parts))

    def _files(self, place: Place) -> list[str]:
        folder = place.stage("findings")
        names = (*FINDINGS_FILES, *(f"findings.{suffix}" for suffix in FIGURE_SUFFIXES))
        return [str(folder / name) for name in names]

    def _standing(self, experiment: Experiment, place: Place) -> list[Path]:
        """The folders of finished runs of the plan, but for those of the engine of ``place`` that are the
        plan's own."""
        plan = experiment.plan(place.plan)
        only = place.network if place.engine == FINISHED and place.network != ANY_NETWORK else None
        return [
            folder
            for engine in RUN_ENGINES
            for found in standing_runs(experiment, plan, engine, only).values()
            for folder, _, more in found
            if engine != place.engine or more
        ]


def _place(wildcards: Any) -> Place:
    levels = (wildcards.experiment, wildcards.asked, wildcards.era, wildcards.network, wildcards.plan)
    return Place(*levels)
