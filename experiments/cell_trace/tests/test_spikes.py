"""Periodic spikes: planted ones are found with their period, and noise has none."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.cell_trace.spikes import CHANCE, find_period
from torsweep import seeds
from torsweep.errors import InputError


def latencies(seed: int, count: int = 20_000) -> np.ndarray:
    """Milliseconds, with a long tail as those of queues have."""
    return seeds.stream(seed, "latencies").lognormal(1, 0.6, count)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("every", [100, 250, 999])
def test_spikes_every_so_many_packets_are_found(seed: int, every: int) -> None:
    values = latencies(seed)
    values[17::every] += 200
    found = find_period(values, np.arange(len(values), dtype=float))
    assert found is not None
    assert found.length == pytest.approx(every, rel=2e-3)
    assert found.share > 0.9 and found.chance < CHANCE
    assert found.height == pytest.approx(200, rel=0.1)


@pytest.mark.parametrize("seed", range(4))
def test_spikes_every_so_many_seconds_are_found_though_packets_come_unevenly(seed: int) -> None:
    generator = seeds.stream(seed, "times")
    times = np.sort(generator.uniform(0, 900, 20_000))
    values = latencies(seed)
    # Each lasts for half a second, and comes within a second of its time.
    for turn in range(20):
        begin = 11 + 45 * turn + generator.uniform(-1, 1)
        values[(times >= begin) & (times < begin + 0.5)] += 150
    found = find_period(values, times)
    assert found is not None and found.length == pytest.approx(45, abs=0.3)
    packets = find_period(values, np.arange(len(values), dtype=float))
    assert packets is None or packets.length == pytest.approx(1_000, rel=0.05)


def test_a_few_that_are_missing_and_a_few_beside_do_not_hide_the_period() -> None:
    generator = seeds.stream(1, "holes")
    values = latencies(1)
    places = np.arange(30, len(values), 250)
    values[generator.choice(places, int(0.8 * len(places)), replace=False)] += 300
    values[generator.integers(0, len(values), 6)] += 300
    found = find_period(values, np.arange(len(values), dtype=float))
    assert found is not None and found.length == pytest.approx(250, rel=2e-3)


@pytest.mark.parametrize("spikes", [0, 5, 20, 80, 400])
def test_noise_has_no_period(spikes: int) -> None:
    found = []
    for seed in range(10):
        values = latencies(seed, 10_000)
        values[seeds.stream(seed, "places").integers(0, len(values), spikes)] += 200
        found.append(find_period(values, np.arange(len(values), dtype=float)))
    assert found == [None] * len(found)


def test_bursts_a_trend_and_silence_have_no_period() -> None:
    positions = np.arange(10_000, dtype=float)
    assert find_period(positions.copy(), positions) is None
    assert find_period(np.ones(10_000), positions) is None
    burst = latencies(3, 10_000)
    burst[4_000:4_400] += 300
    assert find_period(burst, positions) is None
    assert find_period(np.array([]), np.array([])) is None


def test_positions_out_of_order_are_refused() -> None:
    with pytest.raises(InputError, match="in order; accepted: positions that ascend"):
        find_period(np.ones(3), np.array([0.0, 2.0, 1.0]))
    with pytest.raises(InputError, match="a position for each latency"):
        find_period(np.ones(3), np.array([0.0, 2.0]))
