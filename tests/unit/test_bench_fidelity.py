"""The rows of a comparison say how far two engines are apart, and whether that is within the aim."""

from __future__ import annotations

import polars as pl

from bench.fidelity_rows import rows
from torsweep.fidelity.comparison import BEYOND, UNKNOWN, WITHIN

QUANTILES = {"p50_s": 1.0, "p90_s": 3.0, "p50_reference_s": 2.0, "p90_reference_s": 4.0}


def _distance(series: str, metric: str, ks: float, kind: str = "web") -> dict[str, object]:
    return {**_cell(kind, metric), "series": series, "seed": 1, "ks": ks, **QUANTILES}


def _cell(kind: str, metric: str) -> dict[str, object]:
    return {"kind": kind, "metric": metric, "refill_interval": "10ms", "circuit_policy": "ewma"}


def test_a_row_has_the_gaps_of_both_times_and_the_verdicts_of_the_model_alone() -> None:
    distances = [
        _distance("model", "ttfb", 0.1),
        _distance("model", "ttlb", 0.3),
        _distance("model", "ttfb", 0.9, kind="bulk"),
        _distance("replay", "ttfb", 0.9),
        _distance("reference repeat", "ttfb", 0.07),
        _distance("reference repeat", "ttlb", 0.08),
    ]
    cells = [
        {**_cell("web", "ttfb"), "verdict": WITHIN},
        {**_cell("web", "ttlb"), "verdict": BEYOND},
        {**_cell("bulk", "ttfb"), "verdict": UNKNOWN},
    ]
    model, again = rows(pl.DataFrame(distances), pl.DataFrame(cells)).to_dicts()
    assert (model["variant"], model["first_ks"], model["last_ks"]) == ("10 ms, EWMA", 0.1, 0.3)
    assert (model["first_model_s"], model["last_reference_p90_s"]) == (1.0, 4.0)
    assert (model["first_within"], model["last_within"]) == ("yes", "no")
    assert again["variant"] == "the reference again: 10 ms, EWMA"
    assert (again["first_ks"], again["first_within"], again["last_within"]) == (0.07, "–", "–")
