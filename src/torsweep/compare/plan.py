"""What Snakemake makes of a comparison.

In: Snakemake's ``--config`` and the wildcards of the rules in ``rules/compare.smk``. Out: which runs a
comparison waits for, and what its commands are told.

Without ``sources`` every source with finished runs is compared, and nothing is run. With them, the missing
runs of the model are made, each with a repeat; those of engines that run tor are taken as they stand, unless
``compare=all`` asks for them too, with a repeat of the baseline. Where finished
runs of an engine that runs tor are compared with the model, the model makes the same runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from torsweep.compare.comparison import COMPARISON_FILE
from torsweep.compare.sources import (
    REPEATS,
    RUNS,
    Key,
    Source,
    finished_runs,
    finished_sources,
    parse_sources,
    require_same_networks,
    usual_network,
)
from torsweep.config.experiment import Experiment, Plan
from torsweep.engines.selection import find_engine, require_engine
from torsweep.engines.table_files import CIRCUITS_FILE
from torsweep.errors import InputError
from torsweep.pipeline.arguments import set_arguments
from torsweep.pipeline.paths import RESULTS, Paths, called_by_rules
from torsweep.provenance import PROVENANCE_FILE, sha256_of_file

JOINED_BY = "_vs_"
"""Stands between the sources in the name of a comparison's folder."""

ANY_NETWORK = "any"
"""Takes the place of a network's name when each source is taken on the networks on which it has run."""


@dataclass(frozen=True)
class Asked:
    """The comparison that a rule's wildcards name; no ``network``: each source's usual one."""

    experiment: Experiment
    plan: Plan
    sources: tuple[Source, ...]
    network: str | None
    seeds: range | None

    def finished(self, source: Source, series: str = RUNS) -> dict[Key, Path]:
        """The folders of the source's finished runs that are compared."""
        network = self.network or usual_network(source, self.experiment, self.plan)
        return finished_runs(source, self.experiment, self.plan, network, self.seeds, series)


