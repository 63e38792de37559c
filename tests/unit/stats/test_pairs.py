"""How much longer the same download takes."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from torsweep.stats.streams.differences import paired_changes
from torsweep.stats.streams.incidence import ENTRY, METRICS

TTLB = METRICS["ttlb"]


def side(tor: str, times_s: list[float | None], seed: int = 1, **columns: object) -> pl.DataFrame:
    """Downloads of one client, numbered from 1; null: cut off after 3 s."""
    return pl.DataFrame(
        {
            "seed": seed,
            "tor": tor,
            "client": "web1",
            "stream": np.arange(1, len(times_s) + 1),
            "last_byte_us": [None if time is None else round(time * 1e6) for time in times_s],
            "observed_us": [3_000_000 if time is None else round(time * 1e6) for time in times_s],
            "command_us": 100_000,
            "outcome": ["unfinished" if time is None else "complete" for time in times_s],
            ENTRY: pl.Series([0] * len(times_s), dtype=pl.Int32),
        },
        schema_overrides={"last_byte_us": pl.Int64},
    ).with_columns(**columns)


def ratio(*sides: pl.DataFrame) -> float:
    ((value,), _) = paired_changes(pl.concat(sides), TTLB, {"tor": "stock"}, {"tor": "branch"}, [1])
    return float(np.exp(value))


def test_the_middle_half_of_the_ratios_counts() -> None:
    stock, branch = [1.0, 10.0, 2.0, 5.0], [1.1, 11.0, 20.0, 0.5]
    assert ratio(side("stock", stock), side("branch", branch)) == pytest.approx(1.1)
    # In whatever order, and with downloads that the other side has not.
    assert ratio(side("branch", [*branch, 7.0]), side("stock", stock)) == pytest.approx(1.1)


def test_a_download_that_fails_is_longer_and_one_that_is_cut_off_where_that_is_certain() -> None:
    stock = [2.0, 2.0, 2.0, 2.0, 2.0, 2.0]
    failed = side("branch", [None, *[2.2] * 5], outcome=pl.lit("failed"))
    assert ratio(side("stock", stock), failed) == pytest.approx(1.1)
    # A third fail: as many are left out at the other end.
    some = side("branch", [None] * 2 + [2.2] * 3 + [1.0], outcome=pl.lit("failed"))
    assert ratio(side("stock", stock), some) == pytest.approx(1.1)
    # Half of them fail: there is no number.
    assert np.isnan(
        ratio(side("stock", stock), side("branch", [None] * 3 + [2.2] * 3, outcome=pl.lit("failed")))
    )
    # Cut off after 3 s: longer than 2 s, and perhaps not than 4 s.
    assert ratio(side("stock", [2.0, 2.0, 2.0, 2.0]), side("branch", [None, 2.0, 2.2, 2.2])) == pytest.approx(
        1.1
    )
    assert ratio(side("stock", [4.0, 2.0, 2.0, 2.0]), side("branch", [None, 2.0, 2.0, 2.2])) < 1.05


def test_only_what_began_after_the_warm_up_counts_on_networks_that_ran_both() -> None:
    early = side("branch", [9.0, 2.2], **{ENTRY: pl.Series([1, 0], dtype=pl.Int32)})
    assert ratio(side("stock", [2.0, 2.0]), early) == pytest.approx(1.1)
    streams = pl.concat([side("stock", [2.0]), side("branch", [2.2]), side("stock", [2.0], seed=2)])
    (first, second), _ = paired_changes(streams, TTLB, {"tor": "stock"}, {"tor": "branch"}, [1, 2])
    assert first == pytest.approx(np.log(1.1)) and np.isnan(second)


def test_it_is_unbiased_and_sharper_than_medians_where_downloads_differ() -> None:
    """Downloads differ by a factor of 2, by chance by 5 %, a tenth of them by a factor of 3; 6 % longer."""
    draw = np.random.default_rng(5)
    estimates, medians = [], []
    for _ in range(60):
        times = np.exp(draw.normal(0, 0.7, 200))
        again = times * 1.06 * np.exp(draw.normal(0, 0.05, 200))
        again *= np.where(draw.random(200) < 0.1, np.exp(draw.normal(0, 1.1, 200)), 1)
        estimates.append(np.log(ratio(side("stock", list(times)), side("branch", list(again)))))
        medians.append(np.log(np.median(again) / np.median(times)))
    error = np.std(estimates) / np.sqrt(len(estimates))
    assert abs(np.mean(estimates) - np.log(1.06)) < 3 * error
    assert np.std(estimates) < np.std(medians) / 2
