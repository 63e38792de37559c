"""Rings of traced cells are read, what is missing is counted; the cells table of a run, also of cellsim."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.prepared_runs import prepared_run, sampled_network
from torsweep.config.experiment import load_experiment
from torsweep.config.tracing import Tracing
from torsweep.engines import cell_ring
from torsweep.engines.cell_ring import (
    CHANNEL,
    OUTWARD,
    POINTS,
    RECORD,
    RING_HEADER,
    read_ring,
    ring_bytes,
    scan_cells,
    write_cells,
)
from torsweep.engines.run_spec import write_run
from torsweep.engines.table_schema import CELLS, validate
from torsweep.errors import InputError
from torsweep.runsets.passages import passages

HEADER_BYTES = 128


def write_ring(
    file: Path, records: np.ndarray, capacity: int = 8, *, channels: int = 0, **header: int
) -> Path:
    """A file as tor leaves it after writing ``records`` into a ring of ``capacity``."""
    head = np.zeros(1, RING_HEADER)
    usual = {
        "magic": cell_ring.MAGIC,
        "version": cell_ring.RING_VERSION,
        "header_bytes": HEADER_BYTES,
        "channel_bytes": CHANNEL.itemsize,
        "record_bytes": RECORD.itemsize,
        "most_channels": 2,
        "most_records": capacity,
        "channels": channels,
        "records": len(records),
        "points": 31,
        "sample": 1,
    }
    for key, value in (usual | header).items():
        head[key] = value
    listed = np.zeros(2, CHANNEL)
    listed["channel"], listed["local_ipv4"], listed["local_port"] = [5, 6], 0x0B000001, 9001
    ring = np.zeros(capacity, RECORD)
    for number, record in enumerate(records):
        ring[number % capacity] = record
    content = head.tobytes().ljust(HEADER_BYTES, b"\0") + listed.tobytes() + ring.tobytes()
    file.write_bytes(content)
    return file


def made(count: int) -> np.ndarray:
    """``count`` records of cells 1, 2, …, each with its number and a place."""
    records = np.zeros(count, RECORD)
    records["sequence"] = np.arange(1, count + 1)
    records["cell"] = np.arange(1, count + 1)
    records["time_ns"] = 1000 * np.arange(1, count + 1)
    records["place"] = np.arange(count) % len(POINTS)
    return records


@pytest.mark.parametrize(("written", "overwritten"), [(5, 0), (21, 13)])
def test_records_come_in_the_order_of_writing_and_the_oldest_are_overwritten(tmp_path, written, overwritten):
    ring = read_ring(write_ring(tmp_path / "ring", made(written)))
    assert ring.records["cell"].tolist() == list(range(overwritten + 1, written + 1))
    assert (ring.written, ring.overwritten, ring.torn) == (written, overwritten, 0)


def test_a_record_without_its_number_is_torn(tmp_path):
    records = made(6)
    records["sequence"][3] = 99
    records["place"][4] = len(POINTS)
    ring = read_ring(write_ring(tmp_path / "ring", records))
    assert ring.records["cell"].tolist() == [1, 2, 3, 6]
    assert ring.torn == 2


def test_what_is_overwritten_while_it_is_read_is_left_out(tmp_path, monkeypatch):
    """Between the two readings of the header, tor writes three records, and may be at a fourth."""
    file = write_ring(tmp_path / "ring", made(8))
    header, seen = cell_ring.read_header, []

    def later(content: np.ndarray, of: Path) -> np.void:
        told = header(content, of)
        if seen:
            told["records"] += 3
        seen.append(told)
        return told

    monkeypatch.setattr(cell_ring, "read_header", later)
    ring = read_ring(file)
    assert ring.records["cell"].tolist() == [5, 6, 7, 8]
    assert ring.torn == 4


def test_channels_beyond_the_list_are_counted(tmp_path):
    ring = read_ring(write_ring(tmp_path / "ring", made(1), channels=3))
    assert ring.unlisted_channels == 1
    assert cell_ring.channels_frame(ring, "relay1").row(0, named=True) == {
        "host": "relay1",
        "channel": 5,
        "seen_ns": 0,
        "local_address": "11.0.0.1",
        "local_port": 9001,
        "remote_address": None,
        "remote_port": 0,
        "is_outgoing": False,
    }


def test_the_table_says_what_each_place_knows(tmp_path):
    records = made(5)
    records["detail"][1] = 3 << 16 | 0x4321
    records["value"] = 7
    records["tls_offset"], records["tcp_offset"] = 514, 536
    records["place"][2:] |= OUTWARD
    frame = cell_ring.cells_frame(read_ring(write_ring(tmp_path / "ring", records)), "relay1")
    validate(frame, CELLS, tmp_path / "ring")
    known = {
        "point": [*POINTS],
        "outward": [None, False, True, True, True],
        "relay_command": [None, 3, None, None, None],
        "stream": [None, 0x4321, None, None, None],
        "queue_cells": [None, None, 7, 7, None],
        "write_ns": [None, None, None, None, 7],
        "tls_offset": [514, None, None, 514, 514],
        "tcp_offset": [536, None, None, None, 536],
    }
    assert frame.select(*known).to_dict(as_series=False) == known
    assert frame.schema["time_ns"] == pl.Int64


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda content: b"", "no cell trace"),
        (lambda content: b"NOTCELLS" + content[8:], "no cell trace"),
        (lambda content: content[:40], "no cell trace"),
        (lambda content: content[:-1], "cut short"),
        (lambda content: content[:8] + b"\2" + content[9:], "another version"),
        (lambda content: content[:20] + b"\0" + content[21:], "damaged header"),
        (lambda content: content[:32] + b"\xff" * 8 + content[40:], "damaged header"),
        (lambda content: content[:60] + bytes(4) + content[64:], "damaged header"),
    ],
)
def test_what_is_no_ring_is_refused(tmp_path, damage, words):
    file = write_ring(tmp_path / "ring", made(3))
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(InputError, match=words):
        read_ring(file)
    with pytest.raises(InputError, match="cannot be read"):
        read_ring(tmp_path / "none")


def test_rings_become_one_table_and_lost_records_are_counted(tmp_path: Path) -> None:
    torn = made(6)
    torn["sequence"][3] = 99
    rings = {
        "relay1": write_ring(tmp_path / "one", made(21), cells=40),
        "relay2": write_ring(tmp_path / "two", torn, cells=6),
    }
    counters = write_cells(tmp_path, rings, zero_ns=15_000)
    assert counters == {
        "relay1": {"cells": 40, "written": 21, "overwritten": 13, "torn": 0, "unlisted_channels": 0},
        "relay2": {"cells": 6, "written": 6, "overwritten": 0, "torn": 1, "unlisted_channels": 0},
    }
    frame = scan_cells(tmp_path).collect()
    validate(frame, CELLS, tmp_path / "cells.parquet")
    assert frame.group_by("host").len().sort("host")["len"].to_list() == [8, 5]
    assert frame["time_ns"].to_list()[:3] == [-1000, 0, 1000]


def test_a_ring_is_as_large_as_tor_makes_it() -> None:
    """cell_trace.h: a page, 8192 channels, the records."""
    tracing = Tracing(hosts=("relay1",), records=1000)
    assert ring_bytes(tracing) == 4096 + 8192 * CHANNEL.itemsize + 1000 * RECORD.itemsize
    assert RING_HEADER.itemsize <= 4096


def test_what_is_no_table_of_cells_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "cells.parquet"
    for damage, said in (
        (lambda: None, "no such table"),
        (lambda: file.write_bytes(b"PAR1 and no more"), "no whole Parquet file"),
        (lambda: pl.DataFrame({"host": ["relay1"]}).write_parquet(file), "no cells table of this version"),
    ):
        damage()
        with pytest.raises(InputError, match=said):
            scan_cells(tmp_path)


def prepared(tmp_path: Path, name: str, **tracing: object) -> Path:
    """A run of four simulated seconds on a chain, prepared for cellsim."""
    network = tmp_path / "network"
    if not network.exists():
        sampled_network(network, "traced_guard")
    wanted = Tracing.model_validate({"hosts": ["relay1", "relay2"], **tracing}) if tracing else None
    asked = load_experiment("cell_trace", {"warm_up": "2 s", "measured": "2 s"})
    asked = asked.model_copy(update={"tracing": wanted})
    run = tmp_path / name
    write_run(prepared_run(network, run, "scheduler=kist_10ms", of=asked, era="today"), run)
    return run


def simulated(run: Path) -> dict:
    subprocess.run(["cellsim", "run", str(run)], check=True)
    return json.loads((run / "provenance.json").read_text())


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that has traced every cell of two relays."""
    run = prepared(tmp_path_factory.mktemp("whole"), "run", sample=1)
    simulated(run)
    return run


