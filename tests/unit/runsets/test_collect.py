"""Runs of a plan gathered into tables."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

from tests.synthetic import KNOBS, RELAY_BYTES_PER_S, Size, finish_run, record_tables, write_run, write_sweep
from torsweep.engines.table_schema import PROGRESS
from torsweep.errors import InputError
from torsweep.network.model import Network, read_network
from torsweep.provenance import sha256_of_file
from torsweep.runsets.collect import collect
from torsweep.runsets.plan_tables import PlanTables, read_provenance

SMALL = Size(web_clients=4, bulk_clients=1, relays=2, warm_up_s=10, duration_s=40)


FIRST = dict(zip(KNOBS, ("1000ms", "ewma"), strict=True))
"""The levels of the first run, whose seed is 1."""


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    return write_sweep(tmp_path / "runs", run_seeds=(1, 2), size=SMALL)


def _collected(runs: list[Path], tmp_path: Path) -> PlanTables:
    collect(runs, tmp_path / "tables", network="ci")
    return PlanTables.open(tmp_path / "tables")


def _with_streams(run: Path, streams: pl.DataFrame) -> None:
    streams.write_parquet(run / "streams.parquet")
    record_tables(run)


def test_every_row_after_the_warm_up_is_there_once(runs, tmp_path):
    tables = _collected(runs, tmp_path)
    table = pl.read_parquet(tmp_path / "tables/streams.parquet")
    ends_us = pl.col("start_us") + pl.col("observed_us")
    there = sum(pl.read_parquet(run / "streams.parquet").filter(ends_us > 10_000_000).height for run in runs)
    assert table.height == there
    assert table.columns[:3] == ["seed", "refill_interval", "circuit_policy"]
    # Those that were under way when the warm-up ended are there, and say for how long they had been.
    read = tables.streams(["start_us", "entry_us"])
    early = read.filter(pl.col("start_us") < 10_000_000)
    assert 0 < early.height < read.height
    assert (early["start_us"] + early["entry_us"] == 10_000_000).all()
    assert (read.filter(pl.col("start_us") >= 10_000_000)["entry_us"] == 0).all()
    assert pl.read_parquet(tmp_path / "tables/relays.parquet")["second"].min() == 10


def test_of_a_page_all_objects_stay_or_none(runs, tmp_path):
    one = pl.read_parquet(runs[0] / "streams.parquet").head(1)
    # Two pages of two objects: both end before the warm-up does, or the second object goes on.
    objects = [(1, 1, 1, 2), (1, 2, 2, 3), (2, 1, 4, 5), (2, 2, 5, 20)]
    rows = pl.concat(
        one.with_columns(
            stream=pl.lit(page * 1_000_000 + number, pl.Int64),
            start_us=pl.lit(start * 1_000_000, pl.Int64),
            observed_us=pl.lit((end - start) * 1_000_000, pl.Int64),
        )
        for page, number, start, end in objects
    )
    _with_streams(runs[0], rows)
    _collected(runs, tmp_path)
    table = pl.read_parquet(tmp_path / "tables/streams.parquet").filter(seed=1, **FIRST)
    assert table["stream"].to_list() == [2_000_001, 2_000_002]


def test_clients_without_downloads_are_listed(runs, tmp_path):
    """A client of the network that began nothing, and when the others got their latest byte."""
    streams = pl.read_parquet(runs[0] / "streams.parquet").filter(pl.col("client") != "web2")
    _with_streams(runs[0], streams)
    _collected(runs, tmp_path)
    clients = pl.read_parquet(tmp_path / "tables/clients.parquet").filter(seed=1, **FIRST)
    assert sorted(clients["client"]) == ["bulk1", "web1", "web2", "web3", "web4"]
    absent = clients.row(by_predicate=pl.col("client") == "web2", named=True)
    assert (absent["kind"], absent["last_us"], absent["latest_byte_us"]) == ("web", None, None)
    for client in ("web1", "bulk1"):
        own = list(streams.filter(pl.col("client") == client).iter_rows(named=True))
        row = clients.row(by_predicate=pl.col("client") == client, named=True)
        assert row["last_us"] == max(one["start_us"] + one["observed_us"] for one in own)
        got = [one["start_us"] + one["latest_byte_us"] for one in own if one["latest_byte_us"] is not None]
        assert (row["latest_byte_us"], row["latest_known"]) == (max(got), True)


def test_clients_have_the_countries_of_the_network(runs, tmp_path, monkeypatch):
    collect(runs, tmp_path / "without", network="ci")
    clients = pl.read_parquet(tmp_path / "without/clients.parquet")
    assert clients["country"].null_count() == clients["continent"].null_count() == clients.height

    def with_countries(directory: Path, latency: bool) -> tuple[Network, None]:
        network, _ = read_network(directory, latency=latency)
        here = {"country": "BR", "continent": "South America"}
        clients = [one.model_copy(update=here) for one in network.clients]
        return network.model_copy(update={"clients": clients}), None

    monkeypatch.setattr("torsweep.runsets.collect.read_network", with_countries)
    collect(runs, tmp_path / "with", network="ci")
    clients = pl.read_parquet(tmp_path / "with/clients.parquet")
    assert set(clients["country"]) == {"BR"} and set(clients["continent"]) == {"South America"}


def test_the_tables_know_where_they_come_from(runs, tmp_path):
    collect(runs, tmp_path / "tables", network="ci", plan="main")
    for name in ("streams", "relays", "progress"):
        provenance = read_provenance(tmp_path / f"tables/{name}.parquet")
        assert provenance.knobs == KNOBS
        assert provenance.seeds == [1, 2]
        assert (provenance.network, provenance.plan, provenance.era) == ("ci", "main", "2012")
        assert provenance.engine_version == "0.1.0"
        assert len(provenance.runs) == 12
        assert set(provenance.runs[0]) == {"variant", "seed", "network_sha256", "run_sha256"}
    assert len(list(provenance.variants())) == 6


def test_the_same_runs_give_the_same_bytes_on_every_machine(runs, tmp_path):
    collect(runs, tmp_path / "a", network="ci")
    for number, run in enumerate(runs):
        _edit(run / "provenance.json", wall_s=number, peak_memory_bytes=number, machine={"cpu": "another"})
    collect(runs, tmp_path / "b", network="ci")
    for name in ("streams.parquet", "relays.parquet", "progress.parquet"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def _edit(file: Path, **changes: object) -> None:
    """Change keys of a JSON file; when it is a run.json, as if the engine had run the changed one."""
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))
    if file.name == "run.json":
        record = file.with_name("provenance.json")
        finish_run(file.parent, **{**json.loads(record.read_text()), "run_sha256": sha256_of_file(file)})


def _refused(runs: list[Path], tmp_path: Path) -> str:
    with pytest.raises(InputError) as error:
        collect(runs, tmp_path / "tables", network="ci")
    assert not (tmp_path / "tables").exists()
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize(
    ("file", "changes", "words"),
    [
        ("run.json", {"format_version": 2}, "is not the document expected here"),
        ("run.json", {"era": "today"}, "era: cannot be in one table"),
        ("provenance.json", {"engine_version": "0.2.0"}, "engine_version: cannot be in one table"),
        ("run.json", {"tor_build": "0.4.9.3-1a2b3c4d"}, "tor_build: cannot be in one table"),
        ("run.json", {"network_sha256": "0" * 64}, "ran on another network"),
        ("run.json", {"seed": 1}, "same variant and seed"),
        ("provenance.json", {"engine_version": None}, "engine_version: missing key"),
        ("provenance.json", {"run_sha256": "0" * 64}, "run.json: has changed since the engine ran"),
    ],
)
def test_runs_that_do_not_belong_together(runs, tmp_path, file, changes, words):
    _edit(runs[-1] / file, **changes)
    assert words in _refused(runs, tmp_path)


CHANGED = ": has changed: its SHA-256 is not the one in provenance.json"
STOCK, BRANCH = "0.4.9.3-aaaaaaaaaaaa", "0.4.9.3-bbbbbbbbbbbb"


def _with_tors(runs: list[Path], builds: list[str], **changes: object) -> list[Path]:
    """The runs of two intervals as those of two builds of tor."""
    made = []
    for run in runs:
        variant = dict(part.split("=") for part in run.name.split("+"))
        level = {"1000ms": 0, "100ms": 1}.get(variant.pop("refill_interval"))
        if level is not None:
            variant["tor"] = ("stock", "branch")[level]
            new = run.with_name("+".join(f"{knob}={at}" for knob, at in variant.items()))
            shutil.copytree(run, new)
            _edit(new / "run.json", variant=variant, tor_build=builds[level], **(changes if level else {}))
            _edit(new / "provenance.json", engine_version=f"3.3.0, tor {builds[level]}")
            made.append(new)
    return made


def test_levels_of_tor_are_builds_that_the_tables_name(runs, tmp_path):
    collect(_with_tors(runs, [STOCK, BRANCH]), tmp_path / "tables", network="ci")
    provenance = read_provenance(tmp_path / "tables/streams.parquet")
    assert provenance.builds == {"stock": [STOCK], "branch": [BRANCH]}
    assert provenance.engine_version == f"3.3.0, tor {STOCK} (stock), {BRANCH} (branch)"


def test_another_source_or_version_of_the_engine_beside_two_builds_is_refused(runs, tmp_path):
    made = _with_tors(runs, [STOCK, BRANCH])
    _edit(made[-1] / "provenance.json", engine_version=f"3.4.0, tor {BRANCH}")
    assert "engine_version: cannot be in one table" in _refused(made, tmp_path)
    _edit(made[-1] / "run.json", tor_build="0.4.9.3-cccccccccccc")
    message = _refused(made, tmp_path)
    assert "builds of tor=branch: cannot be in one table with" in message
    assert f"got ['0.4.9.3-cccccccccccc']; accepted: ['{BRANCH}']" in message


def test_two_levels_of_one_build_are_refused_unless_they_differ_by_chance(runs, tmp_path):
    again = _with_tors(runs, [STOCK, STOCK], repeat=1)
    collect(again, tmp_path / "again", network="ci")
    for run in again:
        _edit(run / "run.json", repeat=0)
    assert "tor: the levels stock and branch of tor are the same build" in _refused(again, tmp_path)


def _flip_a_bit(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 4
    file.write_bytes(content)


def _sample_anew(run: Path) -> None:
    file = next((run.parent / "networks").rglob("network.json"))
    file.write_text(file.read_text() + " ")


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda run: (run / "provenance.json").unlink(), "no such file: the run is not finished"),
        (lambda run: (run / "provenance.json").write_text("{}"), "has no checksums"),
        (lambda run: _flip_a_bit(run / "streams.parquet"), f"streams.parquet{CHANGED}"),
        (lambda run: _flip_a_bit(run / "relays.parquet"), f"relays.parquet{CHANGED}"),
        (_sample_anew, "has changed since it was run on"),
    ],
    ids=["unfinished", "without checksums", "another stream", "another relay", "another network"],
)
def test_a_run_that_is_not_as_its_engine_left_it(runs, tmp_path, damage, words):
    damage(runs[0])
    message = _refused(runs, tmp_path)
    assert words in message and str(runs[0].parent) in message


def test_a_missing_replicate_another_name_and_other_knobs_are_refused(runs, tmp_path):
    message = _refused(runs[:-1], tmp_path)
    assert "seed 2" in message and "refill_interval=10ms+circuit_policy=round_robin" in message
    other = write_run(tmp_path / "other", {"circuit_policy": "ewma"}, 1, SMALL)
    assert "varies other knobs" in _refused([*runs, other], tmp_path)
    renamed = runs[0].rename(runs[0].with_name("refill_interval=1ms+circuit_policy=ewma"))
    assert "not named by its variant" in _refused([renamed, *runs[1:]], tmp_path)


@pytest.mark.parametrize("name", ["streams.parquet", "relays.parquet"])
def test_one_flipped_bit_in_a_table_of_a_plan_is_seen(runs, tmp_path, name):
    _collected(runs, tmp_path)
    _flip_a_bit(tmp_path / "tables" / name)
    with pytest.raises(InputError, match=f"{name}: has changed"):
        PlanTables.open(tmp_path / "tables")


def test_a_load_has_a_network_of_its_own(tmp_path):
    runs = write_sweep(tmp_path / "runs", {"load": ["0.5", "1"]}, run_seeds=(1,), size=SMALL)
    assert _collected(runs, tmp_path).provenance.knobs == {"load": ["0.5", "1"]}


def test_tables_of_nobody(tmp_path):
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "streams.parquet")
    record_tables(tmp_path)
    with pytest.raises(InputError, match="not the document expected here"):
        PlanTables.open(tmp_path)
    shutil.rmtree(tmp_path)
    with pytest.raises(InputError, match="no such file: no tables are there"):
        PlanTables.open(tmp_path)


def _ask_for_progress(run: Path) -> None:
    rows = [("web1", 1, 5_000_000, 100), ("web1", 1, 40_000_000, 200), ("web1", 2, 40_000_000, 300)]
    pl.DataFrame(rows, schema=PROGRESS.polars, orient="row").write_parquet(run / "progress.parquet")
    _edit(run / "run.json", tables={"progress": True})


def test_progress_is_gathered_where_it_was_asked_for(runs, tmp_path):
    assert not collect(runs, tmp_path / "tables", network="ci").records
    assert pl.read_parquet(tmp_path / "tables/progress.parquet").is_empty()
    _ask_for_progress(runs[0])
    with pytest.raises(InputError, match="records: cannot be in one table"):
        collect(runs, tmp_path / "tables", network="ci")
    for run in runs[1:]:
        _ask_for_progress(run)
    collect(runs, tmp_path / "tables", network="ci")
    table = pl.read_parquet(tmp_path / "tables/progress.parquet")
    streams = pl.read_parquet(tmp_path / "tables/streams.parquet")
    keys = ["seed", "refill_interval", "circuit_policy", "client", "stream"]
    assert table.columns == [*keys[:3], *PROGRESS.polars]
    assert 0 < table.height < 3 * len(runs), "downloads of the warm-up are cut"
    assert table.join(streams, on=keys, how="anti").is_empty()


def test_tables_of_measures_are_gathered_and_cut_by_time(runs, tmp_path):
    tables = _collected(runs, tmp_path)
    assert tables.circuits(["launched_us"])["launched_us"].min() >= 10_000_000
    assert tables.round_trips(["time_us"]).collect()["time_us"].min() == 10_000_000
    received = tables.received(["kind", "second"])
    assert (received["second"].min(), received["second"].max()) == (10, 39)
    assert tables.costs(["role"]).height == len(runs) * (SMALL.relays + SMALL.web_clients)
    rates = tables.relay_rates()
    assert rates.height == len(runs) * SMALL.relays
    assert set(rates["position"]) == {"guard_exit", "exit"}
    assert set(rates["usable_bytes_per_s"]) == {RELAY_BYTES_PER_S}


def test_a_run_may_lack_tables_of_measures_and_its_network(runs, tmp_path):
    for run in runs:
        for name in ("circuits", "received", "wire", "round_trips", "costs"):
            (run / f"{name}.parquet").unlink()
        record_tables(run)
    for run in runs[:2]:
        shutil.rmtree(run.parent / "networks")
    tables = _collected(runs, tmp_path)
    frames = [tables.circuits(["client"]), tables.received(["kind"]), tables.costs(["role"])]
    frames += [tables.wire(["packets"]), tables.round_trips(["host"]).collect(), tables.relay_rates()]
    assert all(frame.is_empty() for frame in frames)
