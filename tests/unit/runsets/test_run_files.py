"""Cells with their clients and downloads, and the files of programs, as :func:`torsweep.load` reads them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import polars as pl

from tests.small_network import equal_rtts, small_network
from torsweep.engines.cell_ring import CHANNELS_FILE
from torsweep.engines.host_files import address
from torsweep.engines.table_schema import CELLS, STREAMS, write_table
from torsweep.network.model import write_network
from torsweep.runsets.run_files import kept_files, read_cells

NETWORK = small_network(("guard", "exit", "middle"), ["web1", "bulk1"])


def filled(schema: Any, rows: list[dict[str, Any]]) -> pl.DataFrame:
    """``rows`` with null in the columns that may be empty, and nothing in the others."""
    nothing = {pl.Int64: 0, pl.String: "", pl.Boolean: False}
    empty = {column.name for column in schema.columns if column.nullable}
    usual = {name: None if name in empty else nothing.get(kind) for name, kind in schema.polars.items()}
    return pl.DataFrame([{**usual, **row} for row in rows], schema=schema.polars)


def test_a_cell_at_a_guard_has_its_client_and_the_download_under_way(tmp_path: Path):
    write_network(NETWORK, equal_rtts(NETWORK), tmp_path / "network")
    run = cast(Any, SimpleNamespace(directory=tmp_path, spec=SimpleNamespace(network="network")))
    cells = [
        {"host": "relay1", "time_ns": time_us * 1000, "channel": channel, "point": point, "outward": outward}
        for time_us, channel, point, outward in (
            (500, 1, "inbuf", None),
            (1500, 1, "inbuf", None),
            (2500, 1, "flush", False),
            (3500, 1, "flush", False),
            (1500, 2, "flush", True),
        )
    ]
    write_table(tmp_path, CELLS, filled(CELLS, cells))
    streams = [
        {
            "client": "web1",
            "kind": "web",
            "stream": 1,
            "start_us": 1000,
            "observed_us": 2000,
            "outcome": "complete",
        },
        {
            "client": "bulk1",
            "kind": "bulk",
            "stream": 1,
            "start_us": 0,
            "observed_us": 9000,
            "outcome": "complete",
        },
    ]
    write_table(tmp_path, STREAMS, filled(STREAMS, streams))
    ends = [address(NETWORK.node_of[name]) for name in ("web1", "relay2")]
    channels = {"host": ["relay1"] * 2, "channel": [1, 2], "remote_address": ends}
    pl.DataFrame(channels).write_parquet(tmp_path / CHANNELS_FILE)
    frame = read_cells(run)
    assert frame["client"].to_list() == ["web1"] * 4 + [None]
    assert frame["download"].to_list() == [None, 1, 1, None, None]
    assert frame["label"].to_list() == [None, "web", "web", None, None]
    assert frame["outward"].to_list() == [True, True, False, False, True]


def test_files_of_programs_are_listed_by_host(tmp_path: Path):
    run = cast(Any, SimpleNamespace(directory=tmp_path))
    assert kept_files(run).is_empty()
    (tmp_path / "programs/program1/more").mkdir(parents=True)
    (tmp_path / "programs/program1/more/x.csv").write_text("x")
    assert kept_files(run).rows() == [("program1", str(tmp_path / "programs/program1/more/x.csv"))]
