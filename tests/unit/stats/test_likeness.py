"""Times and rates of runs beside those of the public network."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from torsweep.config.overrides import Overrides
from torsweep.errors import InputError
from torsweep.runsets.public_tor import SCHEMA
from torsweep.stats.likeness import LIVE_HEADER, Likeness, _beside, _here, likeness_lines

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
PUBLIC = pl.DataFrame(
    [
        *(("ttlb_after_command", "perf_50kib", value) for value in (0.5, 1.0, 2.5)),
        ("ttlb_after_command", "perf_5mib", 8.0),
        ("circuit_build_time", None, 0.25),
        ("goodput", "perf_1mib", 2048.0),
        ("error_share", None, 0.04),
    ],
    SCHEMA,
    orient="row",
)


def test_each_quantity_that_public_tor_has_is_a_row() -> None:
    rows = {what: (here, public) for what, here, public in _beside(_here(MEASURES, PERF), PUBLIC)}
    # Two networks with medians of 1 and 2 s: mean 1.5, and a t-interval that is wide.
    assert rows["request to last byte of 50 KiB, s"][0].startswith("1.500 [-4.853")
    assert rows["request to last byte of 50 KiB, s"][1] == "1.000 [0.750, 1.750]"
    # Half of the downloads never completed there, so that there is no median.
    assert rows["request to last byte of 5 MiB, s"] == ("–", "8.000 [8.000, 8.000]")
    assert rows["circuit build time, s"] == ("0.500 [0.400, 0.600]", "0.250 [0.250, 0.250]")
    assert rows["goodput of the second half of 1 MiB, KiB/s"] == ("100.000", "2.000 [2.000, 2.000]")
    assert len(rows) == 4


def test_a_summary_without_perf_clients_leaves_their_places_empty() -> None:
    rows = dict((what, here) for what, here, _ in _beside(_here(None, None), PUBLIC))
    assert set(rows.values()) == {"–"}


def test_lines_stand_under_one_another() -> None:
    found = Likeness({"all": "0.6", "guard": "0.7"}, (("first byte, s", "1.0", "2.0 [1.0, 3.0]"),), "a.json")
    lines = list(likeness_lines(found))
    assert lines[0] == "utilisation of all relays, in runs of the baseline: 0.6"
    assert lines[2].startswith(LIVE_HEADER[0])
    assert lines[3].index("1.0") == lines[2].index(LIVE_HEADER[1])


def test_a_pipeline_is_refused_a_file_that_is_not_there(tmp_path: Path) -> None:
    missing = tmp_path / "tor_metrics.json"
    with pytest.raises(InputError, match=r"tor_metrics\.json: no such file"):
        Overrides.read({"live_tor": str(missing)})
    missing.write_text("{}")
    assert Overrides.read({"live_tor": str(missing)}).live_tor == missing
