"""Cells with their clients and downloads, and the files of programs, as :func:`torsweep.load` reads them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import polars as pl

from tests.small_network import equal_rtts, small_network
from torsweep.engines.cell_ring import CHANNELS_FILE
from torsweep.engines.draws import site_of
from torsweep.engines.host_files import address
from torsweep.engines.run_spec import RunTraffic
from torsweep.engines.table_schema import CELLS, CIRCUITS, STREAMS, write_table
from torsweep.network.model import write_network
from torsweep.runsets.run import Run
from torsweep.runsets.run_files import kept_files, read_cells

NETWORK = small_network(("guard", "exit", "middle"), ["web1", "bulk1"])


def filled(schema: Any, rows: list[dict[str, Any]]) -> pl.DataFrame:
    """``rows`` with null in the columns that may be empty, and nothing in the others."""
    nothing = {pl.Int64: 0, pl.String: "", pl.Boolean: False}
    empty = {column.name for column in schema.columns if column.nullable}
    usual = {name: None if name in empty else nothing.get(kind) for name, kind in schema.polars.items()}
    return pl.DataFrame([{**usual, **row} for row in rows], schema=schema.polars)


def run_of(tmp_path: Path, engine: str, traffic: dict[str, RunTraffic] | None = None) -> Run:
    """A run of :data:`NETWORK`, without tables."""
    write_network(NETWORK, equal_rtts(NETWORK), tmp_path / "network")
    spec = SimpleNamespace(network="network", engine=engine, traffic=traffic or {}, seed=7)
    return cast(Any, SimpleNamespace(directory=tmp_path, spec=spec))


def write_cells(tmp_path: Path, *rows: tuple[str, int, int, str, bool | None, int]) -> None:
    """A table of cells: host, µs, channel, point, outward, circuit."""
    names = ("host", "time_ns", "channel", "point", "outward", "circuit")
    cells = [dict(zip(names, (row[0], row[1] * 1000, *row[2:]), strict=True)) for row in rows]
    write_table(tmp_path, CELLS, filled(CELLS, cells))


def write_streams(tmp_path: Path, *rows: tuple[str, str, int, int, int]) -> None:
    """A table of streams: client, kind, number, µs of its start and its end."""
    names = ("client", "kind", "stream", "start_us", "observed_us")
    streams = [dict(zip(names, (*row[:4], row[4] - row[3]), strict=True)) for row in rows]
    write_table(tmp_path, STREAMS, filled(STREAMS, [{**row, "outcome": "complete"} for row in streams]))


def test_a_cell_at_a_guard_has_its_client_and_the_download_under_way(tmp_path: Path):
    run = run_of(tmp_path, "emulation")
    at = (
        ("relay1", 500, 1, "inbuf", None, 0),
        ("relay1", 1500, 1, "inbuf", None, 0),
        ("relay1", 2500, 1, "flush", False, 0),
        ("relay1", 3500, 1, "flush", False, 0),
        ("relay1", 1500, 2, "flush", True, 0),
    )
    write_cells(tmp_path, *at)
    write_streams(tmp_path, ("web1", "web", 1, 1000, 3000), ("bulk1", "bulk", 1, 0, 9000))
    ends = [address(NETWORK.node_of[name]) for name in ("web1", "relay2")]
    channels = {"host": ["relay1"] * 2, "channel": [1, 2], "remote_address": ends}
    pl.DataFrame(channels).write_parquet(tmp_path / CHANNELS_FILE)
    frame = read_cells(run)
    assert frame["client"].to_list() == ["web1"] * 4 + [None]
    assert frame["download"].to_list() == [None, 1, 1, None, None]
    assert frame["label"].to_list() == [None, "web", "web", None, None]
    assert frame["outward"].to_list() == [True, True, False, False, True]


def test_a_cell_at_a_client_goes_the_other_way(tmp_path: Path):
    run = run_of(tmp_path, "emulation")
    write_cells(tmp_path, ("web1", 10, 3, "flush", True, 0), ("web1", 20, 3, "inbuf", None, 0))
    write_streams(tmp_path, ("web1", "web", 1, 0, 3000))
    frame = read_cells(run)
    rows = frame.select("client", "outward", "label").rows()
    assert rows == [("web1", True, "web"), ("web1", False, "web")]


def test_in_the_model_circuits_say_whose_a_cell_is(tmp_path: Path):
    run = run_of(tmp_path, "cellsim")
    cells = (
        ("relay1", 10, 1, "inbuf", None, 5),
        ("relay1", 11, 2, "flush", True, 5),
        ("relay1", 20, 2, "inbuf", None, 5),
        ("relay1", 21, 1, "flush", False, 5),
        # At the middle relay, where the circuit's channels lead to other relays.
        ("relay3", 19, 2, "flush", False, 5),
    )
    write_cells(tmp_path, *cells)
    circuits = [{"client": "bulk1", "circuit": 5, "path": "relay1,relay3,relay2"}]
    write_table(tmp_path, CIRCUITS, filled(CIRCUITS, circuits))
    write_streams(tmp_path, ("bulk1", "bulk", 4, 0, 3000))
    frame = read_cells(run)
    assert frame["client"].to_list() == ["bulk1", None, None, "bulk1", None]
    assert frame["outward"].to_list() == [True, True, None, False, False]
    assert frame["download"].to_list() == [4, None, None, 4, None]


def test_cells_of_a_page_have_its_site(tmp_path: Path):
    """The second object ends after the third, and the next page begins after a pause."""
    sites = {"news": (20_000, 3_000), "video": (1, 2, 3)}
    traffic = RunTraffic.model_validate(
        {
            "request_bytes": 400,
            "response_bytes": 1_000,
            "think_min_ns": 0,
            "think_max_ns": 0,
            "streams_per_circuit_isolation": False,
            "parallel_streams": 2,
            "timeout_ns": None,
            "sites": sites,
        }
    )
    run = run_of(tmp_path, "emulation", {"web": traffic})
    write_cells(tmp_path, *(("web1", time, 3, "flush", True, 0) for time in (5, 12, 18, 25, 35, 45)))
    streams = ((1_000_001, 0, 10), (1_000_002, 15, 30), (1_000_003, 16, 20), (2_000_001, 40, 50))
    write_streams(tmp_path, *(("web1", "web", number, *times) for number, *times in streams))
    frame = read_cells(run)
    first, second = (site_of(traffic, 7, 0, page) for page in (1, 2))
    assert frame["label"].to_list() == [first] * 4 + [None, second]
    assert frame["download"].to_list() == [1_000_001, 1_000_001, 1_000_003, 1_000_002, None, 2_000_001]


def test_files_of_programs_are_listed_by_host(tmp_path: Path):
    run = cast(Any, SimpleNamespace(directory=tmp_path))
    assert kept_files(run).is_empty()
    (tmp_path / "programs/program1/more").mkdir(parents=True)
    (tmp_path / "programs/program1/more/x.csv").write_text("x")
    assert kept_files(run).rows() == [("program1", str(tmp_path / "programs/program1/more/x.csv"))]
