"""Tables of a small synthetic sweep, made once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.synthetic import gathered, write_sweep
from torsweep.config.experiment import Experiment, load_experiment
from torsweep.runsets.plan_tables import PlanTables
from torsweep.stats.summarize import Summary, summarize


@pytest.fixture(scope="session")
def experiment() -> Experiment:
    return load_experiment(Path(__file__).parents[3] / "experiments/refill_sweep/experiment.yaml")


@pytest.fixture(scope="session")
def tables(tmp_path_factory: pytest.TempPathFactory) -> PlanTables:
    folder = tmp_path_factory.mktemp("sweep")
    return gathered(write_sweep(folder / "runs", run_seeds=(1, 2, 3, 4)), folder)


@pytest.fixture(scope="session")
def summary(tables: PlanTables, experiment: Experiment) -> Summary:
    return summarize(tables, experiment)
