"""What a run asks for follows from its network and engine, and grows when it is tried again."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from torsweep.config.network import load_network_config
from torsweep.engines.selection import find_engine
from torsweep.pipeline.needs import BESIDE_MB, Needs
from torsweep.pipeline.sweep import Sweep

HERE = SimpleNamespace(local_exec=True, cores=8)
ON_A_CLUSTER = SimpleNamespace(local_exec=False)


def _run(engine, network):
    return SimpleNamespace(experiment="refill_sweep", engine=engine, network=network)


@pytest.fixture
def needs():
    return Needs(Sweep({}), ON_A_CLUSTER)


@pytest.mark.parametrize("engine", ["cellsim", "shadow", "emulation"])
def test_a_larger_network_asks_for_more_memory_and_time(needs, engine):
    small, large = _run(engine, "ci"), _run(engine, "paper")
    assert needs.memory_mb(small, 1) < needs.memory_mb(large, 1)
    assert needs.minutes(small, 1) <= needs.minutes(large, 1)


def test_memory_is_what_the_doctor_projects_and_the_processes_beside_it(needs):
    projected_mb = find_engine("shadow").demand(load_network_config("paper")).memory_bytes / 1e6
    assert 0 <= needs.memory_mb(_run("shadow", "paper"), 1) - BESIDE_MB - projected_mb < 1


def test_shadow_asks_for_hours_where_the_model_asks_for_minutes(needs):
    # docs/shadow.md: up to an hour for the full network; bench/results/speed.json: 8 s.
    assert 2 * 60 < needs.minutes(_run("shadow", "paper"), 1) < 8 * 60
    assert needs.minutes(_run("cellsim", "paper"), 1) < 10


def test_a_longer_run_asks_for_more_time(needs):
    longer = Needs(Sweep({"measured": "2 h"}), ON_A_CLUSTER)
    run = _run("shadow", "paper")
    assert longer.minutes(run, 1) > 10 * needs.minutes(run, 1)


def test_a_knob_of_the_network_counts(needs):
    assert needs.memory_mb(_run("cellsim", "paper+load=0.5"), 1) > 0


def test_a_run_that_was_killed_gets_more(needs):
    run = _run("shadow", "quarter")
    for need in (needs.memory_mb, needs.minutes):
        assert need(run, 2) == 2 * need(run, 1)
        assert need(run, 3) == 3 * need(run, 1)


def test_real_time_takes_all_cores_here_and_what_its_network_takes_of_a_node(needs):
    run = _run("emulation", "quarter")
    assert Needs(Sweep({}), HERE).whole_machine(run) == 8
    assert needs.whole_machine(run) == find_engine("emulation").demand(load_network_config("quarter")).cores


@pytest.mark.parametrize(
    ("network", "engine"),
    [("paper", "cellsim"), ("quarter", "shadow"), ("paper", "shadow"), ("quarter", "emulation")],
)
def test_the_how_to_says_what_a_run_asks_for(needs, network, engine):
    run = _run(engine, network)
    row = f"| `{network}` in {engine} | {needs.memory_mb(run, 1):,} MB | {needs.minutes(run, 1)} min |"
    assert row in (Path(__file__).parents[3] / "docs/how-to/run-on-a-cluster.md").read_text()
