"""The tree of results: experiment, engine, era, network and plan have a level each, so that nothing mixes.

In: the names of these. Out: paths below ``results/``. A run, a plan's tables and a summary are folders; each
is named to Snakemake by its manifest, which is written last (:mod:`torsweep.storage.manifest`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from torsweep.config.knobs import KNOBS, find_knob
from torsweep.config.variant import JOINED_BY, Variant
from torsweep.errors import InputError
from torsweep.provenance import PROVENANCE_FILE
from torsweep.stats.files import PLAN_FILE
from torsweep.storage.folders import SUMS_FILE

RESULTS = Path("results")

RUN_LEVELS = "{experiment}/{engine}/{era}/{network}/{seed}/{variant}"
PLAN_LEVELS = "{experiment}/{engine}/{era}/{network}/{plan}"
"""Levels of the tree, as wildcards of the pipeline's rules: a run's and a plan's."""


def parse_network_key(key: str) -> tuple[str, Mapping[str, object]]:
    """The name in ``paper+load=0.5`` and what its knobs set in the network's configuration.

    Raises InputError when a knob is not one of the network, or its level is no level.
    """
    name, *parts = key.split(JOINED_BY)
    overrides: dict[str, object] = {}
    for part in parts:
        knob, _, level = part.partition("=")
        if find_knob(knob).target != "network":
            accepted = ", ".join(other.name for other in KNOBS.values() if other.target == "network")
            raise InputError("does not change the network", key=key, value=knob, accepted=accepted)
        overrides.update(find_knob(knob).read(level))
    return name, overrides


def network_directory(key: str, seed: int | str) -> Path:
    """Where the network of this configuration and seed stands."""
    return RESULTS / "networks" / key / str(seed)


@dataclass(frozen=True)
class PlanPath:
    """What tells the results of one plan from those of another; the fields are levels of the tree."""

    experiment: str
    engine: str
    era: str
    network: str
    plan: str

    @classmethod
    def of(cls, wildcards: Any) -> Self:
        """The plan that the wildcards of a rule name."""
        return cls(wildcards.experiment, wildcards.engine, wildcards.era, wildcards.network, wildcards.plan)

    def stage(self, stage: str) -> Path:
        """The folder of a stage after the runs: tables, summaries, figures or publish."""
        return RESULTS / stage / self.experiment / self.engine / self.era / self.network / self.plan

    @property
    def tables(self) -> Path:
        """The manifest of the plan's tables."""
        return self.stage("tables") / PROVENANCE_FILE

    @property
    def summary(self) -> Path:
        """The manifest of the plan's summary."""
        return self.stage("summaries") / PLAN_FILE

    @property
    def page(self) -> Path:
        """The plan's results as a page to read."""
        return self.stage("reports") / f"{self.experiment}.html"

    @property
    def published(self) -> Path:
        """The manifest of what is published of the plan."""
        return self.stage("publish") / SUMS_FILE

    @property
    def bundle(self) -> Path:
        """The plan's published result as one file."""
        return self.stage("bundles") / f"{self.experiment}.zip"

    def run_directory(self, variant: Variant, seed: int | str) -> Path:
        """The folder of one run. Plans share it: a variant is the same run in every plan that has it."""
        runs = RESULTS / "runs" / self.experiment / self.engine / self.era
        return runs / variant.network_key(self.network) / str(seed) / variant.key
