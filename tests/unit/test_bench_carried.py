"""What relays carry, in pairs of runs."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from bench import carried


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
