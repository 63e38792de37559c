"""The tables about streams of a circuit and about what relays carry."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from bench import carried, stream_rows
from torsweep.engines.table_schema import PROGRESS, STREAMS


def test_a_run_has_the_times_of_its_streams_and_how_many_starved(monkeypatch: pytest.MonkeyPatch) -> None:
    streams = pl.DataFrame(
        {
            "client": ["bulk1"] * 3,
            "kind": ["bulk"] * 3,
            "stream": [3, 7, 9],
            "start_us": [0, 10, 20],
            "first_byte_us": [5, 5, 5],
            "last_byte_us": [None, 8_000_000, 4_000_000],
            "bytes_wanted": [100] * 3,
            "outcome": ["unfinished", "complete", "complete"],
        }
    )
    progress = pl.DataFrame(
        {"client": ["bulk1"] * 3, "stream": [3, 7, 9], "time_us": [4_000_000] * 3, "bytes_got": [24, 25, 100]}
    )
    tables = {STREAMS: streams, PROGRESS: progress}
    monkeypatch.setattr(stream_rows, "read_table", lambda _, table: tables[table])
    found = stream_rows.completion(Path("a/run"))
    assert found == {"stream_1_s": None, "stream_2_s": 8.0, "stream_3_s": 4.0, "starved": 1}


def test_what_relays_carry_is_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Run:
        network, warm_up_ns, duration_ns = "network", 1_000_000_000, 3_000_000_000

    def table(run: Path, _: object) -> pl.DataFrame:
        rows = [(second, relay, len(run.name)) for second in range(4) for relay in ("relay1", "authority1")]
        return pl.DataFrame(rows, schema=["second", "relay", "bytes_out"], orient="row")

    monkeypatch.setattr(carried, "read_run", lambda _: Run)
    monkeypatch.setattr(carried, "read_table", table)
    for name in ("three", "of"):
        folder = tmp_path / name / "network"
        folder.mkdir(parents=True)
        (folder / "network.json").write_text(json.dumps({"relays": [{"name": "relay1"}]}))
    found = carried.compared(tmp_path / "three", tmp_path / "of")
    assert found == {"bytes_per_s": 5, "against_bytes_per_s": 2, "ratio": 2.5}
