"""Arithmetic of the sampler: quantiles, normal and log-normal tables, hashed uniforms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from torsweep.network.exact import (
    conditional_quantile,
    lognormal_table,
    mixed_uniform,
    normal_table,
    quantile,
)

tables = st.lists(st.floats(0, 1e9), min_size=2, max_size=30).map(sorted)
probabilities = st.lists(st.floats(0, 1, exclude_max=True), min_size=1, max_size=20)


@given(table=tables, probability=probabilities)
def test_quantiles_are_interpolated_linearly(table: list[float], probability: list[float]) -> None:
    expected = np.interp(probability, np.linspace(0, 1, len(table)), table)
    found = quantile(np.array(table), np.array(probability))
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-6 * max(table[-1], 1e-3))
    assert found.min() >= table[0]
    assert found.max() <= table[-1] * (1 + 1e-15)


@given(probability=probabilities, rows=st.integers(1, 5))
def test_conditional_quantiles_take_the_row_named(probability: list[float], rows: int) -> None:
    stack = np.arange(rows * 4, dtype=float).reshape(rows, 4) ** 2
    row = np.arange(len(probability)) % rows
    found = conditional_quantile(stack, row, np.array(probability))
    expected = [quantile(stack[r], np.array([p]))[0] for r, p in zip(row, probability, strict=True)]
    assert found.tolist() == expected


def test_tables_have_the_moments_of_their_distributions() -> None:
    uniform = (np.arange(100_000) + 0.5) / 100_000
    normal = quantile(normal_table(), uniform)
    assert normal.mean() == pytest.approx(0, abs=1e-6)
    assert normal.std() == pytest.approx(1, abs=0.01)
    lognormal = quantile(lognormal_table(10.0, 0.5), uniform)
    assert np.median(lognormal) == pytest.approx(10, rel=1e-3)
    assert np.log(lognormal).std() == pytest.approx(0.5, rel=0.01)


def test_nearby_keys_give_unrelated_uniforms() -> None:
    draws = mixed_uniform(np.arange(100_000, dtype=np.uint64))
    assert draws.min() >= 0
    assert draws.max() < 1
    assert np.histogram(draws, 20, (0, 1))[0] == pytest.approx(np.full(20, 5_000), rel=0.1)
    assert abs(np.corrcoef(draws[:-1], draws[1:])[0, 1]) < 0.02


def test_the_hash_is_that_of_splitmix64() -> None:
    # The first outputs of SplitMix64 from seed 0, whose state goes up by the golden ratio.
    golden = 0x9E3779B97F4A7C15
    states = np.array([golden * k % 2**64 for k in (1, 2)], dtype=np.uint64)
    expected = [(word >> 11) * 2.0**-53 for word in (0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4)]
    assert mixed_uniform(states).tolist() == expected
