"""The live network and smaller copies of it: all relays of a population, and what a scale keeps."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest

from torsweep.config.network import AccessDelay, NetworkConfig, load_network_config
from torsweep.errors import InputError
from torsweep.network.latency import places_of
from torsweep.network.model import POSITIONS, Relay
from torsweep.network.relays import (
    POPULATION_FILE,
    Population,
    PopulationRelay,
    position_counts,
    read_population,
    sample_relays,
)
from torsweep.network.sampling import RELAY_TABLES, source_path
from torsweep.units import LEAST_TOR_RATE_BYTES_PER_S

SCALES = (0.003, 0.01, 0.03, 0.1, 0.3, 1)


@pytest.fixture(scope="module")
def whole() -> Population:
    return read_population(source_path(live(1).relay_population, RELAY_TABLES, POPULATION_FILE))


def live(scale: float) -> NetworkConfig:
    return load_network_config("live", {"scale": scale})


def sampled(scale: float, population: Population, seed: int = 1) -> tuple[Relay, ...]:
    return sample_relays(live(scale), population, population, seed, places_of(1, AccessDelay(), seed))


def usable(relays: Iterable[PopulationRelay]) -> np.ndarray:
    rates = [(relay.capacity_bytes_per_s, relay.rate_bytes_per_s) for relay in relays]
    return np.sort([min(link, max(rate, LEAST_TOR_RATE_BYTES_PER_S)) for link, rate in rates])


def test_the_whole_network_has_each_relay_of_the_population_once(whole: Population) -> None:
    def told(relays: Iterable[Relay | PopulationRelay]) -> list[tuple[str, int, int]]:
        return sorted((each.position, each.consensus_weight, each.capacity_bytes_per_s) for each in relays)

    assert len(whole.relays) == 7186
    assert told(sampled(1, whole)) == told(sampled(1, whole, seed=2)) == told(whole.relays)


@pytest.mark.parametrize("scale", SCALES)
def test_a_scale_keeps_positions_bandwidth_weight_and_load(scale: float, whole: Population) -> None:
    relays = sampled(scale, whole)
    weight = sum(relay.consensus_weight for relay in relays)
    for position in POSITIONS:
        own = [relay for relay in relays if relay.position == position]
        assert len(own) == pytest.approx(scale * len(whole.of(position)), abs=1)
        share = sum(relay.consensus_weight for relay in own) / weight
        assert share == pytest.approx(whole.weight_share[position], abs=1e-4)
    capacity = sum(relay.usable_bytes_per_s for relay in relays)
    assert capacity == pytest.approx(scale * usable(whole.relays).sum(), rel=0.04)
    config, full = live(scale), live(1)
    assert config.client_count / capacity == pytest.approx(
        full.client_count / usable(whole.relays).sum(), rel=0.04
    )
    assert config.client_counts["bulk"] / config.client_count == pytest.approx(0.05, abs=0.001)


@pytest.mark.parametrize("scale", [0.01, 0.1])
def test_each_stratum_of_bandwidth_gives_one_relay(scale: float, whole: Population) -> None:
    first, second = (sampled(scale, whole, seed) for seed in (1, 2))
    assert first != second
    for position in POSITIONS:
        ranked = usable(whole.of(position))
        drawn = np.sort([relay.usable_bytes_per_s for relay in first if relay.position == position])
        edges = np.arange(len(drawn) + 1) * len(ranked) // len(drawn)
        assert (ranked[edges[:-1]] <= drawn).all() and (drawn <= ranked[edges[1:] - 1]).all()


def test_a_scale_that_leaves_a_position_without_relays_is_refused(whole: Population) -> None:
    config = live(1).model_copy(update={"scale": 0.0003})
    with pytest.raises(InputError) as refusal:
        position_counts(config, whole)
    message = "scale: leaves 2 of 7186 relays, none of them in position"
    assert str(refusal.value).startswith(message)
    assert str(refusal.value).endswith("got 0.0003; accepted: a larger scale")


def test_a_network_drawn_from_a_population_shrinks_alike() -> None:
    population = read_population(
        source_path(load_network_config("paper").relay_population, RELAY_TABLES, POPULATION_FILE)
    )
    full, half = (load_network_config("paper", {"scale": scale}) for scale in (1, 0.5))
    for position, count in position_counts(full, population).items():
        assert position_counts(half, population)[position] == pytest.approx(count / 2, abs=1)
    assert (half.relay_count, half.client_count, half.server_count) == (25, 500, 100)


def test_all_relays_of_a_population_are_asked_for_by_their_number(whole: Population) -> None:
    config = load_network_config("live", {"relays": 7000})
    with pytest.raises(InputError, match=r"relays: is not the number of relays.*got 7000; accepted: 7186"):
        position_counts(config, whole)


@pytest.mark.parametrize(
    ("network", "overrides", "said"),
    [
        ("live", {"scale": 0.0029}, "scale: is not accepted, got 0.0029; accepted: greater than or equal"),
        ("live", {"relay_population.use": "all"}, "relay_population.use: is not accepted, got 'all'"),
        (
            "live",
            {"positions": dict.fromkeys(("guard", "exit", "guard_exit", "middle"), 1)},
            "positions: the ",
        ),
        ("ci", {"scale": 0.003}, "scale: a network needs a client, got 0.003"),
        ("starvation", {"scale": 0.5}, "scale: a chain has three relays, got 0.5; accepted: 1"),
    ],
)
def test_what_a_scale_cannot_be_is_refused(network: str, overrides: dict[str, object], said: str) -> None:
    with pytest.raises(InputError) as refusal:
        load_network_config(network, overrides)
    assert str(refusal.value).startswith(f"configs/networks/{network}.yaml: {said}")
