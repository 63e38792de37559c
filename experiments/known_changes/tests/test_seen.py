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
