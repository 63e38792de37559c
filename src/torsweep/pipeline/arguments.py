"""The arguments of rules' commands, and what their jobs ask of a machine.

In: the wildcards of a rule. Out: arguments as text for a shell; texts that change when a job is to be done
anew; megabytes, minutes and cores, worked out from a run's network by its engine. A scheduler kills a job
that exceeds them; a profile of a cluster then tries it again, with more.
"""

from __future__ import annotations

import functools
import json
import math
import shlex
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from torsweep.config.replicates import numbers_by_level
from torsweep.engines.programs import files_sha256
from torsweep.engines.registry import find_engine
from torsweep.engines.run_settings import run_settings
from torsweep.engines.selection import version_of
from torsweep.errors import InputError, ToolMissing
from torsweep.home import shown
from torsweep.network.model import Network
from torsweep.pipeline.builds import marker
from torsweep.pipeline.figures import figure_module
from torsweep.pipeline.paths import Paths, called_by_rules
from torsweep.pipeline.tree import parse_network_key
from torsweep.provenance import PROVENANCE_FILE, sha256_of_file
from torsweep.runsets.plan_tables import SOURCES_JOINED_BY
from torsweep.source_keys import sources_key
from torsweep.stats.summarize import analysis_modules
from torsweep.tor.torrc import told_to_tor
from torsweep.units import NANOSECONDS_PER, SECOND_NS, format_quantity

BESIDE_MB = 600
"""Memory of the processes around the engine: two of Snakemake's under Slurm, 154 MB each, and one more."""

NETWORK_BYTES_PER_HOST = 3_000
"""Memory of sampling: 2 KB a host, measured at 1,253 to 600,000 hosts, and half as much again."""

BESIDE_MIN = 5
"""Minutes for the same, on a busy file system."""

TIME_MARGIN = 4
"""So many times the measured time may a run take: a node can be half as fast, and shared."""


def set_arguments(values: Mapping[str, object]) -> str:
    """``--set key=value`` for each of ``values``, quoted for a shell."""
    return " ".join(f"--set {shlex.quote(f'{key}={value}')}" for key, value in values.items())


def source_key(*names: str) -> Callable[[Any], str]:
    """A parameter of rules: the key of what modules and packages of torsweep load, so that a change in it
    does their jobs anew. It is worked out only for jobs, not whenever rules are read."""
    return lambda wildcards: _source_key(*(f"torsweep/{name}" for name in names))


_source_key = functools.cache(sources_key)


