"""Paired differences: the spread between networks cancels, many comparisons are paid for; and how much longer
the same download takes."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from torsweep.stats.inference.intervals import t_interval
from torsweep.stats.streams.differences import DIFFERENCES, differences, paired, paired_changes
from torsweep.stats.streams.incidence import ENTRY, METRICS
from torsweep.stats.streams.medians import CLIENT_MEDIAN, MEAN, QUANTILES

BASELINE = {"refill_interval": "100ms"}
LEVELS = ["1000ms", "100ms", "10ms"]


def _runs(networks: int = 8, effect: float = 0.9, noise: float = 0.01) -> pl.DataFrame:
    """Medians of three levels: networks differ by a third, 10 ms is ``effect`` of 100 ms in each."""
    generator = np.random.default_rng(6)
    speeds = generator.lognormal(0, 0.3, networks)
    rows = []
    for level in LEVELS:
        for seed, speed in enumerate(speeds):
            factor = {"10ms": effect}.get(level, 1.0) * (1 + noise * generator.normal())
            values = {name: speed * factor * (1 + q) for name, q in QUANTILES.items()}
            rows.append({"metric": "ttfb", "kind": "web", "refill_interval": level, "seed": seed, **values})
            rows[-1] |= {CLIENT_MEDIAN: values["median_s"], MEAN: values["p90_s"]}
    return pl.DataFrame(rows)


def _table(runs: pl.DataFrame) -> pl.DataFrame:
    others = [{"refill_interval": level} for level in LEVELS if level != BASELINE["refill_interval"]]
    rows = differences(runs, [(BASELINE, others)])
    return pl.DataFrame(rows, DIFFERENCES.schema(BASELINE)).with_columns(pl.col(pl.Float64).fill_nan(None))


def _median(runs: pl.DataFrame, level: str) -> dict[str, object]:
    return _table(runs).filter(estimand="median", refill_interval=level).row(0, named=True)


def test_pairing_finds_what_the_spread_of_networks_would_hide() -> None:
    runs = _runs()
    row = _median(runs, "10ms")
    assert row["relative"] == pytest.approx(-0.1, abs=0.02)
    assert row["relative_simultaneous_high"] < 0
    pair = paired(runs, "median_s", BASELINE, {"refill_interval": "10ms"})
    alone = t_interval(pair.variant_s), t_interval(pair.reference_s)
    assert alone[0].high > alone[1].low
    without_effect = _median(runs, "1000ms")
    assert without_effect["relative_low"] < 0 < without_effect["relative_high"]


def test_simultaneous_intervals_are_wider_and_families_are_counted() -> None:
    table = _table(_runs())
    assert set(table["estimand"]) == {name.removesuffix("_s") for name in (*QUANTILES, CLIENT_MEDIAN, MEAN)}
    for row in table.iter_rows(named=True):
        assert row["difference_simultaneous_low_s"] < row["difference_low_s"]
        assert row["relative_simultaneous_high"] > row["relative_high"]
        assert row["family_size"] == (2 if row["estimand"] in ("median", "client_median", "mean") else 10)


def test_one_network_has_no_interval_and_two_have_their_own_changes_for_bounds() -> None:
    row = _median(_runs(networks=1), "10ms")
    assert row["difference_s"] < 0
    assert row["difference_low_s"] is None
    runs = _runs(networks=2)
    row = _median(runs, "10ms")
    changes = np.expm1(paired(runs, "median_s", BASELINE, {"refill_interval": "10ms"}).log_ratio)
    assert [row["relative_low"], row["relative_high"]] == pytest.approx(sorted(changes))
    assert row["relative_simultaneous_low"] is None


def test_a_median_that_one_network_never_reached_leaves_no_difference() -> None:
    never = (pl.col("seed") == 3) & (pl.col("refill_interval") == "10ms")
    runs = _runs().with_columns(median_s=pl.when(~never).then("median_s"))
    row = _median(runs, "10ms")
    assert row["relative"] is None
    assert row["relative_low"] is None
    assert _median(runs, "1000ms")["relative"] is not None


def test_pairs_follow_the_seed_and_a_network_without_downloads_has_an_entry_without_a_number() -> None:
    shuffled = _runs(noise=0).sample(fraction=1, shuffle=True, seed=1)
    pair = paired(shuffled, "median_s", BASELINE, {"refill_interval": "10ms"})
    np.testing.assert_allclose(np.expm1(pair.log_ratio), -0.1)
    runs = _runs(networks=4).filter((pl.col("seed") != 2) | (pl.col("refill_interval") != "10ms"))
    pair = paired(runs, "median_s", BASELINE, {"refill_interval": "10ms"}, runs["seed"].unique().sort())
    assert np.isnan(pair.log_ratio).tolist() == [False, False, True, False]
    assert len(paired(runs, "median_s", BASELINE, {"refill_interval": "10ms"}).log_ratio) == 3


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
    half = side("branch", [None] * 3 + [2.2] * 3, outcome=pl.lit("failed"))
    assert np.isnan(ratio(side("stock", stock), half))
    # Cut off after 3 s: longer than 2 s, and perhaps not than 4 s.
    cut_off = side("branch", [None, 2.0, 2.2, 2.2])
    assert ratio(side("stock", stock[:4]), cut_off) == pytest.approx(1.1)
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
