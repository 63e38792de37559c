"""Which files each rule of the pipeline waits for.

In: Snakemake's ``--config`` and the wildcards of its rules. Out: paths in the tree of results
(:mod:`torsweep.pipeline.tree`).
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from torsweep.config.experiment import EXPERIMENTS_DIRECTORY, Experiment, load_experiment
from torsweep.config.network import NetworkConfig, load_network_config, network_path
from torsweep.config.overrides import Overrides, experiment_overrides
from torsweep.config.tors import TorSource
from torsweep.config.variant import Variant
from torsweep.engines.registry import find_engine
from torsweep.engines.run_settings import require_knobs
from torsweep.engines.run_spec import RUN_FILE
from torsweep.engines.selection import choose_engine, require_engine
from torsweep.errors import InputError, OutputError, TorsweepError
from torsweep.formats.files import read_json
from torsweep.home import CHECKOUT, find
from torsweep.network.model import NETWORK_FILE
from torsweep.network.sampling import input_paths
from torsweep.pipeline.builds import Builds, marker
from torsweep.pipeline.checks import experiment_questions, require_answerable, require_fitting_networks
from torsweep.pipeline.tree import RESULTS, PlanPath, SourcesPlan, network_directory, parse_network_key
from torsweep.provenance import PROVENANCE_FILE
from torsweep.runsets.plan_tables import SOURCES_JOINED_BY
from torsweep.runsets.run import SEPARATOR, joined, parse_sources
from torsweep.storage.folders import EXPERIMENT_FILE
from torsweep.units import NANOSECONDS_PER, format_quantity

FIGURE_SUFFIXES = ("pdf", "png", "csv")


def _ships(file: str) -> bool:
    """Whether ``file`` was found in the checkout by a pipeline that runs elsewhere."""
    return Path(file).is_relative_to(CHECKOUT)


def stop(error: TorsweepError) -> NoReturn:
    """End the process with the one line of ``error`` and its exit code: Snakemake would report another
    exception over many lines."""
    print(f"torsweep: {error}", file=sys.stderr, flush=True)
    raise SystemExit(error.exit_code)


def _require_public_tor(file: Path) -> None:
    """InputError for a file of the public network that cannot be read."""
    from torsweep.stats.likeness import public_quantiles  # Statistics take a second to load.

    public_quantiles(file)


Methods = TypeVar("Methods", bound=type)


def called_by_rules(methods: Methods) -> Methods:
    """A class whose public methods rules call: each ends the process (:func:`stop`) at a TorsweepError."""
    for name, method in list(vars(methods).items()):
        if callable(method) and (name == "__init__" or not name.startswith("_")):
            setattr(methods, name, _stopping(method))
    return methods


def _stopping(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def stopping(*arguments: Any, **named: Any) -> Any:
        try:
            return method(*arguments, **named)
        except TorsweepError as error:
            stop(error)

    return stopping


@called_by_rules
class Paths:
    """The files of this folder's experiments under one set of overrides.

    Methods that take ``wildcards`` are input functions of rules. Where ``planning``, nothing will run, and an
    engine that cannot run here is planned as any.
    """

    def __init__(self, config: Mapping[str, Any], *, planning: Callable[[], bool] = lambda: False) -> None:
        self.planning = planning
        if RESULTS.exists() and not RESULTS.is_dir():
            raise OutputError(f"{RESULTS}: is no folder; results go there")
        self.overrides = Overrides.read(config)
        self.experiment_settings = experiment_overrides(config)
        """The overrides that are keys of experiment.yaml."""
        self.builds = Builds(self.overrides.tor_source)
        self._skipped: set[str] = set()
        self._experiments: dict[str, Experiment] = {}
        self._own_experiment = functools.cache(load_experiment)
        """An experiment as its file has it, by its name."""
        self._require_public_tor = functools.cache(_require_public_tor)
        self._networks: dict[str, NetworkConfig] = {}

    def experiment(self, name: str) -> Experiment:
        """The experiment ``name`` with the overrides applied."""
        if name not in self._experiments:
            self._experiments[name] = load_experiment(name, self.experiment_settings)
        return self._experiments[name]

    def other_durations(self, name: str) -> dict[str, int]:
        """The warm-up and the measured time of the experiment ``name`` that overrides have changed, in ns."""
        if not {"warm_up", "measured"} & set(self.experiment_settings):
            return {}
        experiment, own = self.experiment(name), self._own_experiment(name)
        durations = {"warm_up": experiment.warm_up, "measured": experiment.measured}
        return {key: value for key, value in durations.items() if value != getattr(own, key)}

    def require_kept(self, wildcards: Any) -> None:
        """InputError where a finished run would be lost to a try-out: unasked, one of other durations is
        replaced only if it was a try-out itself, by one that is no shorter."""
        levels = ("experiment", "engine", "era", "network", "seed", "variant")
        folder = RESULTS.joinpath("runs", *(getattr(wildcards, level) for level in levels))
        if self.overrides.replace == "yes" or not (folder / PROVENANCE_FILE).is_file():
            return
        try:
            run = read_json(folder / RUN_FILE)
            measured_ns = (run["warm_up_ns"], run["duration_ns"] - run["warm_up_ns"])
        except (InputError, KeyError, TypeError):
            return  # What cannot be read is no finished run.
        experiment = self.experiment(wildcards.experiment)
        durations = (experiment.warm_up, experiment.measured)
        if durations == measured_ns:
            return
        own = self._own_experiment(wildcards.experiment)
        if measured_ns != (own.warm_up, own.measured) and durations[1] >= measured_ns[1]:
            return
        warm_up, measured = (format_quantity(ns, NANOSECONDS_PER) for ns in measured_ns)
        problem = f"is a finished run (warm_up {warm_up}, measured {measured}) that this would replace"
        accepted = f"warm_up='{warm_up}' measured='{measured}'; or replace=yes to run it again"
        value = format_quantity(experiment.measured, NANOSECONDS_PER)
        raise InputError(problem, file=folder, key="measured", value=value, accepted=accepted)

    def network(self, key: str) -> NetworkConfig:
        """The configuration of the network ``paper+load=0.5``."""
        if key not in self._networks:
            self._networks[key] = load_network_config(*parse_network_key(key))
        return self._networks[key]

    def _asked(self, experiment_name: str) -> PlanPath:
        """The plan of the experiment that the overrides ask for, in an engine that can run here."""
        experiment = self.experiment(experiment_name)
        require_answerable(experiment)
        plan = experiment.plan(self.overrides.plan)
        if SEPARATOR in self.overrides.engine:
            sources = parse_sources(self.overrides.engine)
            asked = PlanPath(experiment.name, joined(sources), experiment.era, experiment.network, plan.name)
            self.sources_plan(asked).require()
            require_fitting_networks(experiment, plan.name)
            return asked
        choice = choose_engine(self.overrides.engine, experiment.engines)
        if not self.planning():
            require_engine(choice.engine)
        require_knobs(choice.engine, plan.baseline)
        require_fitting_networks(experiment, plan.name)
        if find_engine(choice.engine).runs_tor:
            self.builds.require_playable(experiment, plan)
        return PlanPath(experiment.name, choice.engine, experiment.era, experiment.network, plan.name)

    def sources_plan(self, plan: Any) -> SourcesPlan:
        """The runs of a plan of several sources, which the engine's name joins."""
        experiment = self.experiment(plan.experiment)
        sources = parse_sources(plan.engine)
        return SourcesPlan(experiment, experiment.plan(plan.plan), sources, self.overrides.runs == "all")

    def targets(self, experiment_name: str) -> list[str]:
        """The page of a plan and all folders that it is made from: one that is gone is made again."""
        return self._plan_files(self._asked(experiment_name))

    def _plan_files(self, plan: PlanPath) -> list[str]:
        """The manifest of each network, run and stage of a plan, its figures, and its page.

        Summaries come late: InputError here for a file of the public network that cannot be read.
        """
        if self.overrides.live_tor is not None:
            self._require_public_tor(self.overrides.live_tor)
        return [
            *self.tor(plan),
            *self.networks(plan),
            *self.runs(plan),
            str(plan.tables),
            str(plan.summary),
            *self.figures(plan),
            str(plan.page),
        ]

    def pages(self, experiment_names: list[str]) -> list[str]:
        """The page of each experiment that has the plan and can run there, and what it is made of."""
        return [file for plan in self._possible(experiment_names) for file in self._plan_files(plan)]

    def bundles(self, experiment_names: list[str]) -> list[str]:
        """The published folder and the zip of each of these experiments that can run."""
        made = [(plan.published, plan.bundle) for plan in self._possible(experiment_names)]
        return [*self.pages(experiment_names), *(str(file) for files in made for file in files)]

    def _possible(self, names: list[str]) -> list[PlanPath]:
        """The plan of each experiment that can run; if none can, raise the first one's error."""
        if self.overrides.experiment is not None:
            return [self._asked(self.overrides.experiment)]
        plans: list[PlanPath] = []
        refused: dict[str, TorsweepError] = {}
        for name in names:
            try:
                plans.append(self._asked(name))
            except TorsweepError as error:
                refused[name] = error
        if refused and not plans:
            raise next(iter(refused.values()))
        for name in refused.keys() - self._skipped:
            print(f"torsweep: {name} is left out: {refused[name]}", file=sys.stderr, flush=True)
        self._skipped |= refused.keys()
        return plans

    def figures(self, plan: Any) -> list[str]:
        """Every figure of a plan, in each of its formats."""
        folder = PlanPath.of(plan).stage("figures")
        names = self.experiment(plan.experiment).figures
        return [f"{folder}/{name}.{suffix}" for name in names for suffix in FIGURE_SUFFIXES]

    def runs(self, plan: Any) -> list[str]:
        """The manifest of every run of a plan: variants in order, the seeds of each together. Of several
        sources, that of the runs that are made if they are missing."""
        if SOURCES_JOINED_BY in plan.engine:
            return [f"{run}/{PROVENANCE_FILE}" for run in self.sources_plan(plan).made()]
        experiment, folder = self.experiment(plan.experiment), PlanPath.of(plan).run_directory
        return [
            f"{folder(one, seed)}/{PROVENANCE_FILE}"
            for one in self.variants(plan)
            for seed in experiment.own_seeds(one)
        ]

    def variants(self, plan: Any) -> tuple[Variant, ...]:
        """The variants of a plan."""
        return tuple(self.experiment(plan.experiment).plan(plan.plan).variants)

    def networks(self, plan: Any) -> list[str]:
        """The manifest of every network of a plan."""
        seeds_of = self.network_seeds(plan).items()
        return [f"{network_directory(key, seed)}/{NETWORK_FILE}" for key, seeds in seeds_of for seed in seeds]

    def network_seeds(self, plan: Any) -> Mapping[str, Sequence[int]]:
        """The seeds of a plan's networks by the network's key; of several sources, those of their runs."""
        if SOURCES_JOINED_BY in plan.engine:
            of_sources = self.sources_plan(plan)
            seeds_of: dict[str, set[int]] = {}
            for run in (*of_sources.made(), *of_sources.finished()):
                seeds_of.setdefault(run.parents[1].name, set()).add(int(run.parent.name))
            return {key: sorted(seeds) for key, seeds in seeds_of.items()}
        own_seeds = self.experiment(plan.experiment).own_seeds
        return {one.network_key(plan.network): own_seeds(one) for one in self.variants(plan)}

    def experiment_file(self, wildcards: Any) -> str:
        """The experiment.yaml of the experiment."""
        return str(find(EXPERIMENTS_DIRECTORY / wildcards.experiment / EXPERIMENT_FILE))

    def live_tor(self, wildcards: Any) -> list[str]:
        """The file of the public network that the user gives, if any."""
        file = self.overrides.live_tor
        return [] if file is None else [str(file)]

    def run_experiment(self, wildcards: Any) -> list[str]:
        """The experiment.yaml of a run, unless it ships with the checkout: see :meth:`network_inputs`."""
        file = self.experiment_file(wildcards)
        return [] if _ships(file) else [file]

    def network_inputs(self, wildcards: Any) -> list[str]:
        """The configuration of a network, and the tables that it is sampled from.

        What a study has from the checkout is left out: the contents of all files are parameters of the rule,
        and a checkout that has moved must cost no runs.
        """
        config = network_path(parse_network_key(wildcards.network)[0])
        return [file for file in (str(config), *self.topologies(wildcards)) if not _ships(file)]

    def topologies(self, wildcards: Any) -> list[str]:
        """The derived or imported tables that the network is sampled from."""
        return [str(table) for table in input_paths(self.network(wildcards.network)).values()]

    def tor(self, wildcards: Any) -> list[str]:
        """The markers of the builds of tor that a run, or a plan's runs, need; none for several sources."""
        if SOURCES_JOINED_BY in wildcards.engine:
            return []
        variant = getattr(wildcards, "variant", None)
        variants = [one.key for one in self.variants(wildcards)] if variant is None else [variant]
        keys = [key for one in variants for key in self.tor_keys(wildcards, one).values()]
        return [marker(key) for key in dict.fromkeys(keys)]

    def tor_keys(self, wildcards: Any, variant: str) -> dict[str, str]:
        """The key of each build of tor in a run of ``variant``, by the name of the tor; none in a model."""
        if not find_engine(wildcards.engine).runs_tor:
            return {}
        experiment = self.experiment(wildcards.experiment)
        return self.builds.keys(experiment, experiment.variant(variant))

    def tor_source(self, key: str) -> TorSource:
        """The source of the build of tor with ``key``."""
        return self.builds.source_of(key, self._readable())

    def _readable(self) -> Iterator[Experiment]:
        for name in experiment_questions():
            with suppress(TorsweepError):
                yield self.experiment(name)
