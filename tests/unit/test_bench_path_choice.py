"""Circuits drawn by the model's weights fit them; circuits drawn otherwise do not."""

from __future__ import annotations

import numpy as np
import pytest

from bench.path_choice import compare, fit, guard_chances, weights
from tests.small_network import small_network
from torsweep.engines.circuit_paths import PathChooser
from torsweep.network.model import Network


def _network() -> Network:
    """Two guards, two exits and four middles, of which exits are none and guards a fifth as often."""
    network = small_network(["guard"] * 2 + ["exit"] * 2 + ["middle"] * 4, ["web1"])
    changed = {**network.bandwidth_weights, "Wme": 0, "Wmg": 2_000}
    return network.model_copy(update={"bandwidth_weights": changed})


@pytest.mark.parametrize(("weights", "most"), [({"Wmg": 10_000}, 1e-6), ({"Wme": 10_000}, 0)])
def test_the_weights_fit_nothing_that_is_drawn_by_others(weights, most) -> None:
    """Guards as often as middles; and exits, which are no middles. What fits, test_drawn_paths shows."""
    network = _network()
    others = {**network.bandwidth_weights, **weights}
    chooser = PathChooser(network.model_copy(update={"bandwidth_weights": others}), 7, 1)
    numbers = {relay.name: number for number, relay in enumerate(network.relays)}
    paths = [[numbers[name] for name in chooser.path(0, circuit, None)] for circuit in range(1_000)]
    assert compare(network, paths, 1)["middle_p"] <= most


def test_exits_that_an_only_guard_would_be_are_counted() -> None:
    network = small_network(["guard", "guard_exit", "exit", *["middle"] * 3], ["web1"])
    # Half of the circuits end at the relay that has half of the guards' weight.
    paths = [(0, 3, 1), (0, 4, 2)] * 10
    guard = weights(network, "guard")
    assert compare(network, paths, 1)["only_guard"] == pytest.approx(guard[1] / guard.sum() / 2)


def test_chances_of_guards_are_those_of_draws() -> None:
    guard, exits = np.array([4.0, 2.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0, 3.0])
    chances = guard_chances(guard, exits, 2)
    assert chances.sum() == pytest.approx(1)
    # By hand: the pairs {0, 1}, {0, 2}, {1, 2}; relay 0 is the exit of a quarter of the circuits.
    pairs = {(0, 1): 4 / 7 * 2 / 3 + 2 / 7 * 4 / 5, (0, 2): 4 / 7 / 3 + 1 / 7 * 4 / 6}
    assert chances[0] == pytest.approx(sum(pairs.values()) * 0.75 / 2)


def test_relays_of_few_circuits_are_one() -> None:
    value, probability = fit(np.array([50.0, 48.0, 1.0, 3.0]), np.array([49.0, 49.0, 2.0, 2.0]))
    # The last two are 4 of 4.
    assert value == pytest.approx(2 / 49)
    assert probability == pytest.approx(0.98, abs=0.01)
