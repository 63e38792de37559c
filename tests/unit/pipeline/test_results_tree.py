"""Where results stand: nothing that differs shares a path."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torsweep.config.experiment import EXPERIMENTS_DIRECTORY, load_experiment
from torsweep.config.variant import Variant
from torsweep.errors import InputError
from torsweep.pipeline.results_tree import Place, network_directory, network_key, parse_network_key

VARIANT = Variant.parse("refill_interval=10ms+circuit_policy=ewma")
PLACE = Place("refill_sweep", "cellsim", "2012", "paper", "main")


def test_runs_and_stages_have_their_places():
    run = PLACE.run_directory(VARIANT, 3)
    assert str(run) == (
        "results/runs/refill_sweep/cellsim/2012/paper/3/refill_interval=10ms+circuit_policy=ewma"
    )
    assert str(PLACE.stage("figures")) == "results/figures/refill_sweep/cellsim/2012/paper/main"
    assert str(network_directory("paper", 3)) == "results/networks/paper/3"


def test_a_load_is_a_network_of_its_own():
    loaded = Variant.parse("refill_interval=10ms+load=0.5")
    assert network_key("paper", loaded) == "paper+load=0.5"
    assert "/paper+load=0.5/3/refill_interval=10ms+load=0.5" in str(PLACE.run_directory(loaded, 3))


@pytest.mark.parametrize("name", sorted(file.parent.name for file in EXPERIMENTS_DIRECTORY.glob("*/*.yaml")))
def test_the_workflow_takes_every_network_of_every_plan(name):
    constraint = re.search(r'^    network=r"(.*)",$', Path("Snakefile").read_text(), re.MULTILINE)
    experiment = load_experiment(name)
    for plan in experiment.plan_names:
        for variant in experiment.plan(plan).variants:
            assert re.fullmatch(constraint[1], network_key("paper", variant))


@given(st.sampled_from(["paper", "my-net_2.0"]), st.decimals("0.01", "20", places=2))
def test_a_network_key_reads_back(name, load):
    assert parse_network_key(network_key(name, Variant.parse(f"load={load}"))) == (
        name,
        {"load": float(load)},
    )
    assert parse_network_key(network_key(name, VARIANT)) == (name, {})


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("paper+scheduler=kist", "does not change the network, got 'scheduler'; accepted: load"),
        ("paper+load=heavy", "load: is no level of this knob"),
        ("paper+loda=1", "no such knob (did you mean 'load'?)"),
    ],
)
def test_a_network_key_of_something_else_is_refused(key, said):
    with pytest.raises(InputError) as refusal:
        parse_network_key(key)
    assert said in str(refusal.value)
