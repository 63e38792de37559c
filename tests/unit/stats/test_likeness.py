"""Times and rates of runs beside those of the public network."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from tests.analyses import analysis_of
from torsweep.config.overrides import Overrides
from torsweep.errors import InputError
from torsweep.home import find
from torsweep.runsets.public_tor import USUAL_PUBLIC_TOR
from torsweep.stats.likeness import _in_summary, public_quantiles
from torsweep.stats.measures.summary import numbers_of_runs
from torsweep.stats.streams.medians import quantiles_of_runs
from torsweep.stats.streams.perf import perf_analysis

KNOBS, BASELINE = {"k": ["a", "b"]}, {"k": "a"}
PERF = pl.DataFrame(
    [
        ("ttlb_after_command", "perf_50kib", "a", 1.0),
        ("ttlb_after_command", "perf_50kib", "a", 2.0),
        ("ttlb_after_command", "perf_50kib", "b", 9.0),
        ("ttlb_after_command", "perf_5mib", "a", None),
        ("ttlb", "perf_50kib", "a", 77.0),
    ],
    ["metric", "kind", "k", "median_s"],
    orient="row",
)
MEASURES = {
    ("build_time_median", "all"): pl.DataFrame({"k": ["a", "a", "b"], "value": [0.25, 1.0, 7.0]}),
    ("goodput_last_half_median", "perf_1mib"): pl.DataFrame({"k": ["a"], "value": [100.0]}),
    ("goodput_last_half_median", "web"): pl.DataFrame({"k": ["a"], "value": [9.0]}),
}


def _beside(public: pl.DataFrame) -> dict[str, list[str]]:
    """The rows of the table by their first cells."""
    of_perf = analysis_of(KNOBS, BASELINE, {quantiles_of_runs: PERF})
    analysis = analysis_of(KNOBS, BASELINE, {perf_analysis: of_perf, numbers_of_runs: MEASURES})
    (table,) = _in_summary(analysis, public)
    return {row[0]: list(row[1:]) for row in table.rows}


def test_each_quantity_that_public_tor_has_is_a_row(tmp_path: Path) -> None:
    file = tmp_path / "tor_metrics.json"
    document = {
        "download_times": {"51200": [0.5, 1.0, 2.5], "5242880": [8.0]},
        "daily_counts": {},
        "circuit_build_times": [0.25],
        "circuit_rtt": [0.3],
        "client_goodput": [8 * 2048.0],
    }
    file.write_text(json.dumps(document))
    rows = _beside(public_quantiles(file))
    here, there, ratio = rows["request to last byte of 50 KiB, s"]
    # Two networks with medians of 1 and 2 s: geometric mean 1.414, and a wide interval above 0.
    assert here.startswith("1.414 [0.017") and (there, ratio) == ("1.000 [0.750, 1.750]", "× 1.41")
    # Half of the downloads never completed here, so that there is no median.
    assert rows["request to last byte of 5 MiB, s"] == ["–", "8.000 [8.000, 8.000]", "–"]
    assert rows["circuit build time, s"][2] == "× 2.00"
    assert rows["goodput of the second half of 1 MiB, KiB/s"][:2] == ["100.000", "2.000 [2.000, 2.000]"]
    # Such files have the answer's first byte alone, of downloads of any size.
    assert rows["request to first byte of 1 MiB, s"][1].startswith("0.300 ")
    assert len(rows) == 7


def test_what_ships_has_the_medians_that_onionperf_measured() -> None:
    rows = _beside(public_quantiles(find(USUAL_PUBLIC_TOR)))
    medians = {what: float(cells[1].partition(" ")[0]) for what, cells in rows.items()}
    assert medians["request to first byte of 50 KiB, s"] == pytest.approx(0.40, abs=0.01)
    assert medians["opening to last byte of 1 MiB, s"] == pytest.approx(3.35, abs=0.01)
    assert medians["opening to last byte of 5 MiB, s"] == pytest.approx(11.1, abs=0.1)
    assert "request to last byte of 5 MiB, s" not in rows


def test_a_pipeline_is_refused_a_file_that_is_not_there(tmp_path: Path) -> None:
    missing = tmp_path / "tor_metrics.json"
    with pytest.raises(InputError, match=r"tor_metrics\.json: no such file"):
        Overrides.read({"live_tor": str(missing)})
    missing.write_text("{}")
    assert Overrides.read({"live_tor": str(missing)}).live_tor == missing
