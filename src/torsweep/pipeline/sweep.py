"""What the pipeline makes: the files of each stage, from an experiment and the overrides of a user.

In: Snakemake's ``--config`` and the wildcards of its rules. Out: paths and arguments. A mistake of the
user ends the process with one line and the error's exit code, before any rule has run.
"""

from __future__ import annotations

import functools
import hashlib
import json
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Concatenate, NoReturn, ParamSpec, TypeVar

import torsweep
from torsweep.config.experiment import EXPERIMENTS_DIRECTORY, Experiment, load_experiment
from torsweep.config.fitting import require_fitting_networks
from torsweep.config.network import NetworkConfig, load_network_config, network_path
from torsweep.config.overrides import Overrides, experiment_overrides
from torsweep.config.variant import Variant
from torsweep.engines.prepare import run_settings
from torsweep.engines.run_spec import RUN_FILE
from torsweep.engines.selection import (
    AUTO,
    MODEL_ENGINE,
    choose_engine,
    find_engine,
    lacking,
    require_engine,
    version_of,
)
from torsweep.errors import InputError, OutputError, ToolMissing, TorsweepError
from torsweep.folder_lock import hold_folder
from torsweep.network.model import Network
from torsweep.network.sampling import input_paths
from torsweep.pipeline.duration import Slots, run_seconds
from torsweep.pipeline.failed_step import forget_failed_step, watch_disk
from torsweep.pipeline.protected import require_unprotected
from torsweep.pipeline.results_tree import (
    NETWORK_FILES,
    RESULTS,
    TABLE_FILES,
    Place,
    network_directory,
    network_key,
    parse_network_key,
)
from torsweep.pipeline.telling import hush
from torsweep.pipeline.traced import run_files
from torsweep.pipeline.watch import announce_runs
from torsweep.provenance import PROVENANCE_FILE, sha256_of_file
from torsweep.stats.files import SIDE_BY_SIDE_FILES, SUMMARY_FILES
from torsweep.storage.leftovers import sweep_tree
from torsweep.storage.published import EXPERIMENT_FILE
from torsweep.tor.series import SERIES as PATCHES
from torsweep.units import rounded_duration

FIGURE_SUFFIXES = ("pdf", "png", "csv")
RUN_RULE_PREFIX = "run"
"""The rules of rules/runs.smk, and no others, have names that begin so."""

_INNER_FOLDERS = ("hosts", "data", "template", "processes", "downloads", "logs")
"""Folders of other programs' files, thousands of them: no leftovers of torsweep's are there."""

PACKAGE = Path(torsweep.__file__).parent

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def stop(error: TorsweepError) -> NoReturn:
    """Print the one line of ``error`` and leave with its exit code.

    Snakemake turns other exceptions into its own report of several lines and exit code 1.
    """
    print(f"torsweep: {error}", file=sys.stderr, flush=True)
    raise SystemExit(error.exit_code)


