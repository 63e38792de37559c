"""A run laid out for tornettools, and a network of tornettools that is refused."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import polars as pl
import pytest

from torsweep.cli import main
from torsweep.engines.shadow.interop import lay_out_for_tornettools
from torsweep.engines.shadow.read import write_tables
from torsweep.errors import InputError, OutputError
from torsweep.network.model import read_network
from torsweep.storage.folders import RUN_FOLDER, write_marker

SMALL_RUN = Path(__file__).parent / "small_run"
COST = {
    "wall_s": 61.5,
    "simulated_s": 240.0,
    "peak_memory_bytes": 400_000_000,
    "machine": {"memory_bytes": 16_000_000_000},
}
WARM_UP_ENDS_S = 190


@pytest.fixture
def run(tmp_path: Path) -> Path:
    copy = Path(shutil.copytree(SMALL_RUN, tmp_path / "run"))
    (copy / "provenance.json").write_text(json.dumps(COST))
    write_marker(copy, RUN_FOLDER)
    return copy


def test_hosts_have_the_names_that_tornettools_looks_for(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "collection/run"
    names, converge_s = lay_out_for_tornettools(run, out)
    hosts = sorted(path.name for path in (out / "shadow.data/hosts").iterdir())
    assert hosts == [f"perfclient{n}exit" for n in range(1, 5)] + [f"relay{n}" for n in range(1, 8)]
    assert json.loads((out / "hosts.json").read_text()) == names
    assert converge_s == WARM_UP_ENDS_S
    for host in hosts:
        for log in (out / "shadow.data/hosts" / host).iterdir():
            assert f" on host {host} " in log.read_text().splitlines()[0]


def test_lines_are_the_run_s_own_but_for_names_and_the_word_to_listen(run: Path, tmp_path: Path) -> None:
    lay_out_for_tornettools(run, tmp_path / "out")
    place = tmp_path / "out/shadow.data/hosts/perfclient2exit"
    original = subprocess.run(
        ["gzip", "-dc", run / "shadow/data/hosts/web1/oniontrace.1003.stdout.gz"],
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    copied = (place / "oniontrace.1000.stdout").read_text().splitlines()
    added = [line for line in copied if "Bootstrapped 100" in line]
    assert len(added) == 1
    position = copied.index(added[0])
    assert " Logger: " in copied[position + 1]
    assert not any(" Logger: " in line for line in copied[:position])
    assert [line for line in copied if line != added[0]][1:] == original[1:]


def test_cost_is_what_provenance_says(run: Path, tmp_path: Path) -> None:
    lay_out_for_tornettools(run, tmp_path / "out")
    last = (tmp_path / "out/shadow.log").read_text().splitlines()[-1].split()
    assert last[0] == "00:01:01.500000"
    assert last[7:13] == ["Process", "resource", "usage", "at", "simtime", "240000000000"]
    assert (tmp_path / "out/free.log").read_text().splitlines()[
        -1
    ] == "Mem: 16000000000 400000000 15600000000"


def test_a_run_without_logs_is_refused(run: Path, tmp_path: Path) -> None:
    shutil.rmtree(run / "shadow/data")
    with pytest.raises(InputError, match="no log of a TGen client"):
        lay_out_for_tornettools(run, tmp_path / "out")


def test_a_folder_with_something_else_in_it_is_left_alone(run: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/thesis.tex").write_text("years of work")
    with pytest.raises(OutputError, match=r"holds thesis\.tex, which torsweep did not write"):
        lay_out_for_tornettools(run, tmp_path / "out")
    assert (tmp_path / "out/thesis.tex").read_text() == "years of work"


def test_the_command_says_what_comes_next(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        with pytest.raises(SystemExit) as stopped:
            main(["shadow", "for-tornettools", str(run), "--out", str(tmp_path / "out")])
        assert stopped.value.code == 0
        said = capsys.readouterr().out
        assert f"tornettools parse -c {WARM_UP_ENDS_S} " in " ".join(said.split())


def test_a_network_of_tornettools_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "shadow.config.yaml").write_text("general: {}\n")
    with pytest.raises(InputError, match="was made by tornettools generate"):
        read_network(tmp_path)


@pytest.mark.skipif(
    any(shutil.which(tool) is None for tool in ("tornettools", "tgentools", "oniontracetools")),
    reason="tornettools, tgentools and oniontracetools are not all on PATH",
)
def test_tornettools_parses_and_plots_it(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "collection/run"
    converge_s = lay_out_for_tornettools(run, out).converge_s
    subprocess.run(["tornettools", "parse", "-m", "1", "-c", str(converge_s), out], check=True)
    parsed = {file.name: json.loads(file.read_text()) for file in (out / "tornet.plot.data").iterdir()}
    write_tables(run, run / "shadow")
    streams = pl.read_parquet(run / "streams.parquet").filter(pl.col("outcome") == "complete")
    # tornettools cuts by the end of a download, we by its start.
    ended = streams.filter(pl.col("start_us") + pl.col("last_byte_us") >= 10_000_000)
    found = sorted(round(seconds * 1e6) for seconds in parsed["time_to_last_byte_recv.exit.json"]["ALL"])
    assert found == ended["last_byte_after_command_us"].sort().to_list()
    assert parsed["relay_goodput.json"]
    assert parsed["resource_usage.json"]["run_time"]["seconds"] == COST["wall_s"]
    assert parsed["simulation_info.json"]["num_sampled_relays"] == 7
    plots = tmp_path / "plots"
    plots.mkdir()
    subprocess.run(["tornettools", "plot", "--prefix", plots, out.parent], check=True, cwd=plots)
    drawn = {re.sub(r"\..*", "", file.name) for file in plots.glob("*.pdf")}
    assert {"relay_goodput", "round_trip_time", "transfer_time_5242880", "run_time"} <= drawn


def test_where_there_are_perf_clients_the_others_stay_out_of_tornettools_figures(
    run: Path, tmp_path: Path
) -> None:
    file = run / "shadow/layout.json"
    layout = json.loads(file.read_text())
    layout["clients"]["web2"] = "perf_1mib"
    file.write_text(json.dumps(layout))
    names, _ = lay_out_for_tornettools(run, tmp_path / "out")
    assert names["web2"] == "perfclient1exit"
    others = {name for client, name in names.items() if client in layout["clients"] and client != "web2"}
    assert others == {"markovclient1", "markovclient2", "markovclient3"}
    generated = (tmp_path / "out/tornettools.generate.torsweep.log").read_text()
    assert "We will use 1 exit perf nodes" in generated