def test_a_relay_that_the_network_has_not_is_refused(tmp_path: Path) -> None:
    for host, said in (
        ("relay4", "no such host, got 'relay4'; accepted: relay1 to relay3, and clients"),
        ("web1", "records no cells in the model, got 'web1'"),
    ):
        with pytest.raises(InputError, match=rf"tracing\.hosts: {said}"):
            prepared(tmp_path, "run", hosts=[host])


def test_tracing_changes_nothing_else_in_cellsim(whole: Path, tmp_path: Path) -> None:
    plain = prepared(tmp_path, "plain")
    tables = [json.loads((whole / "provenance.json").read_text())["tables"], simulated(plain)["tables"]]
    assert tables[0].pop("cells.parquet")
    assert tables[0].pop("breakdown.parquet")
    assert tables[0] == tables[1]
    assert not (plain / "cells.parquet").exists()


def test_cells_of_cellsim_are_whole_in_both_relays(whole: Path) -> None:
    told = json.loads((whole / "provenance.json").read_text())["tracing"]
    cells = scan_cells(whole).collect()
    assert {host: of["written"] for host, of in told.items()} == dict(
        cells.group_by(pl.col("host").cast(pl.String)).len().iter_rows()
    )
    frame, counts = passages(cells.lazy())
    for host, of in told.items():
        own = counts[host]
        in_table = cells.filter(pl.col("host") == host)["cell"].n_unique()
        assert in_table == of["cells"]
        assert own.lost == 0 and own.passages > 1000
    assert (frame.select("relaying_ns", "waiting_ns", "writing_ns").to_numpy() >= 0).all()
    assert 0 < np.median(frame["waiting_ns"]) < 10_000_000


