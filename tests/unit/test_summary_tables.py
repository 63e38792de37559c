"""Tables for documents from the files of a summary."""

from __future__ import annotations

import polars as pl
import pytest

from bench.summary_tables import of_claim, of_medians


def test_a_variant_has_a_row_of_medians_with_intervals_and_differences() -> None:
    medians = pl.DataFrame(
        {"metric": "ttfb", "kind": "web", "refill_interval": level, "seed": seed, "median_s": median}
        for level, medians in (("100ms", (4.0, 4.0)), ("10ms", (2.0, 8.0)))
        for seed, median in enumerate(medians)
    )
    of = {"estimand": "median", "metric": "ttfb", "kind": "web", "refill_interval": "10ms"}
    relative = {f"relative{end}": -0.1 for end in ("", "_simultaneous_low", "_simultaneous_high")}
    differences = pl.DataFrame([of | relative])
    first, second = of_medians(medians, differences).iter_rows(named=True)
    assert (first["variant"], first["web_first_s"]) == ("100 ms", pytest.approx(4))
    assert second["web_first_low_s"] < second["web_first_s"] < second["web_first_high_s"]
    assert second["web_first_difference"] == pytest.approx(-10)
    assert first["web_first_difference"] is None


def test_a_claim_has_its_verdicts_and_a_column_for_each_setting() -> None:
    claims = pl.DataFrame(
        {"claim": claim, "setting": setting, "verdict": verdict, "comparison": "10 against 1"}
        | {"value": value, "low": -0.1, "high": 0.5}
        for claim, setting, verdict, value in (
            ("best", "median download", "holds", 0.25),
            ("best", "mean", "contradicted", 0.125),
            ("other", "mean", "holds", 9.0),
        )
    )
    assert of_claim(claims, "best").rows(named=True) == [
        {"comparison": "verdict", "median_download": "holds", "mean": "contradicted"},
        {"comparison": "10 against 1", "median_download": "25.0 [-10.0, 50.0]", "mean": "12.5 [-10.0, 50.0]"},
    ]