@called_by_rules
class ComparisonPlan:
    """What comparisons are made of, under the overrides of a user."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._everything = paths.overrides.compare == "all"

    def targets(self) -> list[str]:
        """The comparison that the overrides ask for, its figures, and every run that it makes."""
        overrides = self._paths.overrides
        experiment = self._experiment(overrides.experiment)
        plan = experiment.plan(overrides.plan)
        if overrides.sources is None:
            sources = finished_sources(experiment, plan, overrides.network)
            network = overrides.network or ANY_NETWORK
        else:
            sources, network = parse_sources(overrides.sources), experiment.network
            self._require(sources, experiment)
        labels = JOINED_BY.join(source.label for source in sources)
        folder = RESULTS.joinpath("compare", experiment.name, labels, experiment.era, network, plan.name)
        asked = self._asked_of(experiment, plan, sources, network)
        made = [f"{run}/{PROVENANCE_FILE}" for run in self._made(asked)]
        return [*made, str(folder / COMPARISON_FILE), str(folder / "figures")]

    def _require(self, sources: tuple[Source, ...], experiment: Experiment) -> None:
        """Raise where the experiment does not list an engine, or one that is to run cannot run here."""
        for source in sources:
            if find_engine(source.engine).name not in experiment.engines:
                problem, accepted = "is not listed by the experiment", ", ".join(experiment.engines)
                raise InputError(problem, key="sources", value=source.engine, accepted=accepted)
            if self._everything or not source.runs_tor:
                require_engine(source.engine)

    def _experiment(self, name: str) -> Experiment:
        experiment = self._paths.experiment(name)
        require_same_networks(experiment)
        return experiment

    def _asked(self, wildcards: Any) -> Asked:
        experiment = self._experiment(wildcards.experiment)
        sources = parse_sources(wildcards.sources.replace(JOINED_BY, ","))
        return self._asked_of(experiment, experiment.plan(wildcards.plan), sources, wildcards.network)

    def _asked_of(
        self, experiment: Experiment, plan: Plan, sources: tuple[Source, ...], network: str
    ) -> Asked:
        overrides = self._paths.overrides
        chosen = overrides.replicates is not None or overrides.first_seed is not None
        limited = overrides.sources is not None or (chosen and network != ANY_NETWORK)
        seeds = experiment.seeds if limited else None
        return Asked(experiment, plan, sources, None if network == ANY_NETWORK else network, seeds)

    def runs(self, wildcards: Any) -> list[str]:
        """The manifest of every run that the comparison makes where it is missing."""
        return [f"{run}/{PROVENANCE_FILE}" for run in self._made(self._asked(wildcards))]

    def given(self, wildcards: Any) -> dict[str, str]:
        """The checksum of the manifest of each run that is compared as it stands, by its folder.

        No rule makes these runs for the comparison, so that they are no input of it; this parameter tells
        when one of them changes.
        """
        asked = self._asked(wildcards)
        made = set(self._made(asked))
        every = product(asked.sources, (RUNS, REPEATS))
        standing = [run for source, series in every for run in asked.finished(source, series).values()]
        return {str(run): sha256_of_file(run / PROVENANCE_FILE) for run in standing if run not in made}

    def arguments(self, wildcards: Any) -> str:
        """What is asked of ``torsweep results compare``."""
        asked = self._asked(wildcards)
        sources = ",".join(source.label for source in asked.sources)
        parts = [f"--sources {sources}", set_arguments(self._paths.experiment_settings)]
        if asked.network is not None:
            parts.append(f"--network {asked.network}")
        if asked.seeds is not None:
            parts.append(f"--seeds {asked.seeds[0]}-{asked.seeds[-1]}")
        return " ".join(filter(None, parts))

    def _made(self, asked: Asked) -> list[Path]:
        """The folders of the runs that the comparison makes where they are missing."""
        if self._paths.overrides.sources is None or asked.network is None or asked.seeds is None:
            return []
        keys = list(product(asked.plan.variants, asked.seeds))
        tor = [source for source in asked.sources if source.runs_tor]
        if tor and not self._everything:
            standing = {key for source in tor for key in asked.finished(source)}
            keys = [key for key in keys if key in standing]
            if not keys:
                problem = f"no run in {' or '.join(source.label for source in tor)} is finished"
                accepted = "compare=all, to run them"
                raise InputError(problem, file=tor[0].above(asked.experiment), accepted=accepted)
        return [
            source.folder(asked.experiment, asked.network, key, series)
            for source, key in product(asked.sources, keys)
            for series in self._series(source, key, asked)
        ]

    def _series(self, source: Source, key: Key, asked: Asked) -> Iterator[str]:
        """The series of which a source's run is made."""
        if source.replay:
            original = Source(source.replay).folder(asked.experiment, str(asked.network), key)
            if self._everything or (original / CIRCUITS_FILE).is_file():
                yield RUNS
        elif not source.runs_tor:
            yield from (RUNS, REPEATS)
        elif self._everything:
            # A repeat of each variant in a costly engine would double what a comparison costs.
            yield from (RUNS, REPEATS) if key[0] == asked.plan.baseline else (RUNS,)

    def replayed_run(self, wildcards: Any) -> list[str]:
        """The manifest of the run whose circuits are replayed; none if that run is taken as it is."""
        return [f"{self.replayed_directory(wildcards)}/{PROVENANCE_FILE}"] if self._everything else []

    def replayed_record(self, wildcards: Any) -> str:
        """The checksum of that manifest if it exists, because :meth:`replayed_run` does not notice when it
        changes."""
        file = Path(self.replayed_directory(wildcards)) / PROVENANCE_FILE
        return sha256_of_file(file) if not self._everything and file.is_file() else ""

    def replayed_directory(self, wildcards: Any) -> str:
        """The folder of the run whose circuits are replayed."""
        levels = (wildcards.replayed, wildcards.era, wildcards.network, wildcards.seed, wildcards.variant)
        return str(RESULTS.joinpath("runs", wildcards.experiment, *levels))