@called_by_rules
class Arguments:
    """Parameters and resources of rules."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths

    def network_settings(self, wildcards: Any) -> str:
        """The network's whole configuration, and the contents of its files, as text; a change samples it
        anew."""
        tables = {shown(path): sha256_of_file(Path(path)) for path in self._paths.topologies(wildcards)}
        version = Network.model_fields["format_version"].default
        config = self._paths.network(wildcards.network).model_dump(mode="json")
        return json.dumps({"format_version": version, "config": config, **tables})

    def network_name(self, wildcards: Any) -> str:
        """The name of the network's configuration: ``paper`` of ``paper+load=0.5``."""
        return parse_network_key(wildcards.network)[0]

    def network_memory_mb(self, wildcards: Any, attempt: int) -> int:
        """The memory that sampling a network may take, in MB."""
        hosts = self._paths.network(wildcards.network).host_count
        return (BESIDE_MB + math.ceil(hosts * NETWORK_BYTES_PER_HOST / 1_000_000)) * attempt

    def network_levels(self, wildcards: Any) -> str:
        """``--set key=value`` for each knob in the network's name."""
        return set_arguments(parse_network_key(wildcards.network)[1])

    def run_settings(self, wildcards: Any) -> str:
        """The content of run.json without its network, and tor's options; a change makes the run again."""
        experiment = self._paths.experiment(wildcards.experiment)
        variant = experiment.variant(wildcards.variant)
        key = variant.network_key(parse_network_key(wildcards.network)[0])
        if variant.key != wildcards.variant:
            problem, accepted = "a run is named by every knob of its experiment, in order", variant.key
            raise InputError(problem, key="variant", value=wildcards.variant, accepted=accepted)
        if key != wildcards.network:
            problem, accepted = "the variant and its network disagree", wildcards.network
            raise InputError(problem, key="variant", value=variant.key, accepted=accepted)
        settings = run_settings(experiment, wildcards.engine, wildcards.era, variant)
        document = settings.model_dump(mode="json")
        options = told_to_tor(settings.tor) if find_engine(wildcards.engine).runs_tor else {}
        document["tor_options"] = options
        # What the names of levels mean: run.json has it only with the names of hosts.
        if "options" in dict(variant.levels):
            document["given"] = experiment.bundle(variant).model_dump(mode="json")
        if programs := experiment.programs_of(variant):
            document["programs"] = [program.model_dump(mode="json") for program in programs]
            document["files"] = files_sha256(experiment, variant)
        if "tor" in dict(variant.levels):
            tors = experiment.tors_of(variant)
            document["mix"] = {**asdict(tors), "on": tors.on.model_dump(mode="json")}
        return json.dumps(document, sort_keys=True)

    def run_tor(self, wildcards: Any) -> str:
        """``--tor NAME=FILE`` for each tor of a run, where the engine runs tor: the file names the build."""
        keys = self._paths.tor_keys(wildcards, wildcards.variant)
        return " ".join(f"--tor {name}={shlex.quote(marker(key))}" for name, key in keys.items())

    def run_durations(self, wildcards: Any) -> str:
        """``--set key=value`` for each duration that is not the experiment's own.

        Snakemake asks this before anything runs: InputError where a finished run would be lost.
        """
        self._paths.require_kept(wildcards)
        durations = self._paths.other_durations(wildcards.experiment)
        return set_arguments({key: format_quantity(ns, NANOSECONDS_PER) for key, ns in durations.items()})

    def engine_version(self, wildcards: Any) -> str:
        """The versions of engine and tor in a run; a change makes the run again."""
        keys = self._paths.tor_keys(wildcards, wildcards.variant)
        try:
            return version_of(wildcards.engine, tuple(keys.values()))
        except ToolMissing:
            if not self._paths.planning():
                raise
            return "not here"

    def engine_run(self, wildcards: Any, threads: int) -> str:
        """The command that runs a run directory; some engines are told how many threads they may have."""
        engine = find_engine(wildcards.engine)
        command = f"{engine.command} run"
        return f"{command} --threads {threads}" if engine.takes_threads else command

    def tor_source(self, wildcards: Any, output: Any) -> str:
        """The options of ``torsweep tor build`` that say what a build is made of.

        A parameter that takes ``output`` is not compared by Snakemake with that of the standing build, whose
        name stands for its content: the same content may be named in another way.
        """
        return shlex.join(self._paths.tor_source(wildcards.build).arguments())

    def runs(self, wildcards: Any) -> list[str]:
        """The directories of a plan's runs, variants in order and the seeds of each together."""
        if SOURCES_JOINED_BY in wildcards.engine:
            plan = self._paths.sources_plan(wildcards)
            return [str(run) for run in (*plan.made(), *plan.finished())]
        return [str(Path(manifest).parent) for manifest in self._paths.runs(wildcards)]

    def sources(self, wildcards: Any) -> str:
        """``A,B``, where a plan has several."""
        if SOURCES_JOINED_BY not in wildcards.engine:
            return ""
        return ",".join(source.label for source in self._paths.sources_plan(wildcards).sources)

    def finished(self, wildcards: Any) -> dict[str, str]:
        """The checksum of the manifest of each run that is taken as it is, by its folder: no rule makes these
        runs for the plan, so that they are no input of it."""
        if SOURCES_JOINED_BY not in wildcards.engine:
            return {}
        runs = self._paths.sources_plan(wildcards).finished()
        return {str(run): sha256_of_file(run / PROVENANCE_FILE) for run in runs}

    def number_of_networks(self, wildcards: Any) -> dict[str, str]:
        """Each override that says how many networks there are, by its key: claims are judged with it."""
        settings = self._paths.experiment_settings.items()
        return {
            key: str(value) for key, value in settings if key == "replicates" or key.startswith("precision.")
        }

    def asked(self, wildcards: Any) -> str:
        """What a summary reads of its experiment: all but the figures."""
        return self._paths.experiment(wildcards.experiment).model_dump_json(exclude={"figures"})

    def numbers_by_level(self, wildcards: Any) -> dict[str, dict[str, int]]:
        """How many networks each level of a knob has, where levels have numbers of their own."""
        numbers = numbers_by_level(self._paths.experiment(wildcards.experiment).replicates)
        return {knob: dict(by_level) for knob, by_level in numbers.items()}

    def figure_source(self, wildcards: Any) -> str:
        """The key of what drawing a figure executes: its module, and what figures share."""
        module = figure_module(wildcards.figure, wildcards.experiment)
        return _source_key(module, "plotting/drawing/source.py")

    def summary_source(self, wildcards: Any) -> str:
        """The key of what summarizing executes: shared statistics and claims, and those of the experiment."""
        return _source_key("torsweep/stats", *analysis_modules(wildcards.experiment))

    def run_memory_mb(self, wildcards: Any, attempt: int) -> int:
        """The memory that a run may take in its engine, in MB; runs at the same time have to fit together."""
        demand = find_engine(wildcards.engine).demand(self._paths.network(wildcards.network))
        return (BESIDE_MB + math.ceil(demand.memory_bytes / 1_000_000)) * attempt

    def run_minutes(self, wildcards: Any, attempt: int) -> int:
        """How long a run may take in its engine, in minutes."""
        run_s = self._paths.experiment(wildcards.experiment).duration_ns / SECOND_NS
        network = self._paths.network(wildcards.network)
        seconds = find_engine(wildcards.engine).run_seconds(network, run_s)
        return (BESIDE_MIN + math.ceil(TIME_MARGIN * seconds / 60)) * attempt

    def run_threads(self, wildcards: Any) -> int:
        """The cores of a run: what its network takes in its engine."""
        return find_engine(wildcards.engine).demand(self._paths.network(wildcards.network)).cores

    def run_node(self, wildcards: Any) -> str:
        """Slurm's option for a run in real time, which needs a node for itself."""
        return "--exclusive" if find_engine(wildcards.engine).real_time else ""
