"""One scenario for every engine: a client downloads three times 200 cells at once over its only path.

In: a folder, an engine, an era. Out: a run directory; and after the engine, the checks that hold whichever
it was.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.prepared_runs import run_traffic, sampled_network
from torsweep.config.tor_settings import Transport
from torsweep.config.tracing import Tracing
from torsweep.config.world_knobs import CELL_PAYLOAD_BYTES
from torsweep.engines.breakdown.passing import SLACK_NS
from torsweep.engines.cell_ring import scan_cells
from torsweep.engines.registry import MODEL_ENGINE
from torsweep.engines.run_settings import engine_tor_settings
from torsweep.engines.run_spec import RunSpec, RunTables, write_run
from torsweep.engines.table_schema import BREAKDOWN, PROGRESS, RELAYS, STREAMS, validate
from torsweep.engines.table_schema import CELLS as CELLS_TABLE
from torsweep.formats.files import read_json
from torsweep.network.model import read_network
from torsweep.network.relays import only_paths
from torsweep.provenance import sha256_of_file
from torsweep.runsets.passages import RELAY_COMMANDS, passages
from torsweep.runsets.run import open_run
from torsweep.runsets.run_files import read_cells

CELLS, STREAMS_ASKED, CELL_BYTES = 200, 3, 514
HOSTS = ("relay1", "relay2", "relay3")
DAY_NS = 86_400 * 10**9


def prepare(
    folder: Path,
    engine: str,
    era: str = "2012",
    *,
    traced: bool = False,
    streams: int = STREAMS_ASKED,
    size: int = CELLS * CELL_PAYLOAD_BYTES,
) -> Path:
    """The run directory: at most 60 s, over as soon as the downloads of ``size`` bytes are.

    With ``traced``, the relays record their cells, and every download is followed.
    """
    network = sampled_network(folder / "network", "starvation", seed=3)
    pauses = {"think_min_ns": DAY_NS, "think_max_ns": DAY_NS}
    traffic = run_traffic(response_bytes=size, parallel_streams=streams, **pauses)
    run = RunSpec(
        experiment="test",
        engine=engine,
        era=era,
        variant={},
        warm_up_ns=0,
        duration_ns=60 * 10**9,
        client_start_window_ns=0,
        tor=engine_tor_settings(engine, era, {}),
        transport=Transport() if engine == MODEL_ENGINE else None,
        traffic={"bulk": traffic},
        paths=only_paths(network),
        tables=RunTables(progress=True),
        tracing=Tracing(hosts=HOSTS, records=100_000, downloads=1) if traced else None,
        network="../network",
        network_sha256=sha256_of_file(folder / "network" / "network.json"),
        seed=3,
    )
    write_run(run, folder / "run")
    return folder / "run"


def play(command: Sequence[str], folder: Path) -> None:
    """Let the engine ``command`` run ``folder`` to its end.

    A run in real time that other work slowed down is refused by the engine: it is tried once more, and then
    the test is skipped with what the engine said.
    """
    for _ in range(2):
        done = subprocess.run([*command, str(folder)], capture_output=True, text=True, check=False)
        if "fell behind real time" not in done.stderr:
            assert done.returncode == 0, done.stderr
            return
    pytest.skip(done.stderr.strip().splitlines()[-1])


def check(run_directory: Path) -> dict[str, Any]:
    """Hold the tables against what the scenario must come to in any engine; return the provenance."""
    tables = {
        schema: validate(pl.read_parquet(file), schema, file)
        for schema in (STREAMS, RELAYS, PROGRESS)
        for file in [run_directory / f"{schema.name}.parquet"]
    }
    streams = tables[STREAMS].sort("stream")
    assert streams["stream"].to_list() == [1, 2, 3]
    assert set(streams["outcome"]) == {"complete"}
    assert set(streams["bytes_got"]) == {CELLS * CELL_PAYLOAD_BYTES}
    assert streams["circuit"].n_unique() == 1
    assert streams["start_us"].is_sorted()
    rtt_us = path_rtt_us(run_directory.parent / "network")
    # A stream is open, and a first byte there, after round trips over the whole path.
    assert streams["socks_reply_us"].min() >= rtt_us
    assert (streams["first_byte_after_command_us"] >= rtt_us).all()
    last = tables[PROGRESS].group_by("stream").agg(pl.col("bytes_got").max())
    assert set(last["bytes_got"]) == {CELLS * CELL_PAYLOAD_BYTES}
    carried = tables[RELAYS].group_by("relay").agg(pl.col("bytes_out").sum())
    provenance = read_json(run_directory / "provenance.json")
    # Under Shadow nobody tells of a relay that can build no circuit of its own.
    assert len(carried) == 3 - provenance["counters"].get("relays_without_trace", 0) >= 1
    # A real relay's seconds are its own: the first and the last of so short a run may be booked outside of
    # it.
    assert (carried["bytes_out"] > STREAMS_ASKED * CELLS * CELL_BYTES / 10).all()
    assert provenance["run_sha256"] == sha256_of_file(run_directory / "run.json")
    return provenance


def directions(run_directory: Path) -> str:
    """The RELAY cells at the guard of the one download, by time: "o" away from the client, "i" towards it."""
    cells = read_cells(open_run(run_directory)).filter(
        pl.col("host") == "relay1",
        pl.col("download") == 1,
        pl.col("command").is_in(RELAY_COMMANDS),
        pl.col("point").cast(pl.String).is_in(["inbuf", "flush"]),
    )
    # Other circuits are built at the same time.
    circuit = max(cells.partition_by("circuit"), key=len).sort("time_ns", "cell")
    return "".join("o" if outward else "i" for outward in circuit["outward"])


def check_cells(run_directory: Path) -> None:
    """Hold the cells of guard and middle against what they must come to in any engine."""
    cells = scan_cells(run_directory).collect()
    validate(cells, CELLS_TABLE, run_directory / "cells.parquet")
    frame, counts = passages(cells.lazy())
    told = read_json(run_directory / "provenance.json")["tracing"]
    for host in ("relay1", "relay2"):
        own = cells.filter(pl.col("host") == host)
        assert len(own) == told[host]["written"]
        assert told[host].get("torn", 0) == told[host].get("overwritten", 0) == counts[host].lost == 0
        inward = frame.filter(pl.col("host") == host, ~pl.col("outward"))
        assert len(inward) >= STREAMS_ASKED * CELLS
        assert (inward.select("relaying_ns", "waiting_ns", "writing_ns").to_numpy() >= 0).all()
    # What the middle has given to the kernel towards the guard is what the guard has read, byte for byte.
    # Two relays may have several channels with each other, and cells of their own on them: the download's are
    # the two ends with the most offsets in common.
    since = cells.filter(pl.col("time_ns") >= 0)
    sent = since.filter(pl.col("host") == "relay2", pl.col("point") == "flush", ~pl.col("outward"))
    read = since.filter(pl.col("host") == "relay1", pl.col("point") == "inbuf")
    pairs = sent.join(read, on="tls_offset", suffix="_read").partition_by("channel", "channel_read")
    both = max(pairs, key=len)
    assert len(both) >= STREAMS_ASKED * CELLS
    assert (both["command"] == both["command_read"]).all()
    # No cell is read before the other host has moved it to its output buffer.
    moved = cells.filter(pl.col("host") == "relay2", pl.col("point") == "outbuf").select("cell", "time_ns")
    in_order = both.join(moved, on="cell", suffix="_moved")
    assert len(in_order) == len(both)
    assert (in_order["time_ns_read"] >= in_order["time_ns_moved"]).all()


def check_breakdown(run_directory: Path) -> None:
    """Hold the ways of the downloads against their times: each has one, and its pieces add up."""
    file = run_directory / "breakdown.parquet"
    ways = validate(pl.read_parquet(file), BREAKDOWN, file)
    streams = pl.read_parquet(run_directory / "streams.parquet")
    told = read_json(run_directory / "provenance.json")["followed_downloads"]
    assert (told["followed"], told["first_bytes"], told["whole"]) == (STREAMS_ASKED,) * 3, told
    rtt_us = path_rtt_us(run_directory.parent / "network")
    for (stream, byte), own in ways.group_by("stream", "byte"):
        row = streams.filter(pl.col("stream") == stream).row(0, named=True)
        assert own["duration_ns"].sum() // 1000 == row[f"{byte}_byte_us"]
        ends = (own["start_ns"] + own["duration_ns"]).to_list()
        assert own["start_ns"].to_list()[1:] == ends[:-1]
        # BEGIN and CONNECTED, the request and its answer: the path twice there and back. On each of the
        # three links a process may record its time late, by the slack that the breakdown allows.
        crossed_us = own.filter(pl.col("part") == "propagation")["duration_ns"].sum() / 1000
        assert crossed_us >= 2 * rtt_us - 4 * 3 * SLACK_NS / 1000


def path_rtt_us(folder: Path) -> int:
    """Of the client, the guard, the middle and the exit, one after the other."""
    network, latencies = read_network(folder)
    nodes = [network.node_of[host.name] for host in (network.clients[0], *network.relays)]
    return sum(int(latencies.between(here, there)) for here, there in pairwise(nodes))
