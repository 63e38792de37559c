"""Where the runs of a comparison stand, and what Snakemake makes of it.

In: the names that tell a plan's results from others. Out: run directories by series; input functions of the
rules in ``rules/compare.smk``. Repeats and replays have trees of their own beside ``results/runs``, with
the same levels below, so that no table of an experiment ever takes them for its runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self, cast, get_args

from torsweep.config.experiment import Experiment
from torsweep.config.tor_settings import TcpRules
from torsweep.config.variant import Variant
from torsweep.engines.run_spec import RUN_FILE
from torsweep.engines.selection import (
    MODEL_ENGINE,
    RUN_ENGINES,
    choose_engine,
    find_engine,
    lacking,
    levels_as_in,
    require_engine,
)
from torsweep.engines.table_files import CIRCUITS_FILE, PATHS_FILE
from torsweep.errors import InputError, ToolMissing
from torsweep.fidelity.matches import MODEL, MODEL_REPEAT, REFERENCE, REFERENCE_REPEAT, REPLAY, SERIES
from torsweep.formats.json_file import read_json
from torsweep.pipeline.paths import FIGURE_SUFFIXES, RESULTS, Paths, PlanPath, called_by_rules
from torsweep.provenance import PROVENANCE_FILE, sha256_of_file
from torsweep.stats.files import SIDE_BY_SIDE_FILES

TREES = {
    REFERENCE: "runs",
    MODEL: "runs",
    REPLAY: "replays",
    REFERENCE_REPEAT: "repeats",
    MODEL_REPEAT: "repeats",
}
"""The tree of each series below the results."""


COMPARISON_FILES = (
    "distances.csv",
    "cells.csv",
    "contrasts.csv",
    "curves.csv",
    "fidelity.json",
    "fidelity.md",
)
"""What stands in the folder of a comparison, beside its figures."""


@dataclass(frozen=True)
class Pair:
    """The two engines that are compared, the one that is judged first.

    The transport of cellsim is as in the other engine, or ``tcp`` in its place.
    """

    model: str
    reference: str
    tcp: TcpRules | None = None

    @classmethod
    def named(cls, model: str, reference: str) -> Self:
        """The pair of ``cellsim`` or ``cellsim+tcp=linux``, say, and a reference.

        Raises InputError when one is no engine, or the TCP none of the model's.
        """
        engine, _, tcp = model.partition("+tcp=")
        for key, name in (("model", engine), ("reference", reference)):
            if name not in RUN_ENGINES:
                raise InputError("is no engine", key=key, value=name, accepted=", ".join(RUN_ENGINES))
        if tcp and tcp not in get_args(TcpRules):
            raise InputError("is no TCP", key="tcp", value=tcp, accepted=", ".join(get_args(TcpRules)))
        return cls(engine, reference, cast(TcpRules, tcp) or None)

    @property
    def name(self) -> str:
        """The model as :meth:`named` reads it."""
        return f"{self.model}+tcp={self.tcp}" if self.tcp else self.model

    @property
    def folder(self) -> str:
        """The level of the tree that stands for both."""
        return f"{self.name}_against_{self.reference}"

    @property
    def series(self) -> tuple[str, ...]:
        """What there can be of the two: cellsim can replay circuits, over the reference's own TCP, and Shadow
        leaves those that tor chose."""
        paths = PATHS_FILE in find_engine(self.reference).files
        replays = self.model == MODEL_ENGINE and paths and self.tcp is None
        return tuple(one for one in SERIES if one != REPLAY or replays)

    def engine(self, series: str) -> str:
        """The engine of a series."""
        return self.reference if series in (REFERENCE, REFERENCE_REPEAT) else self.model

    def variant(self, series: str, variant: Variant) -> Variant:
        """``variant`` as the engine of a series runs it: in cellsim with the knobs of its transport."""
        if self.engine(series) != MODEL_ENGINE or series == REPLAY:
            return variant
        other = self.model if self.engine(series) == self.reference else self.reference
        return Variant((*variant.levels, *levels_as_in(other, self.tcp).items()))

    def tree(self, series: str) -> Path:
        """Where a series stands below the results. Replays on the circuits of two engines stand apart."""
        tree = Path(TREES[series])
        return tree / self.reference if series == REPLAY else tree

    def check(self) -> None:
        """InputError when the two are one, or neither has the TCP that is asked for."""
        if self.model == self.reference:
            raise InputError("is the reference too", key="model", value=self.model, accepted="another engine")
        if self.tcp and MODEL_ENGINE not in (self.model, self.reference):
            raise InputError("is of the model alone", key="tcp", value=self.tcp, accepted=MODEL_ENGINE)


def run_directory(series: str, pair: Pair, place: PlanPath, variant: Variant, seed: int | str) -> Path:
    """The folder of a run of ``series``; the engine of ``place`` does not count."""
    there = replace(place, engine=pair.engine(series))
    folder = there.run_directory(pair.variant(series, variant), seed)
    return RESULTS / pair.tree(series) / folder.relative_to(RESULTS / "runs")


def finished_runs(
    pair: Pair, place: PlanPath, variants: Sequence[Variant], seeds: Iterable[int | str]
) -> dict[str, list[Path]]:
    """The folders of all finished runs of the variants on the networks of ``seeds``, by series."""
    found: dict[str, list[Path]] = {series: [] for series in SERIES}
    for series, variant, seed in product(pair.series, variants, seeds):
        directory = run_directory(series, pair, place, variant, seed)
        if (directory / PROVENANCE_FILE).is_file():
            found[series].append(directory)
    return found


@called_by_rules
class FidelityPlan:
    """What a comparison is made of, under the overrides of a user.

    With ``compare=finished`` the runs of other engines than cellsim are taken as they stand, and none is
    started. Such a run that lacks a file is refused, because no rule may make it again; one without its
    record is not finished, and is left out.
    """

    def __init__(self, sweep: Paths) -> None:
        self.sweep = sweep
        self.only_finished = sweep.overrides.compare == "finished"

    def targets(self) -> list[str]:
        """Every file of the comparison: the runs that it makes, its tables, its text and its figures."""
        experiment = self.sweep.experiment(self.sweep.overrides.experiment)
        pair = self._pair(experiment)
        plan = experiment.plan(self.sweep.overrides.plan)
        place = PlanPath(experiment.name, pair.folder, experiment.era, experiment.network, plan.name)
        variants = plan.variants
        if self.only_finished:
            there = self._finished(pair, place, variants, experiment.seeds)
            variants = tuple(variant for variant in variants if variant.key in {name for name, _ in there})
            if not variants:
                engine = next(one for one in (pair.reference, pair.model) if one != MODEL_ENGINE)
                runs = replace(place, engine=engine).run_directory(plan.baseline, "*").parents[1]
                raise InputError(f"no run in {engine} is finished", file=runs)
        folder = place.stage("fidelity")
        figures = ["overview", *(f"curves/{variant.key}" for variant in variants)]
        names = SimpleNamespace(**asdict(place), model=pair.name, reference=pair.reference)
        self._given(names)
        return [
            *_files(self._wanted(names)),
            *(str(folder / name) for name in COMPARISON_FILES),
            *(f"{folder}/{name}.{suffix}" for name in figures for suffix in FIGURE_SUFFIXES),
        ]

    def _pair(self, experiment: Experiment) -> Pair:
        """The engines asked for; ``shadow`` beside another engine is the kind that is here, to be run."""
        tcp = self.sweep.overrides.tcp
        asked: list[str] = [self.sweep.overrides.model, self.sweep.overrides.reference]
        for engine in asked:
            if find_engine(engine).name not in experiment.engines:
                raise InputError(
                    f"does not list the engine {engine}",
                    file=experiment.name,
                    accepted="an experiment of both",
                )
        if not self.only_finished and any(find_engine(one).name != "shadow" for one in asked):
            asked = [choose_engine(engine, experiment.engines).engine for engine in asked]
        pair = replace(Pair.named(*asked), tcp=tcp)
        pair.check()
        for engine in asked:
            if engine == MODEL_ENGINE or not self.only_finished:
                require_engine(engine)
        return pair

    def _finished(
        self, pair: Pair, place: PlanPath, variants: Sequence[Variant], seeds: Iterable[int]
    ) -> set[tuple[str, int]]:
        """Keys of the variants and seeds for which every run that is needed exists."""
        waiting = [one for one in (REFERENCE, MODEL) if pair.engine(one) != MODEL_ENGINE]

        def is_there(series: str, variant: Variant, seed: int) -> bool:
            return (run_directory(series, pair, place, variant, seed) / PROVENANCE_FILE).is_file()

        return {
            (variant.key, seed)
            for variant, seed in product(variants, seeds)
            if all(is_there(series, variant, seed) for series in waiting)
        }

    def runs(self, wildcards: Any) -> list[str]:
        """Every file of every run that the comparison makes where it is missing."""
        return _files(self._wanted(wildcards))

    def given(self, wildcards: Any) -> dict[str, str]:
        """The checksum of each record of a run that is compared as it stands, by its folder.

        No rule makes these runs, so that they are no input of the comparison; this parameter tells when
        one of them changes.
        """
        return {str(folder): sha256_of_file(folder / PROVENANCE_FILE) for folder in self._given(wildcards)}

    def _given(self, wildcards: Any) -> list[Path]:
        """The folders of the runs that are compared as they stand; InputError when one lacks a file."""
        made = set(self._wanted(wildcards))
        folders = [folder for folder in self._compared(wildcards) if folder not in made]
        for folder in folders:
            tables = read_json(folder / PROVENANCE_FILE).get("tables", {})
            for file in (folder / name for name in (RUN_FILE, *tables)):
                if not file.is_file():
                    raise InputError(
                        "is missing from a finished run, which a comparison does not make",
                        file=file,
                        accepted="a run that is whole; or take its folder away",
                    )
        return folders

    def directories(self, wildcards: Any) -> str:
        """The folders of all runs that are compared, as arguments of a command: bash expands their braces."""
        seeds: dict[tuple[Path, str], list[str]] = {}
        for folder in self._compared(wildcards):
            seeds.setdefault((folder.parents[1], folder.name), []).append(folder.parent.name)
        return " ".join(
            f"{above}/{own[0] if len(own) == 1 else '{' + ','.join(own) + '}'}/{name}"
            for (above, name), own in seeds.items()
        )

    def _compared(self, wildcards: Any) -> list[Path]:
        experiment, pair, place = self._names(wildcards)
        variants = experiment.plan(wildcards.plan).variants
        standing = finished_runs(pair, place, variants, experiment.seeds)
        folders = [*self._wanted(wildcards), *(folder for found in standing.values() for folder in found)]
        return list(dict.fromkeys(folders))

    def _wanted(self, wildcards: Any) -> list[Path]:
        """The folders of the runs that the comparison makes where they are missing."""
        experiment, pair, place = self._names(wildcards)
        plan = experiment.plan(wildcards.plan)
        there = self._finished(pair, place, plan.variants, experiment.seeds)
        wanted = []
        for variant, seed in product(plan.variants, experiment.seeds):
            if self.only_finished and (variant.key, seed) not in there:
                continue
            circuits = run_directory(REFERENCE, pair, place, variant, seed) / CIRCUITS_FILE
            made = self._made(pair, baseline=variant == plan.baseline, circuits=circuits.is_file())
            wanted += [run_directory(one, pair, place, variant, seed) for one in made]
        return wanted

    def _names(self, wildcards: Any) -> tuple[Experiment, Pair, PlanPath]:
        experiment = self.sweep.experiment(wildcards.experiment)
        pair = Pair.named(wildcards.model, wildcards.reference)
        return (
            experiment,
            pair,
            PlanPath(experiment.name, pair.folder, wildcards.era, wildcards.network, wildcards.plan),
        )

    def _made(self, pair: Pair, *, baseline: bool, circuits: bool) -> list[str]:
        """The series whose runs are made where they are missing, of a variant on a network."""
        modelled = [one for one in pair.series if pair.engine(one) == MODEL_ENGINE]
        if self.only_finished:
            return [one for one in modelled if one != REPLAY or circuits]
        # A repeat of each variant in a costly engine would double what a comparison costs.
        repeats = () if baseline else (REFERENCE_REPEAT, MODEL_REPEAT)
        return [one for one in pair.series if one in modelled or one not in repeats]

    def replayed_run(self, wildcards: Any) -> list[str]:
        """The files of the run whose circuits are replayed; none if that run is taken as it is."""
        if self.only_finished:
            return []
        return _files([Path(self.replayed_directory(wildcards))])

    def replayed_record(self, wildcards: Any) -> str:
        """The checksum of the record of that run if it exists, because :meth:`replayed_run` does not notice
        when it changes."""
        file = Path(self.replayed_directory(wildcards)) / PROVENANCE_FILE
        return sha256_of_file(file) if self.only_finished and file.is_file() else ""

    def replayed_directory(self, wildcards: Any) -> str:
        """The folder of the run whose circuits are replayed."""
        levels = (wildcards.reference, wildcards.era, wildcards.network, wildcards.seed, wildcards.variant)
        return str(RESULTS.joinpath("runs", wildcards.experiment, *levels))


def _files(folders: Iterable[Path]) -> list[str]:
    return [f"{folder}/{PROVENANCE_FILE}" for folder in folders]


@called_by_rules
class SideBySidePlan:
    """The same streams in every engine that can run here, under the overrides of a user."""

    def __init__(self, paths: Paths) -> None:
        self.paths = paths

    def targets(self, experiment_name: str) -> list[str]:
        """The comparison of a plan in every engine that can run here, and what each is made of."""
        experiment = self.paths.experiment(experiment_name)
        lacks = {name: lacking(name) for name in experiment.engines}
        engines = [choose_engine(name, [name]).engine for name, lack in lacks.items() if not lack]
        if len(engines) < 2:
            raise ToolMissing(f"no two engines to compare: {'; '.join(filter(None, lacks.values()))}")
        levels = (experiment.era, experiment.network, experiment.plan(self.paths.overrides.plan).name)
        plans = [PlanPath(experiment.name, engine, *levels) for engine in engines]
        folder = RESULTS.joinpath("side_by_side", experiment.name, "+".join(engines), *levels)
        figure = [f"stream_engines.{suffix}" for suffix in FIGURE_SUFFIXES]
        files = [file for plan in plans for file in self.paths.plan_files(plan)]
        return [*files, *(str(folder / name) for name in (*SIDE_BY_SIDE_FILES, *figure))]

    def summaries(self, wildcards: Any) -> list[str]:
        """The manifests of the summaries that a comparison of engines reads."""
        levels = (wildcards.era, wildcards.network, wildcards.plan)
        engines = wildcards.engines.split("+")
        return [str(PlanPath(wildcards.experiment, engine, *levels).summary) for engine in engines]
