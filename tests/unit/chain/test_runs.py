"""What plans of runs read out of the tables of their runs."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from torsweep.chain import command
from torsweep.chain.runs import (
    RUN_PLANS,
    Condition,
    _prepare,
    circuits_row,
    refill_conditions,
    refill_row,
    waking_row,
)
from torsweep.config.eras import tor_settings
from torsweep.engines.run_spec import read_run
from torsweep.errors import InputError
from torsweep.storage.folders import CHAIN_FOLDER, RUN_FOLDER, own_folder, require_writable
from torsweep.tor.build import BuiltTor

RATE = 200 * 1024


def condition(**levels: str) -> Condition:
    return Condition("test", levels, (), {}, warm_up_s=2, measured_s=10)


def write_progress(folder: Path, rows: list[tuple[str, int, int, int]]) -> None:
    schema = {"client": pl.String, "stream": pl.Int64, "time_us": pl.Int64, "bytes_got": pl.Int64}
    pl.DataFrame(rows, schema=schema, orient="row").write_parquet(folder / "progress.parquet")


def write_streams(folder: Path, rows: list[tuple]) -> None:
    columns = ["client", "kind", "stream", "circuit", "outcome", "start_us", "last_byte_us"]
    pl.DataFrame(rows, schema=columns, orient="row").write_parquet(folder / "streams.parquet")


@pytest.mark.parametrize(("step_us", "in_steps"), [(100_000, 1.0), (5_000, 0.2)])
def test_refill_is_read_from_the_middles_seconds_after_the_warm_up(tmp_path, step_us, in_steps):
    rows = [
        (second, name, 9 * RATE if second < 2 else RATE // 2, RATE)
        for second in range(12)
        for name in ("relay1", "relay2")
    ]
    table = pl.DataFrame(rows, schema=["second", "relay", "bytes_in", "bytes_out"], orient="row")
    table.write_parquet(tmp_path / "relays.parquet")
    points = range(step_us, 12_000_000, step_us)
    write_progress(
        tmp_path, [("bulk1", 1, time_us, number * 498) for number, time_us in enumerate(points, 1)]
    )
    found = refill_row(condition(refill_interval="100ms"), tmp_path)
    assert (found["seconds"], found["read_of_rate"], found["written_of_rate"]) == (9, 0.5, 1.0)
    assert found["in_steps"] == pytest.approx(in_steps, abs=0.02)


def test_shares_are_of_what_came_after_the_warm_up(tmp_path):
    write_progress(
        tmp_path,
        [
            ("bulk1", 1, 1_000_000, 5_000),
            ("bulk1", 1, 9_000_000, 8_000),
            ("bulk1", 2, 9_000_000, 1_000),
            ("web1", 1, 9_000_000, 77),
        ],
    )
    bulk = [("bulk1", "bulk", stream, stream, "unfinished", 0, None) for stream in (1, 2)]
    quiet = [
        ("web1", "web", number, 9, outcome, start, last)
        for number, (outcome, start, last) in enumerate(
            [("complete", 0, 9), ("complete", 3_000_000, 400_000), ("unfinished", 4_000_000, None)], 1
        )
    ]
    write_streams(tmp_path, [*bulk, *quiet])
    assert circuits_row(condition(), tmp_path) == {
        "circuits": 2,
        "least_share": 0.5,
        "greatest_share": 1.5,
        "quiet_downloads": 1,
        "quiet_median_s": 0.4,
    }


def test_waking_is_told_by_when_a_stream_has_its_first_bytes(tmp_path):
    write_progress(
        tmp_path,
        [
            ("bulk1", 2, 8_000_000, 90_000),
            ("bulk1", 2, 9_000_000, 100_001),
            ("bulk1", 1, 1_500_000, 100_000),
            ("bulk1", 1, 9_500_000, 900_000),
            ("bulk1", 3, 9_600_000, 99_999),
        ],
    )
    reversed_ = Condition("order=reversed", {}, (), {}, warm_up_s=2, measured_s=10)
    never = dict.fromkeys([f"stream_{stream}_s" for stream in (3, 4, 5, 6)])
    told = {"order": "reversed", "stream_1_s": 1.5, "stream_2_s": 9.0, **never}
    assert waking_row(reversed_, tmp_path) == told


def test_a_plan_of_runs_leaves_its_rows_and_how_each_run_kept_up(tmp_path, monkeypatch):
    conditions = [Condition(name, {"clock": name}, (), {}, 2, 10) for name in ("precise", "coarse_4ms")]
    measured = {"precise": {"in_steps": 0.3}, "coarse_4ms": {"in_steps": 0.5, "seconds": 9}}
    plan = (lambda: conditions, lambda one, _: measured[one.label])
    monkeypatch.setitem(RUN_PLANS, "refill", plan)
    monkeypatch.setattr(command, "require_linkem", lambda: Path("linkem"))
    pace = {"relay1": {"ran": 0.2, "delay_ms": 0.4}, "client1": {"ran": 0.001, "delay_ms": 7.0}}
    own_folder(tmp_path / "out", CHAIN_FOLDER)
    for one in conditions:
        folder = tmp_path / "out" / "refill" / one.label / "run"
        folder.mkdir(parents=True)
        (folder / "provenance.json").write_text(json.dumps({"pace": pace, "late_share": 0.002}))
    text = command.run_plan("refill", tmp_path / "out", BuiltTor(tmp_path, {}), print)
    rows = pl.read_csv(tmp_path / "out" / "refill.csv").to_dicts()
    late = {"delay_ms": 0.4, "late_share": 0.002}
    assert rows == [
        {"condition": "precise", "clock": "precise", "in_steps": 0.3, **late, "seconds": None},
        {"condition": "coarse_4ms", "clock": "coarse_4ms", "in_steps": 0.5, **late, "seconds": 9},
    ]
    assert (tmp_path / "out" / "refill.md").read_text() == text
    assert "| precise | precise | 0.3 | 0.4 | 0.002 |  |" in text
    assert json.loads((tmp_path / "out" / "refill.json").read_text())["plan"] == "refill"


@pytest.mark.parametrize("name", RUN_PLANS)
def test_every_condition_is_one_of_its_own_that_can_be_run(name):
    conditions = RUN_PLANS[name][0]()
    assert len({one.label for one in conditions}) == len(conditions)
    for one in conditions:
        tor_settings("2012", one.levels)


def test_what_is_prepared_is_a_run_that_an_engine_takes(tmp_path):
    _prepare(refill_conditions()[0], tmp_path / "condition" / "run")
    require_writable(tmp_path / "condition" / "run", RUN_FOLDER)
    assert read_run(tmp_path / "condition" / "run").tor.refill.mode == "burst"


def test_refill_is_measured_in_both_modes_at_each_interval():
    levels = [one.levels for one in refill_conditions()]
    pairs = {(level["refill_mode"], level["refill_interval"]) for level in levels}
    assert pairs == {(mode, length) for mode in ("burst", "lazy") for length in ("1000ms", "100ms", "10ms")}


def test_a_plan_of_runs_has_no_rounds(tmp_path):
    with pytest.raises(InputError, match="accepted: neither, for refill"):
        command.run_plan("refill", tmp_path / "out", BuiltTor(tmp_path, {}), print, rounds=2)
    assert not (tmp_path / "out").exists()
