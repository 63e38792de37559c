"""Relays: shares, balance between seeds, floors, and what a configuration may ask for."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torsweep.config.network import AccessDelay, InputSource, NetworkConfig
from torsweep.errors import InputError
from torsweep.network.latency import places_of
from torsweep.network.model import POSITIONS, Relay
from torsweep.network.relays import (
    POPULATION_FILE,
    Population,
    PopulationRelay,
    network_bandwidth_weights,
    position_counts,
    read_population,
    sample_relays,
)
from torsweep.network.sampling import RELAY_TABLES, source_path
from torsweep.units import LEAST_TOR_RATE_BYTES_PER_S

SEEDS = range(1, 31)


def relays_of(config: NetworkConfig, source: Population, seed: int) -> tuple[Relay, ...]:
    return sample_relays(config, source, source, seed, places_of(1, AccessDelay(), seed))


def population(name: str) -> Population:
    return read_population(source_path(InputSource(name=name), RELAY_TABLES, POPULATION_FILE))


def weight_shares(relays: tuple[Relay, ...]) -> dict[str, float]:
    whole = sum(relay.consensus_weight for relay in relays)
    return {
        position: sum(relay.consensus_weight for relay in relays if relay.position == position) / whole
        for position in POSITIONS
    }


def test_the_population_of_2012_has_the_shares_of_its_directory():
    share = {"exit": 0.181, "guard": 0.306, "guard_exit": 0.396, "middle": 0.116}
    assert population("2012").weight_share == pytest.approx(share, abs=0.0006)


@pytest.mark.parametrize("name", ["2012", "2024"])
@pytest.mark.parametrize("count", [5, 10, 20, 50])
def test_shares_and_total_capacity_hold_over_thirty_seeds(name, count, configured):
    source = population(name)
    config = configured(relays=count)
    networks = [relays_of(config, source, seed) for seed in SEEDS]
    for relays in networks:
        assert weight_shares(relays) == pytest.approx(source.weight_share, abs=0.002)
    for total in (
        [sum(relay.capacity_bytes_per_s for relay in relays) for relays in networks],
        [sum(relay.usable_bytes_per_s for relay in relays) for relays in networks],
    ):
        assert max(total) - min(total) < 0.1 * sum(total) / len(total)
    assert len({relays for relays in networks}) == len(networks)


def test_the_mean_network_has_the_capacity_of_the_population(configured):
    source = population("2012")
    counts = position_counts(configured(relays=50), source)
    expected = sum(
        count * sum(relay.capacity_bytes_per_s for relay in own) / len(own)
        for position, count in counts.items()
        for own in [source.of(position)]
    )
    networks = [relays_of(configured(relays=50), source, seed) for seed in SEEDS]
    mean = sum(relay.capacity_bytes_per_s for relays in networks for relay in relays) / len(networks)
    assert mean == pytest.approx(expected, rel=0.05)


def test_slow_relays_are_raised_to_what_tor_accepts_and_say_so(configured):
    relays = relays_of(configured(relays=50), population("2012"), 1)
    assert any(relay.rate_floored for relay in relays)
    for relay in relays:
        assert relay.rate_bytes_per_s >= LEAST_TOR_RATE_BYTES_PER_S
        assert relay.burst_bytes >= relay.rate_bytes_per_s
        assert relay.rate_floored <= (relay.rate_bytes_per_s == LEAST_TOR_RATE_BYTES_PER_S)


def test_refill_phases_differ(configured):
    phases = {relay.refill_phase for relay in relays_of(configured(relays=50), population("2012"), 1)}
    assert len(phases) == 50


def test_positions_given_are_positions_got(configured):
    wanted = {"guard": 3, "exit": 2, "guard_exit": 0, "middle": 5}
    relays = relays_of(configured(positions=wanted), population("2012"), 1)
    assert {p: sum(relay.position == p for relay in relays) for p in wanted} == wanted


@settings(max_examples=40)
@given(count=st.integers(4, 400))
def test_any_size_has_guards_and_exits(count):
    config = NetworkConfig(relays=count, web_clients=1, bulk_clients=0, servers=1)
    counts = position_counts(config, population("2012"))
    assert sum(counts.values()) == count
    assert counts["exit"] and counts["guard"] + counts["guard_exit"] >= 2
    assert min(counts.values()) >= 0


def test_the_weights_of_a_network_are_those_of_the_directory(configured):
    relays = relays_of(configured(relays=50), population("2012"), 1)
    assert network_bandwidth_weights(relays)["Wed"] == pytest.approx(3838, abs=5)


def test_a_position_the_population_lacks_is_refused(configured):
    relays = tuple(
        PopulationRelay(position, 10, 10**6, 10**6, 10**6) for position in ("guard", "exit", "guard_exit")
    )
    third = {"guard": 0.4, "exit": 0.3, "guard_exit": 0.3, "middle": 0.0}
    config = configured(positions={"guard": 4, "exit": 2, "guard_exit": 2, "middle": 2})
    with pytest.raises(InputError, match=r"positions\.middle: the relay population has none"):
        relays_of(config, Population(relays, third, third, {}), 1)


@pytest.mark.parametrize("name", ["2012", "2024"])
def test_a_network_with_a_single_guard_is_refused(name, configured):
    with pytest.raises(InputError, match="relays: too few relays for two that can be a guard"):
        relays_of(configured(relays=3), population(name), 1)


def test_each_position_can_carry_its_share_of_weight(configured):
    source = population("2012")
    relays = relays_of(configured(relays=50), source, 1)
    usable = {p: sum(r.usable_bytes_per_s for r in relays if r.position == p) for p in POSITIONS}
    whole = sum(usable.values())
    for position, share in source.weight_share.items():
        assert usable[position] / whole == pytest.approx(share, abs=0.06)


def test_usual_rates_are_below_the_best_by_as_much_as_rates_varied(configured):
    source = population("2024-all")
    best = relays_of(configured(relays=400), source, 1)
    usual = relays_of(configured(relays=400, relay_rates="usual"), source, 1)
    parts = sorted(b.capacity_bytes_per_s / a.capacity_bytes_per_s for a, b in zip(best, usual, strict=True))
    assert parts[200] == pytest.approx(1 / (1 + 2 * 0.081), abs=0.03)
    assert parts[40] == pytest.approx(1 / (1 + 2 * 0.365), abs=0.06)
    assert [relay.consensus_weight for relay in best] == [relay.consensus_weight for relay in usual]


def test_a_divisor_slows_relays_and_changes_nothing_else(configured):
    source = population("2024-all")
    fast = relays_of(configured(relays=14), source, 1)
    slow = relays_of(configured(relays=14, relay_rate_divisor=20), source, 1)
    for before, after in zip(fast, slow, strict=True):
        for rate in ("capacity_bytes_per_s", "rate_bytes_per_s", "burst_bytes"):
            assert getattr(after, rate) == max(getattr(before, rate) // 20, LEAST_TOR_RATE_BYTES_PER_S)
        assert after.rate_floored == (before.rate_bytes_per_s // 20 < LEAST_TOR_RATE_BYTES_PER_S)
        kept = ("consensus_weight", "position", "refill_phase", "name")
        assert [getattr(before, name) for name in kept] == [getattr(after, name) for name in kept]
    assert any(relay.rate_floored for relay in slow)
