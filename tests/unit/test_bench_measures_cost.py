"""Processor time with and without the measures: of all processes of a command, in pairs."""

from __future__ import annotations

import sys

import polars as pl
import pytest

from bench import measures_cost
from tests.small_network import equal_rtts, small_network
from tests.unit.engines.emulation.conftest import run_spec
from torsweep.engines.costs import Cost, costs_frame
from torsweep.engines.run_spec import read_run
from torsweep.engines.table_files import COSTS_FILE
from torsweep.network.model import write_network
from torsweep.storage.folders import RUN, own_folder

BURN = "import time\nwhile time.process_time() < {}: pass"
NEST = "import subprocess, sys\nsubprocess.run([sys.executable, '-c', {!r}])"


def python(text: str) -> list[str]:
    return [sys.executable, "-c", text]


def test_processes_of_processes_count():
    assert 0.4 <= measures_cost.processor_s(python(NEST.format(BURN.format(0.4)))) < 2


def test_a_command_that_fails_is_tried_again_and_then_named(tmp_path):
    text = f"open({str(tmp_path / 'log')!r}, 'a').write('x')\nraise SystemExit(1)"
    with pytest.raises(SystemExit, match="failed 3 times"):
        measures_cost.processor_s(python(text))
    assert (tmp_path / "log").read_text() == "xxx"


def test_the_side_that_goes_first_changes(monkeypatch, capsys):
    played = []

    def processor_s(command):
        played.append(command[0])
        return {1: 2.0, 2: 2.04, 3: 2.1, 4: 2.06}[len(played)]

    monkeypatch.setattr(measures_cost, "processor_s", processor_s)
    measures_cost.main(["a", "b", "--pairs", "2"])
    assert played == ["b", "a", "a", "b"]
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "pair 1: all processes 2.04 s / 2.00 s"
    # The ratios are 1.020 and 1.019.
    assert said[1] == "pair 2: all processes 2.10 s / 2.06 s"
    assert said[-1].startswith("all processes: +1.97% (+1.")
    assert said[-1].endswith(", 2 pairs")


def test_a_run_is_played_in_folders_of_its_own(tmp_path):
    network = small_network(("guard", "middle", "exit", "guard_exit"), ["bulk1"])
    write_network(network, equal_rtts(network), tmp_path / "network")
    own_folder(tmp_path / "run", RUN)
    run_spec().write(tmp_path / "run")
    before = (tmp_path / "run" / "run.json").read_bytes()
    folders = measures_cost.prepared(tmp_path / "run", tmp_path / "work")
    assert (tmp_path / "run" / "run.json").read_bytes() == before
    for folder in folders.values():
        assert (folder / read_run(folder).network).resolve() == tmp_path / "network"
    costs = {f"relay{number}": Cost(number * 1_000_000, 1) for number in (1, 2, 3, 4)}
    frame: pl.DataFrame = costs_frame(costs, network)
    frame.write_parquet(folders["with"] / COSTS_FILE)
    assert measures_cost.exits_s(folders["with"]) == 7.0
