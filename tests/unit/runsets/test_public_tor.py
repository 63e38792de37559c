"""Measurements of the public network: tornettools' file, and others."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from torsweep.errors import InputError
from torsweep.runsets.public_tor import PUBLIC_MEASURES, read_public_tor


def _values(found: pl.DataFrame) -> dict[tuple[str, str | None], list[float]]:
    kept: dict[tuple[str, str | None], list[float]] = {}
    for measure, kind, value in found.iter_rows():
        kept.setdefault((measure, kind), []).append(pytest.approx(value))
    return kept


def _written(folder: Path, document: object) -> Path:
    file = folder / "measured.json"
    file.write_text(json.dumps(document, indent=2))
    return file


TOR_METRICS = {
    "circuit_build_times": [0.3, 0.5],
    "circuit_rtt": [0.4],
    "client_goodput": [8e6],
    "client_goodput_5MiB": [16e6],
    "daily_counts": {
        "2024-01-01": {"requests": 100, "timeouts": 1, "failures": 3},
        "2024-01-02": {"requests": 0, "timeouts": 0, "failures": 0},
    },
    "download_times": {"ALL": [1.0, 2.0, 8.0], "51200": [1.0], "1048576": [2.0], "5242880": [8.0]},
    "relay_goodput": {"2024-01-01": 200.0},
}


def test_tor_metrics_of_tornettools(tmp_path: Path) -> None:
    found = read_public_tor(_written(tmp_path, TOR_METRICS))
    assert _values(found) == {
        ("ttlb_after_command", "perf_50kib"): [1.0],
        ("ttlb_after_command", "perf_1mib"): [2.0],
        ("ttlb_after_command", "perf_5mib"): [8.0],
        ("circuit_build_time", None): [0.3, 0.5],
        ("round_trip", None): [0.4],
        ("goodput", "perf_1mib"): [1e6],
        ("goodput", "perf_5mib"): [2e6],
        ("error_share", None): [0.04],
        ("relay_goodput", None): [25e9],
    }
    assert set(found["measure"]) <= set(PUBLIC_MEASURES)


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ({"relays": {}}, "is no measurement of the public network"),
        ({"download_times": {}, "daily_counts": {}}, "holds no measured value"),
        (
            {**TOR_METRICS, "daily_counts": {"d": {"requests": 1, "timeouts": 2, "failures": 2}}},
            "daily_counts.d",
        ),
        ({**TOR_METRICS, "circuit_rtt": ["soon"]}, "circuit_rtt[0]: is not accepted, got 'soon'"),
    ],
)
def test_other_content_is_one_line(tmp_path: Path, document: object, says: str) -> None:
    file = _written(tmp_path, document)
    with pytest.raises(InputError) as refused:
        read_public_tor(file)
    assert str(file) in str(refused.value)
    assert says in str(refused.value)
