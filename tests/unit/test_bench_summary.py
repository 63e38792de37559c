"""The rows of a plan's summary for a document (``bench/summary_rows.py``)."""

from __future__ import annotations

import polars as pl
import pytest

from bench.summary_rows import rows


def test_a_variant_has_its_means_and_its_difference_from_the_baseline():
    def medians(level: str, *values_s: float | None) -> list[dict[str, object]]:
        where = {"metric": "ttfb", "kind": "web", "refill_interval": level}
        return [{**where, "seed": seed, "median_s": value_s} for seed, value_s in enumerate(values_s)]

    difference = {"metric": "ttfb", "kind": "web", "refill_interval": "10ms", "estimand": "median"}
    bounds = {"relative": -0.1, "relative_simultaneous_low": -0.2, "relative_simultaneous_high": 0.01}
    table = rows(
        pl.DataFrame(
            [*medians("100ms", 2.0, 4.0), *medians("10ms", 1.0, 2.0), *medians("1000ms", 3.0, None)]
        ),
        pl.DataFrame([{**difference, **bounds}]),
    ).to_dicts()
    assert [row["variant"] for row in table] == ["100 ms", "10 ms", "1000 ms"]
    assert [row["web_first_s"] for row in table] == [pytest.approx(8**0.5), pytest.approx(2**0.5), None]
    # Student's t at 97.5 % with one degree of freedom is 12.706; the standard error of both logarithms
    # is log(2) / 2.
    assert table[1]["web_first_high_s"] == pytest.approx(2 ** (0.5 + 12.7062047 / 2))
    assert table[1]["web_first_difference_low"] == pytest.approx(-20.0)
    assert table[0]["web_first_difference"] is None