def stopping_with_a_line(
    method: Callable[Concatenate[Any, Arguments], Result],
) -> Callable[Concatenate[Any, Arguments], Result]:
    """``method``, ending the process as :func:`stop` does where it raises a TorsweepError."""

    @functools.wraps(method)
    def stopping(self: Any, *arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        try:
            return method(self, *arguments, **named)
        except TorsweepError as error:
            stop(error)

    return stopping


class Sweep:
    """The experiments of this folder under one set of overrides.

    Methods that take ``wildcards`` are input functions of rules; they read the attributes that the
    paths of the results tree give (experiment, engine, era, network, plan, seed, variant).
    """

    @stopping_with_a_line
    def __init__(self, config: Mapping[str, Any]) -> None:
        if RESULTS.exists() and not RESULTS.is_dir():
            raise OutputError(f"{RESULTS}: is no folder; results go there")
        self.overrides = Overrides.read(config)
        self._experiment_overrides = experiment_overrides(config)
        self.networks_enough: Callable[[Place, tuple[int, ...]], int] = lambda place, looks: looks[-1]
        self.findings_files: Callable[[Place], list[str]] = lambda place: []
        self._experiments: dict[str, Experiment] = {}
        self._networks: dict[str, NetworkConfig] = {}

    def experiment(self, name: str) -> Experiment:
        """The experiment ``name`` with the overrides applied."""
        if name not in self._experiments:
            self._experiments[name] = load_experiment(name, self._experiment_overrides)
        return self._experiments[name]

    @stopping_with_a_line
    def targets(self, experiment_name: str) -> list[str]:
        """Every file of a plan, from its networks to its figures, as a user asks for it by the name of its
        experiment: so whichever of them is missing is made again."""
        experiment, place = self.asked(experiment_name)
        return self.plan_files(experiment, place)

    def asked(self, experiment_name: str) -> tuple[Experiment, Place]:
        """The experiment, and the place of the plan that the overrides ask for.

        Raises TorsweepError when the engine is missing or the networks do not fit.
        """
        experiment = self.experiment(experiment_name)
        choice = choose_engine(self.overrides.engine, experiment.engines)
        require_engine(choice.engine)
        plan = experiment.plan(self.overrides.plan)
        require_fitting_networks(experiment, plan.name)
        return experiment, Place(
            experiment.name, choice.engine, experiment.era, experiment.network, plan.name
        )

    def plan_files(self, experiment: Experiment, place: Place) -> list[str]:
        """Every file of the plan of ``experiment`` at ``place``, from its networks to its figures."""
        return [
            *([self.tor_marker] if find_engine(place.engine).runs_tor else []),
            *self._networks_of(place),
            *self.runs_on(place, self.seeds_of(place), run_files(experiment)),
            *(str(place.stage("tables") / name) for name in TABLE_FILES),
            *(str(place.stage("summaries") / name) for name in SUMMARY_FILES),
            *self._figures(experiment, place),
            *self.findings_files(place),
        ]

    @stopping_with_a_line
    def side_by_side(self, experiment_name: str) -> list[str]:
        """The comparison of a plan in every engine that can run here, and every file of each."""
        experiment = self.experiment(experiment_name)
        lacks = {name: lacking(name) for name in experiment.engines}
        engines = [choose_engine(name, [name]).engine for name, lack in lacks.items() if not lack]
        if len(engines) < 2:
            raise ToolMissing(f"no two engines to compare: {'; '.join(filter(None, lacks.values()))}")
        plan = experiment.plan(self.overrides.plan)
        levels = (experiment.era, experiment.network, plan.name)
        files = []
        for engine in engines:
            files += self.plan_files(experiment, Place(experiment.name, engine, *levels))
        folder = RESULTS.joinpath("side_by_side", experiment.name, "+".join(engines), *levels)
        figure = [f"stream_engines.{suffix}" for suffix in FIGURE_SUFFIXES]
        return [*files, *(str(folder / name) for name in (*SIDE_BY_SIDE_FILES, *figure))]

    def compared_summaries(self, wildcards: Any) -> list[str]:
        """The summaries that a comparison of engines reads; their checksums cover every file."""
        where = (wildcards.era, wildcards.network, wildcards.plan)
        places = [Place(wildcards.experiment, engine, *where) for engine in wildcards.engines.split("+")]
        return [str(place.stage("summaries") / name) for place in places for name in SUMMARY_FILES]

    @stopping_with_a_line
    def figures(self, wildcards: Any) -> list[str]:
        """Every figure of a plan, in each of its formats."""
        place = place_of(wildcards)
        return self._figures(self.experiment(place.experiment), place)

    def _figures(self, experiment: Experiment, place: Place) -> list[str]:
        folder = place.stage("figures")
        return [f"{folder}/{name}.{suffix}" for name in experiment.figures for suffix in FIGURE_SUFFIXES]

    @stopping_with_a_line
    def runs(self, wildcards: Any) -> list[str]:
        """Every file of every run of a plan: variants in order, the seeds of each together."""
        place = place_of(wildcards)
        return self.runs_on(place, self.seeds_of(place), run_files(self.experiment(place.experiment)))

    @stopping_with_a_line
    def run_records(self, wildcards: Any) -> list[str]:
        """What the runs of a plan say about themselves, in the same order."""
        place = place_of(wildcards)
        return self.runs_on(place, self.seeds_of(place), (RUN_FILE, PROVENANCE_FILE))

    def runs_on(self, place: Place, seeds: range, names: Sequence[str]) -> list[str]:
        """The files ``names`` of the runs of a plan on the networks of ``seeds``."""
        return [
            f"{place.run_directory(variant, seed)}/{name}"
            for variant in self.experiment(place.experiment).plan(place.plan).variants
            for seed in seeds
            for name in names
        ]

    @stopping_with_a_line
    def run_directories(self, wildcards: Any) -> str:
        """The directories of those runs, in the same order, as arguments of a command."""
        place = place_of(wildcards)
        return self.run_directories_on(place, self.seeds_of(place))

    def run_directories_on(self, place: Place, seeds: range) -> str:
        """The directories of the runs on the networks of ``seeds``.

        Bash expands the seeds: hundreds of paths would not fit into the one argument that Snakemake
        hands a whole command over in.
        """
        variants = self.experiment(place.experiment).plan(place.plan).variants
        braces = f"{{{seeds[0]}..{seeds[-1]}}}"
        return " ".join(str(place.run_directory(variant, braces)) for variant in variants)

    @stopping_with_a_line
    def networks(self, wildcards: Any) -> list[str]:
        """Every file of every network of a plan."""
        return self._networks_of(place_of(wildcards))

    def _networks_of(self, place: Place) -> list[str]:
        variants = self.experiment(place.experiment).plan(place.plan).variants
        keys = dict.fromkeys(network_key(place.network, variant) for variant in variants)
        return [
            f"{network_directory(key, seed)}/{name}"
            for key in keys
            for seed in self.seeds_of(place)
            for name in NETWORK_FILES
        ]

    def seeds_of(self, place: Place) -> range:
        """The seeds of a plan's networks, as many as its claims take where their number is left to them."""
        experiment = self.experiment(place.experiment)
        if not experiment.looks:
            return experiment.seeds
        return experiment.seeds_of(self.networks_enough(place, experiment.looks))

    def experiment_settings(self) -> dict[str, object]:
        """The overrides that are keys of experiment.yaml."""
        return dict(self._experiment_overrides)

    def number_settings(self) -> dict[str, object]:
        """The overrides that say how many networks there are."""
        return {
            key: value
            for key, value in self._experiment_overrides.items()
            if key == "replicates" or key.startswith("precision.")
        }

    @stopping_with_a_line
    def network_file(self, wildcards: Any) -> str:
        """The configuration file of the network ``paper+load=0.5``."""
        return str(network_path(parse_network_key(wildcards.network)[0]))

    def experiment_file(self, wildcards: Any) -> str:
        """The experiment.yaml of the experiment."""
        return str(EXPERIMENTS_DIRECTORY / wildcards.experiment / EXPERIMENT_FILE)

    @stopping_with_a_line
    def topologies(self, wildcards: Any) -> list[str]:
        """The derived or imported tables that the network is sampled from."""
        return [str(table) for table in input_paths(self.network(wildcards.network)).values()]

    def source_sha256(self, *names: str) -> str:
        """The hash of the Python files of packages and modules of torsweep."""
        paths = [PACKAGE / name for name in names]
        files = [
            file for path in paths for file in ([path] if path.is_file() else sorted(path.rglob("*.py")))
        ]
        hashes = [f"{file.relative_to(PACKAGE)} {sha256_of_file(file)}\n" for file in files]
        return hashlib.sha256("".join(hashes).encode()).hexdigest()

    @stopping_with_a_line
    def network_settings(self, wildcards: Any) -> str:
        """The network's whole configuration as text: when it changes, the network is sampled anew.

        The contents of files count, not their dates, so that a new comment costs no runs.
        """
        tables = {path: sha256_of_file(Path(path)) for path in self.topologies(wildcards)}
        version = Network.model_fields["format_version"].default
        config = self.network(wildcards.network).model_dump(mode="json")
        return json.dumps({"format_version": version, "config": config, **tables})

    def network(self, key: str) -> NetworkConfig:
        """The configuration of the network ``paper+load=0.5``."""
        if key not in self._networks:
            self._networks[key] = load_network_config(*parse_network_key(key))
        return self._networks[key]

    @stopping_with_a_line
    def network_arguments(self, wildcards: Any) -> str:
        """``--set key=value`` for each knob in the network's name."""
        return set_arguments(parse_network_key(wildcards.network)[1])

    @stopping_with_a_line
    def run_settings(self, wildcards: Any) -> str:
        """What run.json will say, but for its network: when it changes, the run is made anew."""
        experiment = self.experiment(wildcards.experiment)
        variant = self._variant(experiment, wildcards)
        settings = run_settings(experiment, wildcards.engine, wildcards.era, variant)
        return json.dumps(settings.model_dump(mode="json"), sort_keys=True)

    @stopping_with_a_line
    def engine_version(self, wildcards: Any) -> str:
        """What runs in the engine: another version of it makes every run anew."""
        return version_of(wildcards.engine)

    def engine_run(self, wildcards: Any, threads: int) -> str:
        """The command that runs a run directory; Shadow is told how many threads it may have."""
        engine = find_engine(wildcards.engine)
        command = f"{engine.command} run"
        return f"{command} --threads {threads}" if engine.takes_threads else command

    def _variant(self, experiment: Experiment, wildcards: Any) -> Variant:
        variant = experiment.variant(wildcards.variant)
        if variant.key != wildcards.variant:
            raise InputError(
                "a run is named by every knob of its experiment, in order",
                key="variant",
                value=wildcards.variant,
                accepted=variant.key,
            )
        if network_key(parse_network_key(wildcards.network)[0], variant) != wildcards.network:
            raise InputError(
                "the variant and its network disagree",
                key="variant",
                value=variant.key,
                accepted=wildcards.network,
            )
        return variant

    @stopping_with_a_line
    def begin(self, workflow: Any) -> None:
        """Claim the results folder, say what ``workflow``, Snakemake's, is about to run, and follow it.

        What killed pipelines left behind is removed. A second pipeline in the folder, or results that cannot
        be written, end the process here.
        """
        hold_folder(RESULTS)
        watch_disk(RESULTS)
        sweep_tree(RESULTS, but=_INNER_FOLDERS)
        require_unprotected(workflow.dag.needrun_jobs())
        forget_failed_step()
        hush(workflow.logger_manager.logger)
        planned = [job for job in workflow.dag.needrun_jobs() if job.rule.name.startswith(RUN_RULE_PREFIX)]
        slots = Slots.of(workflow)
        kinds: dict[tuple[str, str, str], list[Any]] = {}
        for job in planned:
            kind = (job.wildcards.experiment, job.wildcards.engine, job.wildcards.era)
            kinds.setdefault(kind, []).append(job)
        expected_s: dict[Path, float] = {}
        for (name, engine, era), jobs in kinds.items():
            networks = [job.wildcards.network for job in jobs]
            line = self.announcement(name, engine, era, networks, slots)
            print(f"torsweep: {line}", file=sys.stderr, flush=True)
            files = (Path(job.output.provenance) for job in jobs)
            expected_s |= dict(zip(files, self._expected_s(name, engine, networks, slots), strict=True))
        announce_runs(expected_s)

    def announcement(self, name: str, engine: str, era: str, networks: Sequence[str], slots: Slots) -> str:
        """What is about to run on each of ``networks``, why there, and about how long it takes."""
        experiment, why, instead = self.experiment(name), "", ""
        chosen = choose_engine(AUTO, experiment.engines) if self.overrides.engine == AUTO else None

        def lasting(which: str) -> str:
            return rounded_duration(sum(self._expected_s(name, which, networks, slots)))

        if chosen is not None and chosen.engine == engine:
            why = f" ({chosen.reason})"
            if engine != MODEL_ENGINE and MODEL_ENGINE in experiment.engines:
                instead = f"; engine={MODEL_ENGINE} takes about {lasting(MODEL_ENGINE)}"
        runs = f"{name}: {len(networks)} runs in {engine}{why}, era {era}"
        # In real time a run ends with its downloads, or with its duration.
        word = "at most" if find_engine(engine).real_time else "about"
        return f"{runs}: {word} {lasting(engine)} {slots.text}{instead}"

    def _expected_s(self, name: str, engine: str, networks: Sequence[str], slots: Slots) -> list[float]:
        """What a run on each of ``networks`` adds to the time that all of them take, in seconds."""
        experiment = self.experiment(name)
        run_s = (experiment.warm_up + experiment.measured) / 1e9
        at_once = min(slots.runs_at_once(engine), len(networks))
        return [run_seconds(engine, self.network(network), run_s) / at_once for network in networks]

    @property
    def tor_marker(self) -> str:
        """The empty file that says that tor has been built with these patches from this source."""
        files = [file for name in ("series", "*.patch") for file in sorted(PATCHES.glob(name))]
        told = [f"{self.overrides.tor_source or ''}\n", *(f"{sha256_of_file(file)}\n" for file in files)]
        name = hashlib.sha256("".join(told).encode()).hexdigest()[:12]
        return str(RESULTS / "tools" / "tor" / f"built-{name}")

    def tor_source_arguments(self, wildcards: Any) -> str:
        """``--source PATH`` when the user has named a source of tor."""
        source = self.overrides.tor_source
        return f"--source {shlex.quote(source)}" if source is not None else ""

    def run_arguments(self, wildcards: Any) -> str:
        """``--set key=value`` for each override that run.json depends on."""
        durations = {key: self._experiment_overrides.get(key) for key in ("warm_up", "measured")}
        return set_arguments({key: value for key, value in durations.items() if value is not None})


def set_arguments(values: Mapping[str, object]) -> str:
    """``--set key=value`` for each of ``values``, quoted for a shell."""
    return " ".join(f"--set {shlex.quote(f'{key}={value}')}" for key, value in values.items())


def place_of(wildcards: Any) -> Place:
    """The plan that the wildcards of a rule name."""
    return Place(wildcards.experiment, wildcards.engine, wildcards.era, wildcards.network, wildcards.plan)
