"""Times and rates of runs beside those of the public network."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from torsweep.config.overrides import Overrides
from torsweep.errors import InputError
from torsweep.home import find
from torsweep.runsets.public_tor import USUAL_PUBLIC_TOR
from torsweep.stats.likeness import (
    _beside,
    _quantities,
    public_quantiles,
)

MEASURES = pl.DataFrame(
    [
        ("build_time_median", "all", 0.5, 0.4, 0.6),
        ("goodput_last_half_median", "web", 9.0, 9.0, 9.0),
        ("goodput_last_half_median", "perf_1mib", 100.0, None, None),
    ],
    ["measure", "group", "mean", "mean_low", "mean_high"],
    orient="row",
).with_columns(networks=pl.lit(2))
PERF = pl.DataFrame(
    [
        ("ttlb_after_command", "perf_50kib", 1.0),
        ("ttlb_after_command", "perf_50kib", 2.0),
        ("ttlb_after_command", "perf_5mib", None),
        ("ttlb", "perf_50kib", 77.0),
    ],
    ["metric", "kind", "median_s"],
    orient="row",
)
CURVES = pl.DataFrame(
    [
        ("ttlb_after_command", "perf_50kib", share, time_s)
        for share, time_s in ((0.1, 0.5), (0.6, 1.0), (0.9, 4.0))
    ],
    ["metric", "kind", "share", "time_s"],
    orient="row",
)


@pytest.fixture
def public(tmp_path: Path) -> pl.DataFrame:
    file = tmp_path / "tor_metrics.json"
    document = {
        "download_times": {"51200": [0.5, 1.0, 2.5], "5242880": [8.0]},
        "daily_counts": {},
        "circuit_build_times": [0.25],
        "circuit_rtt": [0.3],
        "client_goodput": [8 * 2048.0],
    }
    file.write_text(json.dumps(document))
    return public_quantiles(file)


def test_each_quantity_that_public_tor_has_is_a_row(public: pl.DataFrame) -> None:
    rows = {beside.what: beside for beside in _beside(_quantities(MEASURES, PERF), public, CURVES)}
    small = rows["request to last byte of 50 KiB, s"]
    # Two networks with medians of 1 and 2 s: geometric mean 1.414, and a wide interval above 0.
    assert small.cells[1].startswith("1.414 [0.017")
    assert small.cells[2:4] == ("1.000 [0.750, 1.750]", "× 1.41")
    # By 4 s all are complete in public Tor, and nine tenths here; by 1 s one half there, and 0.6 here.
    assert small.gap == pytest.approx(0.1, abs=0.01)
    # Half of the downloads never completed here, so that there is no median.
    assert rows["request to last byte of 5 MiB, s"].cells[1:] == ("–", "8.000 [8.000, 8.000]", "–", "–")
    assert rows["circuit build time, s"].ratio == "× 2.00"
    assert rows["goodput of the second half of 1 MiB, KiB/s"].cells[1:3] == (
        "100.000",
        "2.000 [2.000, 2.000]",
    )
    # Such files have the answer's first byte alone, of downloads of any size.
    assert rows["request to first byte of 1 MiB, s"].there[1] == pytest.approx(0.3)
    assert len(rows) == 7


def test_what_ships_has_the_medians_that_onionperf_measured() -> None:
    public = public_quantiles(find(USUAL_PUBLIC_TOR))
    rows = {beside.what: beside.there[1] for beside in _beside(_quantities(None, None), public, None)}
    assert rows["request to first byte of 50 KiB, s"] == pytest.approx(0.40, abs=0.01)
    assert rows["opening to last byte of 1 MiB, s"] == pytest.approx(3.35, abs=0.01)
    assert rows["opening to last byte of 5 MiB, s"] == pytest.approx(11.1, abs=0.1)
    assert "request to last byte of 5 MiB, s" not in rows


def test_a_pipeline_is_refused_a_file_that_is_not_there(tmp_path: Path) -> None:
    missing = tmp_path / "tor_metrics.json"
    with pytest.raises(InputError, match=r"tor_metrics\.json: no such file"):
        Overrides.read({"live_tor": str(missing)})
    missing.write_text("{}")
    assert Overrides.read({"live_tor": str(missing)}).live_tor == missing
