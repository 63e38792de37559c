"""Engines on the same scenarios: what is put side by side, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from plotting.engines import main
from tests.stamped import stamp
from tests.synthetic_streams import write_runs
from torsweep.config.experiment import load_experiment
from torsweep.errors import InputError
from torsweep.stats.files import SIDE_BY_SIDE_FILES
from torsweep.stats.side_by_side import (
    completion_times,
    read_side_by_side,
    side_by_side,
    side_by_side_text,
    write_side_by_side,
)
from torsweep.stats.summarize import summarize, write_summary
from torsweep.tables.collect import collect
from torsweep.tables.reading import PlanTables


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Summaries of a model on networks 1 to 3, of 'emulation' on 2 to 4, which is a second later, and of
    'shadow' on 3 and 4."""
    folder = tmp_path_factory.mktemp("three")
    experiment = load_experiment("starvation")
    found = []
    for engine, seeds in (("cellsim", (1, 2, 3)), ("emulation", (2, 3, 4)), ("shadow", (3, 4))):
        runs = write_runs(folder / engine / "runs", experiment.plan("packaging").knobs, seeds)
        collect(runs, folder / engine / "tables", network="starvation", plan="packaging")
        out = folder / engine / "summaries"
        write_summary(summarize(PlanTables.open(folder / engine / "tables"), experiment), out)
        _edit(out / "claims.json", engine=engine)
        shares = pl.read_csv(out / "shares.csv")
        late = pl.col("completed_s") + (engine == "emulation")
        shares.with_columns(late).write_csv(out / "shares.csv")
        found.append(stamp(out))
    return found


def _edit(file: Path, **changes: object) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))


def test_only_common_networks_are_compared(folders: list[Path]) -> None:
    both = side_by_side(folders[:2])
    assert both.seeds == (2, 3)
    assert both.engines == ("cellsim 0.1.0", "emulation 0.1.0")
    times = completion_times(both).pivot("engine", index=[*both.knobs, "opened"], values="completed_s")
    apart = times["emulation 0.1.0"] - times["cellsim 0.1.0"]
    assert apart.to_list() == pytest.approx([1.0] * times.height)
    assert times.height == 8 * 9


def test_the_text_has_both_engines_in_each_cell(folders: list[Path]) -> None:
    text = side_by_side_text(side_by_side(folders[:2]))
    assert "cellsim 0.1.0 beside emulation 0.1.0" in text
    # Networks that all agree have no interval of their own: see t_interval.
    assert "| 6.00 / 6.00 |" in text
    assert "seeds 2, 3" in text
    assert "nan" not in text


def test_three_engines_stand_side_by_side(folders: list[Path]) -> None:
    three = side_by_side(folders)
    assert three.seeds == (3,)
    assert three.shares["engine"].unique().len() == 3
    text = side_by_side_text(three)
    assert "cellsim 0.1.0 beside emulation 0.1.0 beside shadow 0.1.0" in text
    assert "| 6.00 / 6.00 / 6.00 |" in text


def test_files_and_figure_are_written(folders: list[Path], tmp_path: Path) -> None:
    both = side_by_side(folders)
    write_side_by_side(both, tmp_path / "comparison")
    assert {file.name for file in (tmp_path / "comparison").iterdir()} == {".torsweep", *SIDE_BY_SIDE_FILES}
    read, means = read_side_by_side(tmp_path / "comparison")
    assert (read.where, read.engines, read.seeds) == (both.where, both.engines, both.seeds)
    assert means.height == completion_times(both).height
    assert main([str(tmp_path / "comparison"), "--out", str(tmp_path / "figure/stream_engines")]) == 0
    written = {file.name for file in (tmp_path / "figure").iterdir()}
    assert written == {".torsweep"} | {f"stream_engines.{ending}" for ending in ("pdf", "png", "csv")}


def test_a_changed_table_is_seen(folders: list[Path], tmp_path: Path) -> None:
    write_side_by_side(side_by_side(folders), tmp_path)
    with (tmp_path / "side_by_side.md").open("a") as file:
        file.write("\n")
    with pytest.raises(InputError, match=r"side_by_side\.md: has changed"):
        read_side_by_side(tmp_path)


def test_what_cannot_stand_side_by_side_is_refused(
    folders: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InputError, match="is of the same engine"):
        side_by_side([folders[0], folders[1], folders[0]])
    with pytest.raises(InputError, match="one summary alone"):
        side_by_side(folders[:1])
    for name, changes, said in (
        ("era", {"era": "today"}, "is not of the same plan"),
        ("seeds", {"seeds": [7]}, "no network in common"),
    ):
        other = tmp_path / name
        other.mkdir()
        for file in folders[1].iterdir():
            (other / file.name).write_bytes(file.read_bytes())
        _edit(other / "claims.json", **changes)
        stamp(other)
        with pytest.raises(InputError, match=said):
            side_by_side([folders[0], other])
    assert main([str(folders[0]), "--out", str(tmp_path / "x")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
