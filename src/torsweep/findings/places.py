"""Where findings stand, and what Snakemake makes of them.

In: the wildcards of a plan, under the overrides of a user. Out: input functions and arguments of the rules in
``rules/compare.smk``.

Findings are made of runs as they stand, and none is started for them.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from torsweep.config.experiment import Experiment
from torsweep.engines.selection import RUN_ENGINES
from torsweep.errors import InputError
from torsweep.findings.transports import standing_runs, transport_knobs
from torsweep.pipeline.arguments import set_arguments
from torsweep.pipeline.paths import FIGURE_SUFFIXES, RESULTS, Paths, PlanPath, called_by_rules
from torsweep.provenance import PROVENANCE_FILE, sha256_of_file
from torsweep.stats.files import FINDINGS_FILES

FINISHED = "finished"
"""Takes the place of an engine's name in paths of findings."""

ANY_NETWORK = "any"
"""Takes the place of a network's name when each transport is taken on the networks on which it has run."""


@called_by_rules
class FindingsPlan:
    """What the findings of a sweep are made of."""

    def __init__(self, paths: Paths) -> None:
        self.paths = paths

    def targets(self) -> list[str]:
        """Every file of the findings that the overrides ask for."""
        overrides = self.paths.overrides
        experiment = self.paths.experiment(overrides.experiment)
        plan = experiment.plan(overrides.plan)
        place = PlanPath(
            experiment.name, FINISHED, experiment.era, overrides.network or ANY_NETWORK, plan.name
        )
        if transport_knobs(plan):
            raise InputError(
                "turns the transport itself", key="plan", value=plan.name, accepted="such as main"
            )
        if not self._standing(experiment, place):
            raise InputError("no run of the plan is finished", file=RESULTS / "runs" / experiment.name)
        return self._files(place)

    def given(self, wildcards: Any) -> dict[str, str]:
        """The checksum of each record of a run that is taken as it stands, by its folder.

        No rule makes these runs for the findings, so that they are no input; this parameter tells when one of
        them changes.
        """
        place = _place(wildcards)
        folders = self._standing(self.paths.experiment(place.experiment), place)
        return {str(folder): sha256_of_file(folder / PROVENANCE_FILE) for folder in folders}

    def arguments(self, wildcards: Any) -> str:
        """What is asked of ``torsweep results findings``: the networks, and the experiment's keys."""
        overrides, place = self.paths.overrides, _place(wildcards)
        parts = [set_arguments(self.paths.experiment_settings)]
        if place.network != ANY_NETWORK:
            parts.append(f"--network {shlex.quote(place.network)}")
            if overrides.replicates is not None or overrides.first_seed is not None:
                seeds = self.paths.experiment(place.experiment).seeds
                parts.append(f"--seeds {seeds[0]}-{seeds[-1]}")
        return " ".join(filter(None, parts))

    def _files(self, place: PlanPath) -> list[str]:
        folder = place.stage("findings")
        names = (*FINDINGS_FILES, *(f"findings.{suffix}" for suffix in FIGURE_SUFFIXES))
        return [str(folder / name) for name in names]

    def _standing(self, experiment: Experiment, place: PlanPath) -> list[Path]:
        """The folders of finished runs of the plan."""
        plan = experiment.plan(place.plan)
        only = place.network if place.network != ANY_NETWORK else None
        return [
            folder
            for engine in RUN_ENGINES
            for found in standing_runs(experiment, plan, engine, only).values()
            for folder, _, _ in found
        ]


def _place(wildcards: Any) -> PlanPath:
    levels = (wildcards.experiment, FINISHED, wildcards.era, wildcards.network, wildcards.plan)
    return PlanPath(*levels)
