"""Results as one frame, by folder and by name."""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl
import pytest

import torsweep
from tests.made_tornet import Download, Host, tornet
from tests.synthetic import Size, record_tables, write_sweep
from torsweep.engines.table_schema import CIRCUITS
from torsweep.errors import InputError
from torsweep.runsets.collect import collect
from torsweep.runsets.imported import import_simulations
from torsweep.runsets.plan_tables import METADATA_KEY, PlanTables

SMALL = Size(web_clients=4, bulk_clients=1, relays=2, warm_up_s=10, duration_s=40)
TABLES = "tables/refill_sweep/cellsim/2012/ci/main"


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Tables of a plan in results/ of the working directory; all circuits were launched in the warm-up."""
    monkeypatch.chdir(tmp_path)
    runs = write_sweep(tmp_path / "runs", run_seeds=(1, 2), size=SMALL)
    for run in runs:
        streams = pl.read_parquet(run / "streams.parquet").with_columns(circuit=pl.lit(7, pl.Int64))
        streams.write_parquet(run / "streams.parquet")
        row = {"circuit": 7, "launched_us": 1, "path": "relay1,relay2,relay3,relay4", "streams": 1}
        clients = [{**row, "client": client} for client in streams["client"].unique()]
        pl.DataFrame(clients, CIRCUITS.polars).write_parquet(run / "circuits.parquet")
        record_tables(run)
    collect(runs, tmp_path / "results" / TABLES, network="ci")
    return tmp_path / "results"


@pytest.mark.parametrize("source", [f"results/{TABLES}", "results", ".", "refill_sweep"])
def test_a_plan_is_found_by_folder_and_by_name(results: Path, source: str) -> None:
    frame = torsweep.load(source)
    assert frame.height == pl.read_parquet(results / TABLES / "streams.parquet").height
    assert frame.columns[:5] == ["seed", "refill_interval", "circuit_policy", "client", "kind"]
    # Levels sort as in the plan; downloads of the warm-up are told apart.
    assert frame["refill_interval"].unique().sort().to_list() == ["1000ms", "100ms", "10ms"]
    assert 0 < frame.filter(pl.col("entry_us") > 0).height < frame.height


def test_every_download_has_its_path_though_circuits_are_of_the_warm_up(results: Path) -> None:
    paths = torsweep.load("refill_sweep").select("guard", "middle", "exit").unique()
    assert paths.rows() == [("relay1", "relay2,relay3", "relay4")]
    assert torsweep.load("refill_sweep", "circuits").is_empty()


def test_tables_from_before_a_column_was_added_are_read(results: Path) -> None:
    for name, added in (("streams", ("guard", "middle", "exit")), ("costs", ("ready_us",))):
        file = results / TABLES / f"{name}.parquet"
        metadata = {METADATA_KEY: pl.read_parquet_metadata(file)[METADATA_KEY]}
        pl.read_parquet(file).drop(added).write_parquet(file, metadata=metadata)
    (results / TABLES / "provenance.json").unlink()
    record_tables(results / TABLES)
    assert "guard" not in torsweep.load("refill_sweep").columns
    costs = PlanTables.open(results / TABLES).costs(["role", "ready_us"])
    assert costs.columns[-2:] == ["role", "ready_us"]
    assert costs["ready_us"].null_count() == costs.height > 0


def test_an_import_is_loaded_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folders = [
        tornet(tmp_path / "one"),
        tornet(tmp_path / "two", {"perfclient1exit": Host([Download(0, 65.0)])}, network=2),
    ]
    imported = import_simulations(folders, tmp_path / "results/imports/vanilla")
    frame = torsweep.load("vanilla")
    assert frame.height == sum(sum(run.downloads.values()) for run in imported.runs)
    assert frame.columns[:3] == ["seed", "import", "client"]
    assert frame["seed"].unique().sort().to_list() == [1, 2]
    assert set(frame["guard"]) == {None}, "the logs do not say which circuit carried a download"


def test_what_holds_no_plan_or_several_is_refused(results: Path) -> None:
    for source, problem in (("nothing", "no such results"), ("runs", "holds the tables of 0 plans")):
        with pytest.raises(InputError, match=problem):
            torsweep.load(source)
    with pytest.raises(InputError, match="table: is no table"):
        torsweep.load("refill_sweep", "stream")
    shutil.copytree(results / TABLES, (results / TABLES).with_name("aligned_phases"))
    with pytest.raises(InputError, match=r"2 plans; accepted: one of .*aligned_phases, .*main"):
        torsweep.load("refill_sweep")


def test_pandas_gets_the_same_frame(results: Path) -> None:
    pytest.importorskip("pyarrow", reason="the extra `pandas` is not installed")
    frame = torsweep.load("refill_sweep").to_pandas()
    assert list(frame.columns) == torsweep.load("refill_sweep").columns
    assert list(frame["refill_interval"].cat.categories) == ["1000ms", "100ms", "10ms"]


def test_passages_that_no_run_recorded_and_runs_that_are_elsewhere_are_told(results: Path) -> None:
    elsewhere = "the runs of these tables are not here"
    unseen = r"table: no cell was recorded at all places, .*inbuf, queue, outbuf"
    for table, problem in (("passages", unseen), ("cells", elsewhere), ("programs", elsewhere)):
        with pytest.raises(InputError, match=problem):
            torsweep.load("refill_sweep", table)
