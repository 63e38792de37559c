"""The benchmark of reading: the same downloads for every reader, and a table that says what was skipped."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import polars as pl

from bench import reading
from torsweep.engines.shadow.read import write_tables


def test_made_up_logs_are_read_without_a_remark(tmp_path: Path) -> None:
    logs = reading.make_logs(tmp_path, 3, True, True)
    counters = write_tables(logs.run, logs.shadow)
    assert counters["tgen"]["unknown_lines"] == counters["oniontrace"]["unknown_lines"] == 0
    assert counters["complete"] == 25 + 24 + 23
    assert counters["downloads_without_circuit"] == 0


def test_times_that_are_not_tgentools_are_counted(tmp_path: Path) -> None:
    logs = reading.make_logs(tmp_path, 1, False, False)
    write_tables(logs.run, logs.shadow)
    streams = pl.read_parquet(logs.run / "streams.parquet").filter(pl.col("outcome") == "complete")
    summary = {
        f"time_to_{key}_byte_recv": {"307200": {"1": (streams[column] / 1e6).to_list()}}
        for key, column in (("first", "first_byte_after_command_us"), ("last", "last_byte_after_command_us"))
    }
    document = {"data": {"web1": {"tgen": {"stream_summary": summary}}}}
    file = tmp_path / "tgen.analysis.json.xz"
    file.write_bytes(lzma.compress(json.dumps(document).encode()))
    assert reading.differences(logs, tmp_path) == 0
    summary["time_to_first_byte_recv"]["307200"]["1"][0] += 1e-6
    file.write_bytes(lzma.compress(json.dumps(document).encode()))
    assert reading.differences(logs, tmp_path) == 1
