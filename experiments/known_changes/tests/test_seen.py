"""Runs of two sides become rows of the table of what networks show."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from experiments.known_changes.scripts import seen
from tests.several_sources import SLOW, leave_run


def test_a_cell_says_of_how_many_networks_it_is_where_others_have_more(tmp_path: Path) -> None:
    """A fifth slower on two networks."""
    paths = {"web1": (("relay1", "relay2", "relay3"),)}
    before, after = (
        [leave_run(tmp_path / side, "emulation", SLOW, seed, slower=slower, paths=paths) for seed in (1, 2)]
        for side, slower in (("before", 1.0), ("after", 1.2))
    )
    where = {"engine": "emulation", "network": "ci", "load": 1.0, "utilisation": 0.4}
    where |= {"plan": "main", "change": "knob=slow"}
    rows = pl.DataFrame(list(seen.rows_of(where, before, after)))
    (first,) = rows.filter(kind="web", metric="ttfb", statistic="paired").iter_rows(named=True)
    assert first["mean"] == pytest.approx(0.2, abs=0.02)
    assert first["networks"] == 2
    few = pl.when((pl.col("metric") == "ttlb") & (pl.col("kind") == "web")).then(1).otherwise("networks")
    (line,) = seen.table(rows.with_columns(networks=few)).iter_rows(named=True)
    assert line["web_ttlb_paired"].endswith("(1)")
    assert "(" not in line["web_ttfb_paired"]


HEADER = ("engine", "network", "plan", "change", "kind", "mean", "low", "high")
ROWS = [
    ("cellsim", "own_rates", "windows", "congestion=fixed", "bulk", 0.33, 0.2, 0.5),
    ("cellsim", "own_rates", "nagle", "nagle=off", "web", -0.01, -0.02, -0.005),
    ("cellsim", "near", "windows", "congestion=fixed", "bulk", 0.25, -0.1, 0.6),
    ("cellsim", "not_in_tor", "windows", "congestion=fixed", "bulk", 0.25, -0.1, 0.6),
    ("emulation", "not_in_tor", "windows", "congestion=fixed", "bulk", 0.02, 0.01, 0.03),
    ("cellsim", "other_sign", "windows", "congestion=fixed", "bulk", -0.3, -0.4, -0.2),
]


def test_a_network_is_blind_where_no_download_moves_half_as_far_and_real_tor_goes_before_the_model() -> None:
    rows = pl.DataFrame(ROWS, HEADER, orient="row").with_columns(
        metric=pl.lit("ttlb"), statistic=pl.lit("paired"), load=1.0
    )
    found = {row["network"]: row for row in seen.blind(rows)}
    assert sorted(found) == ["not_in_tor", "other_sign"]
    why = "windows and congestion control (congestion=fixed: bulk, last byte +2.0 % in emulation, +33.0 % on"
    assert found["not_in_tor"]["sentence"].startswith(why)
    assert "plan=windows" in found["not_in_tor"]["sentence"] and "cc_" in found["not_in_tor"]["names"]
