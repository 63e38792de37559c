"""Real tor on this machine's kernel: a small network runs end to end, and nothing of it outlives the
engine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.engines import chain_scenario
from tests.live_processes import processes_of, wait_until
from torsweep.engines.emulation.tcp import TCP
from torsweep.engines.machine_lock import LOCK

pytestmark = pytest.mark.real_time

COMMAND = [sys.executable, "-m", "torsweep", "emulation", "run"]


@pytest.fixture(autouse=True)
def _needs_hosts(emulation: None) -> None:
    """Skipped by name where none can be made."""


def _until_the_vote(engine: subprocess.Popen[str]) -> None:
    assert engine.stderr is not None
    assert any("the authorities vote" in line for line in engine.stderr)


def test_a_process_that_dies_ends_the_run_in_its_name(tmp_path):
    folder = chain_scenario.prepare(tmp_path, "emulation")
    with subprocess.Popen([*COMMAND, folder, "--progress"], stderr=subprocess.PIPE, text=True) as engine:
        _until_the_vote(engine)
        (relay,) = [pid for pid in processes_of(folder / "processes" / "relay2") if pid != engine.pid]
        os.kill(relay, signal.SIGKILL)
        said = engine.stderr.read()
    assert engine.returncode == 1
    assert "torsweep: relay2 was ended by signal 9" in said
    assert not processes_of(tmp_path)
    assert not (folder / "provenance.json").exists()


def test_nothing_outlives_an_engine_that_is_killed_and_the_next_one_runs_to_the_end(tmp_path):
    folder = chain_scenario.prepare(tmp_path, "emulation", "2012", traced=True)
    with subprocess.Popen([*COMMAND, folder, "--progress"], stderr=subprocess.PIPE, text=True) as engine:
        _until_the_vote(engine)
        assert len(processes_of(tmp_path)) > 4
        with subprocess.Popen(
            ["taskset", "-c", "0", *COMMAND, folder], stderr=subprocess.PIPE, text=True
        ) as second:
            assert second.stderr is not None
            assert second.stderr.readline() == "emulation: waiting for another emulation on this machine\n"
            second.send_signal(signal.SIGKILL)
        engine.send_signal(signal.SIGKILL)
    wait_until(lambda: not processes_of(tmp_path))
    assert Path(f"{LOCK}.0").exists()
    assert not (folder / "provenance.json").exists()
    chain_scenario.play(COMMAND, folder)
    assert not processes_of(tmp_path)
    chain_scenario.check_cells(folder)
    chain_scenario.check_breakdown(folder)
    _check_what_is_stated(folder, chain_scenario.check(folder))


def _check_what_is_stated(folder: Path, provenance: dict[str, Any]) -> None:
    """TCP, kernel, path, relays and links of the run in ``folder``."""
    assert provenance["engine"] == "emulation"
    assert provenance["machine"]["kernel"] == os.uname().release
    stated = {**provenance["tcp"], "not_in_this_kernel": None}
    assert stated == {**json.loads(json.dumps(TCP["2012"].document())), "not_in_this_kernel": None}
    circuits = pl.read_parquet(folder / "circuits.parquet").filter(pl.col("streams") > 0)
    assert circuits["path"].to_list() == ["relay1,relay2,relay3"]
    assert (circuits["launched_us"] < circuits["built_us"]).all()
    assert pl.read_parquet(folder / "relays.parquet")["queued_cells"].drop_nulls().len() > 0
    streams = pl.read_parquet(folder / "streams.parquet")
    for sooner, later in pairwise(("first_byte_us", "half_us", "most_us", "last_byte_us")):
        assert (streams[sooner] <= streams[later]).all()
    received = pl.read_parquet(folder / "received.parquet")
    assert received.group_by("kind").agg(pl.col("bytes_got").sum()).rows() == [
        ("bulk", streams["bytes_got"].sum())
    ]
    assert pl.read_parquet(folder / "round_trips.parquet").height == 0
    costs = pl.read_parquet(folder / "costs.parquet")
    assert set(costs.filter(pl.col("role") != "authority")["host"]) == {*chain_scenario.HOSTS, "bulk1"}
    assert (costs["cpu_us"] > 0).all()
    assert costs["peak_memory_bytes"].is_between(5_000_000, 100_000_000).all()
    assert pl.read_parquet(folder / "links.parquet").height > 0
    # Cells came to the client, and nothing but acknowledgements and requests went back. The table of the run
    # has whole seconds, of a run of two or three; this one has all that the links carried.
    links = pl.read_parquet(folder / "processes" / "links.parquet")
    client = links.filter(pl.col("host") == "bulk1")
    assert client["received_bytes"].sum() > 3 * 200 * 514 > client["sent_bytes"].sum()
