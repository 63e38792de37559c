"""What circuits are made of, against all that there are, and against the paths that engines draw."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from itertools import permutations

import numpy as np
import pytest

from tests.small_network import small_network
from torsweep.engines.circuit_paths import PathChooser
from torsweep.network.bandwidth_weights import HOP_WEIGHTS
from torsweep.network.load import by_weight, path_chances
from torsweep.network.model import POSITIONS, Network, Position


def network_of(relays: Sequence[tuple[Position, int]], weights: Sequence[int] | None = None) -> Network:
    """A network whose relays have these positions and usable rates, and weights like the rates by default."""
    made = small_network([position for position, _ in relays], ["web1"])
    rates = [rate for _, rate in relays]
    changed = [
        relay.model_copy(
            update={"rate_bytes_per_s": rate, "capacity_bytes_per_s": 2 * rate, "consensus_weight": weight}
        )
        for relay, rate, weight in zip(made.relays, rates, weights or rates, strict=True)
    ]
    return made.model_copy(update={"relays": tuple(changed)})


RELAYS: list[tuple[Position, int]] = [
    ("guard_exit", 50_000), ("exit", 20_000), ("exit", 90_000), ("guard", 40_000),
    ("guard", 10_000), ("middle", 70_000), ("middle", 30_000),
]  # fmt: skip


@pytest.fixture
def weighted() -> Network:
    """A network each of whose bandwidth-weights is another one."""
    network = network_of(RELAYS, [500, 200, 900, 400, 100, 700, 300])
    shares = {name: 10_000 - 1_000 * number for number, name in enumerate(network.bandwidth_weights)}
    return network.model_copy(update={"bandwidth_weights": shares})


def test_chances_are_those_of_paths_that_engines_draw(weighted: Network) -> None:
    chances = path_chances(weighted)
    chooser = PathChooser(weighted, seed=3, guards=1)
    drawn = 20_000
    paths = [chooser.path(client, 1, chooser.guards(client)) for client in range(drawn)]
    for hop, expected in enumerate((chances.guard, chances.middle, chances.exit)):
        counted = Counter(path[hop] for path in paths)
        found = [counted[relay.name] / drawn for relay in weighted.relays]
        np.testing.assert_allclose(found, expected, atol=0.012)
        assert expected.sum() == pytest.approx(1)


def by_every_circuit(network: Network) -> dict[tuple[int, int, int], float]:
    """How likely each guard, middle and exit is among the circuits that there are."""
    shares = [
        {position: network.bandwidth_weights[name] for position, name in HOP_WEIGHTS[hop].items()}
        for hop in ("guard", "middle", "exit")
    ]
    weight = [
        [relay.consensus_weight * share.get(relay.position, 0) for relay in network.relays]
        for share in shares
    ]
    chance = {}
    for guard, middle, exit_ in permutations(range(len(network.relays)), 3):
        guards, middles = sum(weight[0]) - weight[0][exit_], sum(weight[1]) - weight[1][exit_]
        own = weight[0][guard] * weight[1][middle] * weight[2][exit_]
        if own:
            chance[guard, middle, exit_] = own / guards / (middles - weight[1][guard])
    total = sum(chance.values())
    return {circuit: own / total for circuit, own in chance.items()}


@pytest.mark.parametrize("seed", range(60))
def test_chances_are_those_among_all_circuits_of_a_small_network(seed: int) -> None:
    draw = random.Random(seed)
    relays = [(draw.choice(POSITIONS), 1_000) for _ in range(3 + seed % 5)]
    network = network_of(relays, [round(10 ** draw.uniform(0, 4)) for _ in relays])
    shares = {name: draw.choice([0, 1, 3_000, 10_000]) for name in network.bandwidth_weights}
    network = network.model_copy(update={"bandwidth_weights": shares})
    expected, found = by_every_circuit(network), path_chances(network)
    if not expected:
        assert found is None
        return
    whole = np.zeros((len(relays),) * 3)
    for circuit, chance in expected.items():
        whole[circuit] = chance
    for hop, chances in enumerate((found.guard, found.middle, found.exit)):
        other = tuple({0, 1, 2} - {hop})
        np.testing.assert_allclose(chances, whole.sum(axis=other), rtol=1e-9, atol=1e-9)
    assert found.per_circuit.sum() == pytest.approx(3)


def test_the_first_relay_to_be_full_is_that_with_the_least_rate_for_its_chance(weighted: Network) -> None:
    chances = path_chances(weighted)
    found = by_weight(weighted, chances)
    full_at = [
        relay.usable_bytes_per_s / chance
        for relay, chance in zip(weighted.relays, chances.per_circuit, strict=True)
    ]
    assert found.first_bytes_per_s == round(min(full_at))
    assert weighted.relays[int(np.argmin(full_at))].name == found.relay
    assert found.first_bytes_per_s <= found.shares[0.1] <= found.shares[0.5]
    # At that traffic full relays have half of the hops, and without the last of them less.
    on = chances.per_circuit / 3
    full = np.array(full_at) <= found.shares[0.5] + 1
    assert on[full].sum() >= 0.5 > on[np.array(full_at) < found.shares[0.5] - 1].sum()


def test_on_weights_that_fit_the_rates_all_relays_are_full_together() -> None:
    positions: list[Position] = ["guard"] * 4 + ["middle"] * 4 + ["exit"] * 4
    network = network_of([(position, 100_000) for position in positions])
    shares = dict.fromkeys(network.bandwidth_weights, 0) | {"Wgg": 10_000, "Wmm": 10_000, "Wee": 10_000}
    network = network.model_copy(update={"bandwidth_weights": shares})
    found = by_weight(network, path_chances(network))
    assert found.first_bytes_per_s == 400_000


def test_without_weights_there_are_no_chances(weighted: Network) -> None:
    nothing = dict.fromkeys(weighted.bandwidth_weights, 0)
    assert path_chances(weighted.model_copy(update={"bandwidth_weights": nothing})) is None
