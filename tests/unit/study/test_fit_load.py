"""The search for a load: on a utilisation that is known, and in the model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from torsweep.config.experiment import load_experiment
from torsweep.config.network import NetworkConfig, load_network_config
from torsweep.errors import InputError
from torsweep.network.model import write_network
from torsweep.network.sampling import sample_network
from torsweep.stats.inference.intervals import Interval
from torsweep.study import fit_load as module
from torsweep.study.fit_load import CLOSE_ENOUGH, Step, fit_load

EXPERIMENT = load_experiment("refill_sweep")


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A network of ten relays, 40 web clients and 2 bulk clients, at a load of 1."""
    counts = {"web_clients": 40, "bulk_clients": 2, "servers": 5}
    sampled = sample_network(load_network_config("ci", counts), 3)
    write_network(sampled.network, sampled.matrix_us, tmp_path / "network")
    return tmp_path / "network"


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[int], float]], None]:
    """``used(share)``: relays of every network are used by ``share`` of its number of web clients."""

    def put(share: Callable[[int], float]) -> None:
        def play(config: NetworkConfig, seed: int, experiment: object) -> Step:
            web, bulk = (config.client_counts[kind] for kind in ("web", "bulk"))
            return Step(config.load, (web, bulk), Interval(share(web), 0.0, 1.0, 8, 0.95))

        monkeypatch.setattr(module, "_play", play)

    return put


@pytest.mark.parametrize("wanted", [0.02, 0.3, 0.6, 0.79])
def test_a_load_is_found_above_and_below_that_of_the_network(directory, used, wanted):
    used(lambda web: min(0.8, web / 100))
    told: list[Step] = []
    found, said = fit_load(directory, EXPERIMENT, wanted, told.append)
    used_there = found.utilisation.mean
    assert used_there == pytest.approx(wanted, abs=CLOSE_ENOUGH)
    assert told[0].load == 1 and found in told
    assert said.startswith(
        f"load: {found.load:g}  # utilisation {used_there:.3f} [0.000, 1.000], within 0.01"
    )


def test_what_one_client_more_would_miss_is_said(directory, used):
    used(lambda web: web / 20)
    found, said = fit_load(directory, EXPERIMENT, 0.475, lambda step: None)
    assert found.clients[0] in (9, 10)
    assert "one client more or less comes no closer to 0.475" in said


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        (0.6, "--fit-load: no load gives this utilisation: the closest is 0.500, at load 2, got 0.6"),
        (0.001, "no load gives this utilisation: the closest is 0.050, at load"),
        (1.5, "--fit-load: is no utilisation, got 1.5; accepted: a share between 0 and 1"),
        (float("nan"), "is no utilisation"),
    ],
)
def test_what_cannot_be_reached_is_one_line(directory, used, wanted, says):
    used(lambda web: max(0.05, min(0.5, web / 100)))
    with pytest.raises(InputError) as refused:
        fit_load(directory, EXPERIMENT, wanted, lambda step: None)
    assert says in str(refused.value)


def test_the_command_finds_it_in_the_model(directory, torsweep, monkeypatch):
    monkeypatch.setattr(module, "RUNS_OF_A_LOAD", 2)
    code, out, err = torsweep("network", "describe", directory, "--fit-load", 0.3)
    assert code == 0
    steps = [line for line in err.splitlines() if line.startswith("load ")]
    assert steps[0].startswith("load 1: 40 web and 2 bulk clients, utilisation 0.")
    last = out.splitlines()[-1]
    assert last.startswith("load: 1.")
    assert float(last.split("utilisation ")[1].split(" ")[0]) == pytest.approx(0.3, abs=0.05)
