"""Real tor on this machine: a small network runs end to end, and nothing of it outlives the engine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest

from torsweep.config.eras import tor_settings
from torsweep.config.network import load_network_config
from torsweep.engines.run_spec import RunSpec, RunTables, RunTraffic
from torsweep.engines.table_schema import PROGRESS, RELAYS, STREAMS, validate
from torsweep.formats.json_file import read_json
from torsweep.network.chain import given_paths
from torsweep.network.model import read_network, write_network
from torsweep.network.sampling import sample_network
from torsweep.provenance import sha256_of_file
from torsweep.tor.build import BuiltTor

CELLS, STREAMS_ASKED = 200, 3
DAY_NS = 86_400 * 10**9


@pytest.fixture(autouse=True)
def _needs_tor(built_tor: BuiltTor) -> None:
    """Skipped by name where there is none."""


def prepare(folder: Path, era: str = "2012") -> Path:
    """A chain of relays, a client that downloads three times 200 cells at once; as a run of 60 s at most."""
    sampled = sample_network(load_network_config("starvation"), seed=3)
    write_network(sampled.network, sampled.latency.blocks(), folder / "network")
    traffic = RunTraffic(
        request_bytes=400,
        response_bytes=CELLS * 498,
        think_min_ns=DAY_NS,
        think_max_ns=DAY_NS,
        streams_per_circuit_isolation=False,
        parallel_streams=STREAMS_ASKED,
        timeout_ns=None,
    )
    run = RunSpec(
        experiment="test",
        engine="loopback",
        era=era,
        variant={},
        warm_up_ns=0,
        duration_ns=60 * 10**9,
        client_start_window_ns=0,
        tor=tor_settings(era, {}),
        traffic={"bulk": traffic},
        paths=given_paths(sampled.network),
        tables=RunTables(progress=True),
        network="../network",
        network_sha256=sha256_of_file(folder / "network" / "network.json"),
        seed=3,
    )
    (folder / "run").mkdir()
    run.write(folder / "run")
    return folder / "run"


def processes_of(folder: Path) -> list[int]:
    """The processes that have ``folder`` on their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                command = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if os.fsencode(folder) in command:
                found.append(int(entry.name))
    return found


@pytest.mark.parametrize("era", ["2012", "today"])
def test_a_small_network_downloads_end_to_end(tmp_path, era):
    folder = prepare(tmp_path, era)
    done = subprocess.run(
        [sys.executable, "-m", "torsweep", "loopback", "run", str(folder), "--progress"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "the authorities vote" in done.stderr
    assert not processes_of(tmp_path)
    tables = {
        schema: validate(pl.read_parquet(file), schema, file)
        for schema in (STREAMS, RELAYS, PROGRESS)
        for file in [folder / f"{schema.name}.parquet"]
    }
    streams = tables[STREAMS]
    assert streams["stream"].to_list() == [1, 2, 3]
    assert set(streams["outcome"]) == {"complete"}
    assert set(streams["circuit"]) == {1}
    assert streams["start_us"].is_sorted()
    # Client to exit and back is what the network's latencies say it is, or more.
    assert streams["socks_reply_us"].min() >= path_rtt_us(tmp_path)
    last = tables[PROGRESS].group_by("stream").agg(pl.col("bytes_got").max())
    assert set(last["bytes_got"]) == {CELLS * 498}
    carried = tables[RELAYS].group_by("relay").agg(pl.col("bytes_out").sum())
    # A relay's seconds are its own: the first and the last of so short a run may be booked outside of it.
    assert len(carried) == 3
    assert (carried["bytes_out"] > STREAMS_ASKED * CELLS * 514 / 10).all()
    provenance = read_json(folder / "provenance.json")
    assert provenance["engine"] == "loopback"
    assert provenance["delay"] == "proxy"
    assert provenance["run_sha256"] == sha256_of_file(folder / "run.json")


def path_rtt_us(folder: Path) -> int:
    """Of the client, the guard, the middle and the exit, one after the other."""
    network, rtt_us = read_network(folder / "network")
    nodes = [network.clients[0].node, *(relay.node for relay in network.relays)]
    return sum(int(rtt_us[here, there]) for here, there in pairwise(nodes))


def test_no_process_outlives_an_engine_that_is_killed(tmp_path):
    folder = prepare(tmp_path)
    command = [sys.executable, "-m", "torsweep", "loopback", "run", str(folder), "--progress"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as engine:
        assert engine.stderr is not None
        for line in engine.stderr:
            if "the authorities vote" in line:
                break
        assert len(processes_of(tmp_path)) > 4
        engine.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 20
    while left := processes_of(tmp_path):
        assert time.monotonic() < deadline, f"left over: {left}"
        time.sleep(0.1)
    assert not (folder / "provenance.json").exists()
