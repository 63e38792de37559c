"""The tree of results: experiment, engine, era, network and plan have a level each, so that nothing mixes.

In: the names of these. Out: paths below ``results/``. Snakemake knows a folder by its manifest, which is
written last (:mod:`torsweep.storage`).

A plan of several sources (:mod:`torsweep.runsets.run`) makes missing runs of the model, each with a
repeat; runs of engines that run tor are taken as they are, unless ``runs=all`` asks for them too, with a
repeat of the baseline. Where finished runs of an engine that runs tor are compared with the model, the model
makes the same runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Self

from torsweep.config.experiment import Experiment
from torsweep.config.knobs import KNOBS, find_knob
from torsweep.config.replicates import numbers_by_level
from torsweep.config.variant import JOINED_BY, Plan, Variant
from torsweep.engines.registry import find_engine
from torsweep.engines.selection import require_engine
from torsweep.errors import InputError
from torsweep.provenance import PROVENANCE_FILE
from torsweep.runsets.run import RunSource, require_held
from torsweep.stats.statistic import PLAN_FILE
from torsweep.storage.folders import SUMS_FILE

RESULTS = Path("results")

STUDIES = Path("torsweep-studies")
"""Where studies are kept if no folder is named."""

RUN_LEVELS = "{experiment}/{engine}/{era}/{network}/{seed}/{variant}"
PLAN_LEVELS = "{experiment}/{engine}/{era}/{network}/{plan}"
"""Levels of the tree, as wildcards of the pipeline's rules: a run's and a plan's."""


def parse_network_key(key: str) -> tuple[str, Mapping[str, object]]:
    """The name in ``paper+load=0.5`` and what its knobs set in the network's configuration; InputError for
    a knob that is none of the network's, and for what is no level."""
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
    """The folder of the network of this configuration and seed."""
    return RESULTS / "networks" / key / str(seed)


@dataclass(frozen=True)
class PlanPath:
    """The results of a plan; the fields are levels of the tree."""

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


RunKey = tuple[Variant, int]
"""A variant of the plan, and the seed of a network."""


@dataclass(frozen=True)
class SourcesPlan:
    """A ``plan`` of ``experiment`` in each of ``sources``; ``folders`` names the place of a run."""

    experiment: Experiment
    plan: Plan
    sources: Sequence[RunSource]
    everything: bool

    def require(self) -> None:
        """InputError where this cannot be compared, ToolMissing where an engine cannot run here."""
        require_held(self.plan)
        for knob in numbers_by_level(self.experiment.replicates):
            problem = "cannot be compared with numbers of networks by level"
            raise InputError(problem, key="replicates", value=f"by {knob}", accepted="a number of networks")
        for source in self.sources:
            if find_engine(source.engine).name not in self.experiment.engines:
                problem, accepted = "is not listed by the experiment", ", ".join(self.experiment.engines)
                raise InputError(problem, key="engine", value=source.engine, accepted=accepted)
            if self.everything or not source.runs_tor:
                require_engine(source.engine)

    def folder(self, source: RunSource, key: RunKey) -> Path:
        """The folder of one run."""
        variant, seed = key
        above = RESULTS / source.tree / self.experiment.name / source.engine / self.experiment.era
        return above / variant.network_key(self.experiment.network) / str(seed) / source.variant(variant).key

    def made(self) -> list[Path]:
        """The folders of the runs that are made where they are missing; InputError where the model would be
        compared with runs of tor, of which none is finished."""
        keys = list(product(self.plan.variants, self.experiment.seeds))
        tor = [source for source in self.sources if source.runs_tor]
        if tor and not self.everything:
            keys = [key for key in keys if any(self._is_finished(source, key) for source in tor)]
            if not keys:
                problem = f"no run in {' or '.join(source.label for source in tor)} is finished"
                above = self.folder(tor[0], (self.plan.baseline, 0)).parents[2]
                raise InputError(problem, file=above, accepted="runs=all, to run them")
        return [
            self.folder(one, key)
            for source, key in product(self.sources, keys)
            for one in self._made_of(source, key)
        ]

    def finished(self) -> list[Path]:
        """The folders of finished runs that are taken as they are."""
        made = set(self.made())
        every = [one for source in self.sources for one in (source, source.repeated())]
        keys = product(every, product(self.plan.variants, self.experiment.seeds))
        folders = [self.folder(one, key) for one, key in keys if self._is_finished(one, key)]
        return [folder for folder in folders if folder not in made]

    def _is_finished(self, source: RunSource, key: RunKey) -> bool:
        return (self.folder(source, key) / PROVENANCE_FILE).is_file()

    def _made_of(self, source: RunSource, key: RunKey) -> Iterator[RunSource]:
        """The source of a run, its repeat, or both."""
        if not source.runs_tor:
            yield from (source, source.repeated())
        elif self.everything:
            # A repeat of each variant in a costly engine would double what a comparison costs.
            yield from (source, source.repeated()) if key[0] == self.plan.baseline else (source,)
