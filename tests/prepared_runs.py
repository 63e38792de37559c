"""Runs as ``torsweep run prepare`` makes them, and networks to prepare them on.

In: a network's directory, a run's, the name of an experiment and changes to its keys. Out: :class:`RunSpec`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from torsweep.config.experiment import Experiment, load_experiment
from torsweep.config.network import load_network_config
from torsweep.engines.host_choice import RunTors
from torsweep.engines.prepare import build_run
from torsweep.engines.run_settings import run_settings
from torsweep.engines.run_spec import RunSpec, RunTraffic
from torsweep.network.model import Network, write_network
from torsweep.network.sampling import sample_network


def prepared_run(
    network: Path,
    folder: Path,
    variant: str = "",
    *,
    of: str | Experiment = "refill_sweep",
    engine: str = "cellsim",
    era: str = "2012",
    builds: Mapping[str, str] | None = None,
    **changes: object,
) -> RunSpec:
    """The run of ``variant`` with the tors, whose ``builds`` these are, and the options of its levels."""
    experiment = load_experiment(of, changes) if isinstance(of, str) else of
    asked = experiment.variant(variant)
    settings = run_settings(experiment, engine, era, asked)
    tors = RunTors(experiment.tors_of(asked), builds or {}, experiment.bundle(asked))
    return build_run(settings, asked, network, folder, tors)


def sampled_network(folder: Path, config: str, seed: int = 1, **changes: object) -> Network:
    """A network of this configuration, written to ``folder``."""
    sampled = sample_network(load_network_config(config, changes), seed)
    write_network(sampled.network, sampled.matrix_us, folder)
    return sampled.network


def run_traffic(**changes: object) -> RunTraffic:
    """One download after the other, without pauses; ``changes`` replace keys."""
    fields = {
        "request_bytes": 400,
        "response_bytes": 1_000,
        "think_min_ns": 0,
        "think_max_ns": 0,
        "streams_per_circuit_isolation": False,
        "parallel_streams": 1,
        "timeout_ns": None,
    }
    return RunTraffic.model_validate(fields | changes)
