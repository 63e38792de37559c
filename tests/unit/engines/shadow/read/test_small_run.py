"""A run of seven relays and four clients under Shadow 3.3.0, read whole and by a slow second reader.

``small_run`` holds its logs: TGen 1.1.2, OnionTrace 1.0.0, tor 0.4.9.11.
"""

from __future__ import annotations

import gzip
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from torsweep.engines.shadow.read import logs, write_tables
from torsweep.engines.shadow.read.oniontrace import read_oniontrace, traced_downloads
from torsweep.engines.shadow.read.streams import all_downloads, unfinished_downloads
from torsweep.engines.shadow.read.tgen import read_graphs, read_tgen
from torsweep.engines.shadow.simulate import HOSTS_FOLDER, read_layout

SMALL_RUN = Path(__file__).parent / "small_run"
TABLES = ("streams", "relays", "circuits", "received", "round_trips")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SMALL_RUN, tmp_path / "run"))


def read(run: Path) -> dict[str, pl.DataFrame]:
    write_tables(run, run / "shadow")
    return {name: pl.read_parquet(run / f"{name}.parquet") for name in TABLES}


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pl.DataFrame]:
    """What the logs give, read once."""
    return read(Path(shutil.copytree(SMALL_RUN, tmp_path_factory.mktemp("small") / "run")))


def one_by_one(run: Path) -> list[dict[str, Any]]:
    """The finished downloads, field by field with nothing but string methods."""
    layout = read_layout(run / "shadow")
    start_us = layout.epoch_s * 1_000_000 + layout.bootstrap_ns // 1000
    rows = []
    for client in sorted(layout.clients):
        (file,) = (run / "shadow" / HOSTS_FOLDER / client).glob("tgen.*.stdout.gz")
        for line in gzip.decompress(file.read_bytes()).decode().splitlines():
            if "[stream-success]" not in line:
                continue
            fields = {}
            for group in ("stream [", "bytes [", "times ["):
                for pair in line.split(group)[1].split("]")[0].split(","):
                    key, value = pair.split("=")
                    fields[key] = value
            last_us = int(fields["usecs-to-last-byte-recv"])
            rows.append(
                {
                    "client": client,
                    "stream": int(fields["id"]) + 1,
                    "server": fields["peername"],
                    "start_us": int(fields["created-ts"]) - start_us,
                    "socks_reply_us": int(fields["usecs-to-proxy-response"]),
                    "first_byte_us": int(fields["usecs-to-first-byte-recv"]),
                    "last_byte_us": last_us,
                    "latest_byte_us": last_us,
                    "last_byte_after_command_us": last_us - int(fields["usecs-to-command"]),
                    "bytes_got": int(fields["payload-bytes-recv"]),
                }
            )
    return rows


def test_finished_downloads_are_those_of_a_slow_reader(tables) -> None:
    expected = one_by_one(SMALL_RUN)
    found = tables["streams"].filter(pl.col("outcome") == "complete").select(list(expected[0]))
    assert found.rows(named=True) == expected
    assert len(expected) == 10


def test_what_was_cut_off(tables) -> None:
    unfinished = tables["streams"].filter(pl.col("outcome") == "unfinished")
    assert unfinished.select("client", "stream", "start_us", "bytes_got").rows() == [
        ("bulk1", 3, 49_292_110, 1_328_241),
        ("web1", 3, 57_156_918, 147_133),
    ]


def test_what_tor_tells_of_downloads_holds_where_tgen_reported_them() -> None:
    """Unfinished downloads have nothing but tor's word; here it is held against TGen's."""
    folder = SMALL_RUN / "shadow"
    layout = read_layout(folder)
    clients = list(layout.clients)
    tgen = read_tgen(logs.find_logs(folder / HOSTS_FOLDER, "tgen", clients))
    events = read_oniontrace(logs.find_logs(folder / HOSTS_FOLDER, "oniontrace", clients))
    none_open = pl.DataFrame(schema={"log": pl.Int64, "vertex": pl.String, "created_us": pl.Int64})
    downloads = traced_downloads(all_downloads(tgen, none_open, layout), events)
    assert downloads.height == 10
    for traced, byte in (("traced_first_us", "first_byte_us"), ("traced_latest_us", "last_byte_us")):
        late_us = downloads[traced] - downloads["created_us"] - downloads[byte]
        assert late_us.is_between(0, 1_000_000).all(), "to the second, and never too early"
    # TGen's checksum and farewell, 41 bytes, come behind the payload.
    assert (downloads["traced_bytes"] - downloads["bytes_got"]).is_between(41, 45).all()
    assert (downloads["connected_us"] - downloads["created_us"] == downloads["socks_reply_us"]).all()


def test_downloads_begin_when_the_one_before_and_its_pause_are_over() -> None:
    folder = SMALL_RUN / "shadow"
    clients = list(read_layout(folder).clients)
    tgen_logs = logs.find_logs(folder / HOSTS_FOLDER, "tgen", clients)
    tgen = read_tgen(tgen_logs)
    steps = read_graphs(
        [logs.Log(name, folder / HOSTS_FOLDER / name / "tgen.graphml.gz") for name in clients]
    )
    # Without the last report of each client, what was reported last is found as unfinished, at its start.
    last = tgen.downloads.sort("created_us").group_by("log", maintain_order=True).last()
    fewer = tgen.downloads.join(last, on=["log", "id"], how="anti")
    found = unfinished_downloads(tgen_logs, replace(tgen, downloads=fewer), steps, 10**18)
    assert found.select("log", "created_us").sort("log").rows() == sorted(
        last.select("log", "created_us").rows()
    )


def test_every_download_has_its_circuit_and_every_circuit_its_path(tables) -> None:
    assert tables["streams"]["circuit"].null_count() == 0
    used = tables["circuits"].filter(pl.col("streams") > 0)
    assert used.select("client", "circuit", "path", "streams").rows() == [
        ("bulk1", 3, "relay5,relay1,relay3", 3),
        ("web1", 4, "relay4,relay7,relay3", 3),
        ("web2", 3, "relay5,relay7,relay3", 3),
        ("web3", 4, "relay5,relay7,relay1", 3),
    ]


def test_what_clients_received_is_what_their_downloads_got(tables) -> None:
    got = tables["streams"].group_by("kind").agg(pl.col("bytes_got").sum()).sort("kind")
    assert tables["received"].group_by("kind").agg(pl.col("bytes_got").sum()).sort("kind").equals(got)
    assert tables["received"]["second"].is_sorted()
    assert tables["round_trips"].is_empty(), "windows of 2012 are fixed"


def test_pieces_of_any_size_give_the_same_tables(run: Path, tables, monkeypatch) -> None:
    for size in (700, 4096):
        monkeypatch.setattr(logs, "BATCH_BYTES", size)
        pieces = read(run)
        assert all(pieces[name].equals(tables[name]) for name in TABLES)


def test_plain_logs_give_the_same_tables_as_compressed_ones(run: Path, tables) -> None:
    for file in (run / "shadow" / HOSTS_FOLDER).glob("*/*.gz"):
        file.with_suffix("").write_bytes(gzip.decompress(file.read_bytes()))
        file.unlink()
    again = read(run)
    assert all(again[name].equals(tables[name]) for name in TABLES)
