"""Every engine takes the paths that are drawn for a run: the model draws them itself, real tor reads them."""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl
import pytest

from tests.engines import chain_scenario
from tests.engines.test_every_engine import MARKS, require_engine
from tests.prepared_runs import prepared_run
from torsweep.engines.run_spec import write_run
from torsweep.engines.tools import find_own_program
from torsweep.formats.files import read_json

TABLES = ("streams.parquet", "relays.parquet")


def _played(folder: Path, network: Path, pairing: str, variant: str) -> list[pl.DataFrame]:
    changes = {"warm_up": "20 s", "measured": "80 s", "client_start_window": "10 s", "pairing": pairing}
    write_run(prepared_run(network, folder, variant, **changes), folder)
    chain_scenario.play([str(find_own_program("cellsim")), "run"], folder)
    return [pl.read_parquet(folder / table) for table in TABLES]


def test_given_paths_are_those_that_the_model_draws_itself(small_network, tmp_path):
    for variant in ("guards=3", "guards=1"):
        free = _played(tmp_path / f"{variant},free", small_network, "free", variant)
        given = _played(tmp_path / f"{variant},paths", small_network, "paths", variant)
        assert free[0].height > 50
        assert all(one.equals(other) for one, other in zip(free, given, strict=True))


@pytest.mark.parametrize("engine", [pytest.param(name, marks=mark) for name, mark in MARKS.items()])
def test_real_tor_takes_the_path_of_each_circuit_s_turn(request, engine, small_network, tmp_path):
    kind = require_engine(request, engine)
    changes = {"warm_up": "5 s", "measured": "50 s", "client_start_window": "5 s", "pairing": "paths"}
    # Each download takes a circuit of its own, so that clients need more than their first paths.
    changes |= {f"traffic.{clients}.isolate_streams": True for clients in ("web", "bulk")}
    folder = tmp_path / "run"
    write_run(prepared_run(small_network, folder, engine=kind, era="today", **changes), folder)
    chain_scenario.play([sys.executable, "-m", "torsweep", engine, "run"], folder)
    counts = read_json(folder / "provenance.json")["counters"]["common_paths"]
    assert counts["circuits"] > 40
    assert counts["circuits_on_their_path"] >= 0.99 * counts["circuits"]
    assert counts["streams_on_their_path"] >= 0.99 * counts["streams"]
