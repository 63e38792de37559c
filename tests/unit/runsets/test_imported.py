"""Simulations made with tornettools become runs with tables."""

from __future__ import annotations

import gzip
import json
import lzma
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.made_tornet import CLIENTS, END_S, RELAYS, Download, Host, tornet
from torsweep.cli import main
from torsweep.engines.table_schema import CIRCUITS, COSTS, RECEIVED, ROUND_TRIPS, STREAMS, validate
from torsweep.engines.table_schema import RELAYS as RELAYS_TABLE
from torsweep.runsets.imported import Import, import_simulations, open_import
from torsweep.runsets.run import read_table


@pytest.fixture
def imported(tmp_path: Path) -> Import:
    """The small example, from its logs."""
    return import_simulations([tornet(tmp_path / "tornet")], tmp_path / "import")


def rows(one: Import, schema: Any) -> pl.DataFrame:
    return read_table(one.folder / one.runs[0].folder, schema)


def test_downloads_have_the_times_that_tgen_reports(imported):
    columns = ["kind", "start_us", "half_us", "most_us", "last_byte_after_command_us", "latest_byte_us"]
    columns += ["outcome", "bytes_got"]
    streams = rows(imported, STREAMS).filter(pl.col("client") == "perfclient1exit").select(columns)
    assert streams.rows() == [
        ("perf_50kib", 60_000_000, 1_000_000, 1_000_000, 750_000, 1_000_000, "complete", 51_200),
        ("perf_5mib", 70_000_000, 2_000_000, 6_500_000, 8_750_000, 9_000_000, "complete", 5_242_880),
        ("perf_50kib", 71_000_000, None, None, None, 1_000_000, "timeout", 10_000),
        ("perf_1mib", 110_000_000, 2_000_000, None, None, 4_000_000, "unfinished", 700_000),
        ("perf_50kib", 111_000_000, 1_000_000, 1_000_000, 875_000, 1_000_000, "complete", 51_200),
    ]


def test_a_download_that_was_cut_off_was_seen_until_the_end_and_markov_clients_ask_for_what_they_get(
    imported,
):
    (cut,) = rows(imported, STREAMS).filter(outcome="unfinished").iter_rows(named=True)
    assert (cut["bytes_wanted"], cut["observed_us"]) == (1_048_576, (END_S - 110) * 1_000_000)
    assert cut["server"] == "server1exit"
    (download,) = rows(imported, STREAMS).filter(kind="markov").iter_rows(named=True)
    assert download["bytes_wanted"] == download["bytes_got"] == 20_000


def test_perf_clients_of_onion_services_have_a_kind_of_their_own(tmp_path):
    clients = {"perfclient2onionservice": CLIENTS["perfclient1exit"]}
    one = import_simulations([tornet(tmp_path / "tornet", clients)], tmp_path / "import")
    assert set(rows(one, STREAMS)["kind"]) == {"onion"}


def test_circuits_are_launched_when_tor_says(imported):
    columns = ["client", "circuit", "launched_us", "built_us", "closed_us", "close_reason", "path"]
    assert rows(imported, CIRCUITS).select(columns).rows() == [
        ("markovclient1exit", 1, 25_000_000, 25_750_000, None, None, "relay1guard"),
        ("perfclient1exit", 1, 20_000_000, 20_400_000, None, None, "relay1guard"),
        ("perfclient1exit", 2, 30_000_000, None, 35_000_000, "TIMEOUT", None),
    ]


def test_bytes_of_relays_count_in_the_second_in_which_tor_told_of_them(imported):
    relays = rows(imported, RELAYS_TABLE)
    told = relays.filter(pl.col("bytes_in") > 0).sort("relay", "second")
    assert told.select("second", "relay", "bytes_in", "bytes_out").rows() == [
        (61, "4uthority1", 10, 20),
        (61, "relay1guard", 1000, 2000),
        (62, "relay1guard", 3000, 4000),
    ]
    assert relays.height == END_S * len(RELAYS)


def test_payload_is_counted_in_the_second_in_which_it_came(imported):
    received = rows(imported, RECEIVED)
    assert received.group_by("kind").agg(pl.col("bytes_got").sum()).sort("kind").rows() == [
        ("markov", 20_100),
        ("perf_1mib", 700_000),
        ("perf_50kib", 2 * 51_200 + 10_000),
        ("perf_5mib", 5_242_880),
    ]
    assert received.filter(kind="perf_5mib").select("second", "bytes_got").rows() == [
        (72, 2_621_440),
        (76, 1_572_864),
        (78, 805_696),
        (79, 242_880),
    ]
    assert received.filter(kind="markov")["second"].to_list() == [63]


def test_every_table_fits_its_columns(imported):
    for schema in (STREAMS, CIRCUITS, RELAYS_TABLE, RECEIVED, ROUND_TRIPS, COSTS):
        validate(rows(imported, schema), schema, Path("table"))
    assert rows(imported, ROUND_TRIPS).is_empty()
    assert rows(imported, COSTS).is_empty()


def test_the_import_says_what_it_is_of(imported):
    (run,) = open_import(imported.folder).runs
    assert (run.name, run.network_seed, run.shadow_seed) == ("tornet", 1, 7)
    assert (run.duration_s, run.tgen, run.oniontrace) == (END_S, ["1.1.2"], ["1.0.0"])
    assert run.downloads == {"complete": 4, "failed": 0, "timeout": 1, "unfinished": 1}


def test_a_configuration_may_leave_the_seed_out(tmp_path):
    folder = tornet(tmp_path / "tornet")
    (folder / "shadow.config.yaml").write_text("general:\nhosts: {}\n")
    (run,) = import_simulations([folder], tmp_path / "import").runs
    assert run.shadow_seed is None


@pytest.mark.parametrize(("suffix", "pack"), [(".gz", gzip.compress), (".xz", lzma.compress)])
def test_packed_logs_give_the_same_tables(suffix, pack, imported, tmp_path):
    folder = tornet(tmp_path / "packed")
    for log in list(folder.glob("shadow.data/hosts/*/*.stdout")):
        log.with_name(f"{log.name}{suffix}").write_bytes(pack(log.read_bytes()))
        log.unlink()
    packed = import_simulations([folder], tmp_path / "import-packed")
    for schema in (STREAMS, CIRCUITS, RELAYS_TABLE, RECEIVED):
        assert rows(packed, schema).equals(rows(imported, schema))


def test_logs_of_shadow_2_have_the_host_in_their_names(imported, tmp_path):
    folder = tornet(tmp_path / "shadow2")
    for log in list(folder.glob("shadow.data/hosts/*/*.stdout")):
        log.rename(log.with_name(f"{log.parent.name}.{log.name}"))
    assert rows(import_simulations([folder], tmp_path / "again"), STREAMS).equals(rows(imported, STREAMS))


def test_the_command_names_an_import(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    tornet(tmp_path / "one")
    tornet(tmp_path / "two", {"perfclient1exit": Host([Download(0, 65.0)])}, network=2)
    with pytest.raises(SystemExit) as ended:
        main(["import", "tornettools", "one", "two", "--as", "vanilla"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == ("results/imports/vanilla: 2 simulations of 2 networks, 7 downloads\n")
    document = json.loads((tmp_path / "results/imports/vanilla/import.json").read_text())
    assert [run["name"] for run in document["runs"]] == ["one", "two"]