def test_a_cell_ends_at_the_same_byte_at_both_ends_of_a_connection(whole: Path) -> None:
    """Inward, relay2 sends to relay1: every cell's end at its flush there is one's at its inbuf here."""
    cells = scan_cells(whole)
    came = cells.filter(pl.col("host") == "relay1", pl.col("point") == "inbuf")
    left = cells.filter(pl.col("host") == "relay2", pl.col("point") == "flush", ~pl.col("outward"))
    by = ["channel", "tls_offset"]
    joined = came.join(left, on=by, suffix="_sent").collect()
    inward = came.join(left.select("channel").unique(), on="channel", how="semi").collect()
    assert len(joined) == len(inward) > 1000
    assert (joined["time_ns"] > joined["time_ns_sent"]).all()
    assert (joined["command"] == joined["command_sent"]).all()
    assert (joined["circuit"] == joined["circuit_sent"]).all()


def test_a_sample_and_some_points_are_a_part_of_the_whole(whole: Path, tmp_path: Path) -> None:
    run = prepared(tmp_path, "some", sample=7, points=["inbuf", "flush"])
    simulated(run)
    every, some = (scan_cells(one).cast({"host": pl.String}) for one in (whole, run))
    expected = every.filter((pl.col("cell") - 1) % 7 == 0, pl.col("point").is_in(["inbuf", "flush"]))
    assert some.collect().equals(expected.collect())
