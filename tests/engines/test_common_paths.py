"""The model takes the paths that are drawn for a run, with or without being given them."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from tests.engines import chain_scenario
from torsweep.config.experiment import load_experiment
from torsweep.engines.prepare import build_run, run_settings, write_run
from torsweep.engines.tools import find_own_program

TABLES = ("streams.parquet", "relays.parquet")


def _played(folder: Path, network: Path, pairing: str, variant: str) -> list[pl.DataFrame]:
    changes = {"warm_up": "20 s", "measured": "80 s", "client_start_window": "10 s", "pairing": pairing}
    experiment = load_experiment("refill_sweep", changes)
    asked = experiment.variant(variant)
    write_run(build_run(run_settings(experiment, "cellsim", "2012", asked), asked, network, folder), folder)
    chain_scenario.play([str(find_own_program("cellsim")), "run"], folder)
    return [pl.read_parquet(folder / table) for table in TABLES]


def test_given_paths_are_those_that_the_model_draws_itself(small_network: Path, tmp_path: Path) -> None:
    for variant in ("guards=3", "guards=1"):
        free = _played(tmp_path / f"{variant},free", small_network, "free", variant)
        given = _played(tmp_path / f"{variant},paths", small_network, "paths", variant)
        assert free[0].height > 50
        assert all(one.equals(other) for one, other in zip(free, given, strict=True))
