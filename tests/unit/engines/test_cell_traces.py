"""The cells table of a run: from rings, and from cellsim."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.prepared_runs import prepared_run, sampled_network
from tests.unit.engines.test_cell_ring import made, write_ring
from torsweep.config.experiment import load_experiment
from torsweep.config.tracing import Tracing
from torsweep.engines.cell_ring import CHANNEL, RECORD, RING_HEADER, ring_bytes, scan_cells, write_cells
from torsweep.engines.run_spec import write_run
from torsweep.engines.table_schema import CELLS, validate
from torsweep.errors import InputError
from torsweep.runsets.passages import passages


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
