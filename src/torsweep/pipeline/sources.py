"""Which runs a plan of several sources consists of: which are made where they are missing, which are taken.

In: the plan and its sources (:mod:`torsweep.runsets.sources`). Out: the folders of runs.

Missing runs of the model are made, each with a repeat; those of engines that run tor are taken as they stand,
unless ``runs=all`` asks for them too, with a repeat of the baseline. Where finished runs of an engine that
runs tor are compared with the model, the model makes the same runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from torsweep.config.experiment import Experiment
from torsweep.config.plan import Plan
from torsweep.config.replicates import numbers_by_level
from torsweep.config.variant import Variant
from torsweep.engines.registry import find_engine
from torsweep.engines.selection import require_engine
from torsweep.errors import InputError
from torsweep.provenance import PROVENANCE_FILE
from torsweep.runsets.sources import RunSource, require_held

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
        """InputError where this cannot be compared, ToolMissing where an engine that is to run cannot run
        here."""
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
        above = Path("results") / source.tree / self.experiment.name / source.engine / self.experiment.era
        return above / variant.network_key(self.experiment.network) / str(seed) / source.variant(variant).key

    def made(self) -> list[Path]:
        """The folders of the runs that are made where they are missing.

        Raises InputError where the model would be compared with runs of tor, of which none is finished.
        """
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

    def standing(self) -> list[Path]:
        """The folders of finished runs that are taken as they stand."""
        made = set(self.made())
        every = [one for source in self.sources for one in (source, source.repeated())]
        keys = product(every, product(self.plan.variants, self.experiment.seeds))
        folders = [self.folder(one, key) for one, key in keys if self._is_finished(one, key)]
        return [folder for folder in folders if folder not in made]

    def _is_finished(self, source: RunSource, key: RunKey) -> bool:
        return (self.folder(source, key) / PROVENANCE_FILE).is_file()

    def _made_of(self, source: RunSource, key: RunKey) -> Iterator[RunSource]:
        """The source itself, or its repeat, or both: of which a run is made."""
        if not source.runs_tor:
            yield from (source, source.repeated())
        elif self.everything:
            # A repeat of each variant in a costly engine would double what a comparison costs.
            yield from (source, source.repeated()) if key[0] == self.plan.baseline else (source,)
