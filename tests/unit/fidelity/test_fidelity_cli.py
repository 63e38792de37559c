"""From finished runs in the tree of results to tables, text and figures, and one line for what is wrong."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

from plotting.fidelity import main as draw
from tests.unit.fidelity.conftest import VARIANTS, MakeRun
from torsweep.cli import main
from torsweep.config.variant import variant_text
from torsweep.fidelity.matches import MODEL, REFERENCE, REFERENCE_REPEAT
from torsweep.fidelity.places import TREES, Pair

REPOSITORY = Path(__file__).parents[3]
PAIR = Pair("cellsim", "shadow")


@pytest.fixture
def results(make_run: MakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with runs of two variants in both engines, one of them repeated."""
    (tmp_path / "experiments").symlink_to(REPOSITORY / "experiments")
    monkeypatch.chdir(tmp_path)
    series = {REFERENCE: VARIANTS, MODEL: VARIANTS, REFERENCE_REPEAT: VARIANTS[:1]}
    for name, variants in series.items():
        tree, engine = TREES[name], PAIR.engine(name)
        for variant in variants:
            draws = {"draws": 70} if name == REFERENCE_REPEAT else {}
            levels = AS_IN_SHADOW if name == MODEL else {}
            run = make_run(name, {**variant, **levels}, 1, **draws)
            place = tmp_path / "results" / tree / "refill_sweep" / engine / "2012" / "ci" / "1"
            place.mkdir(parents=True, exist_ok=True)
            shutil.move(run, place / run.name)
    return tmp_path / "results"


AS_IN_SHADOW = {"tcp": "shadow", "link_queue": "codel"}


def test_the_tcp_that_is_named_is_compared(
    results: Path, make_run: MakeRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = results / "runs/refill_sweep/cellsim/2012/ci/1"
    run = make_run(MODEL, {**VARIANTS[0], "link_queue": "codel"}, 1)
    shutil.move(run, place / run.name)
    out = tmp_path / "out"
    assert _compare(out, "--model", "cellsim+tcp=linux") == 0
    text = (out / "fidelity.md").read_text()
    assert text.startswith("# cellsim 1.0 (tcp=linux, link_queue=codel) against shadow 1.0\n")
    assert _compare(out, "--model", "cellsim+tcp=bbr") == 2
    assert "tcp: is no TCP, got 'bbr'; accepted: shadow, linux, linux_6_18" in capsys.readouterr().err


def _torsweep(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    return int(ended.value.code or 0)


def _compare(out: Path, *more: str) -> int:
    return _torsweep("fidelity", "compare", "refill_sweep", "--network", "ci", "--out", str(out), *more)


def test_a_comparison_is_tables_and_text(results: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert _compare(out) == 0
    text = (out / "fidelity.md").read_text()
    assert text.startswith("# cellsim 1.0 (tcp=shadow, link_queue=codel) against shadow 1.0\n")
    assert "**8 of 8**" in text
    assert "network ci, 1 network (seed 1)" in text
    cells = pl.read_csv(out / "cells.csv")
    assert len(cells) == 8
    assert set(cells["verdict"]) == {"within"}
    document = json.loads((out / "fidelity.json").read_text())
    assert document["engines"] == {
        "reference": "shadow 1.0",
        "model": "cellsim 1.0 (tcp=shadow, link_queue=codel)",
        "reference repeat": "shadow 1.0",
    }


def test_any_two_engines_are_compared(results: Path, make_run: MakeRun, tmp_path: Path) -> None:
    run = make_run(MODEL, dict(VARIANTS[0]), 1, slower=2.0, engine="shadow-no-rtt")
    place = results / "runs/refill_sweep/shadow-no-rtt/2012/ci/1"
    place.mkdir(parents=True)
    shutil.move(run, place / run.name)
    out = tmp_path / "out"
    assert _compare(out, "--model", "shadow-no-rtt") == 0
    assert (out / "fidelity.md").read_text().startswith("# shadow-no-rtt 1.0 against shadow 1.0\n")
    assert _compare(out, "--reference", "shadow-no-rtt") == 0
    text = (out / "fidelity.md").read_text()
    assert text.startswith("# cellsim 1.0 (tcp=shadow, link_queue=codel) against shadow-no-rtt 1.0\n")
    cells = pl.read_csv(out / "cells.csv")
    # The repeat is Shadow's: of the other kind of it there is none to judge by.
    assert cells["floor"].null_count() == len(cells) == 4
    assert (cells["p50_ratio"] < 0.6).all()


def test_an_engine_is_not_compared_with_itself(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _compare(tmp_path / "out", "--model", "shadow") == 2
    assert "model: is the reference too, got 'shadow'; accepted: another engine" in capsys.readouterr().err


def test_the_same_runs_give_the_same_bytes(results: Path, tmp_path: Path) -> None:
    for name in ("one", "other"):
        assert _compare(tmp_path / name) == 0
    for file in (tmp_path / "one").iterdir():
        assert file.read_bytes() == (tmp_path / "other" / file.name).read_bytes()


def test_figures_are_drawn_with_their_points(results: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    _compare(out)
    assert draw(["overview", "--comparison", str(out), "--out", str(out / "overview")]) == 0
    variant = variant_text(VARIANTS[0])
    options = ["--comparison", str(out), "--variant", variant, "--out", str(out / variant)]
    assert draw(["curves", *options]) == 0
    for name in ("overview", variant):
        for suffix in ("pdf", "png", "csv"):
            assert (out / f"{name}.{suffix}").stat().st_size > 0
    points = pl.read_csv(out / f"{variant}.csv")
    assert set(points["series"]) == {"reference", "model"}
    assert set(points["refill_interval"]) == {"1000ms"}


def test_a_variant_that_was_not_compared_is_not_drawn(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    _compare(out)
    options = ["--comparison", str(out), "--variant", "refill_interval=1ms", "--out", str(out / "x")]
    assert draw(["curves", *options]) == 2
    assert "--variant: was not compared" in capsys.readouterr().err


def test_a_folder_without_a_comparison_is_not_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert draw(["overview", "--comparison", str(tmp_path), "--out", str(tmp_path / "x")]) == 2
    assert "run `torsweep fidelity compare` first" in capsys.readouterr().err
    (tmp_path / "fidelity.json").write_text("[]")
    assert draw(["overview", "--comparison", str(tmp_path), "--out", str(tmp_path / "x")]) == 2


def test_a_damaged_comparison_is_not_drawn(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    _compare(out)
    with (out / "contrasts.csv").open("a") as file:
        file.write("\n")
    assert draw(["overview", "--comparison", str(out), "--out", str(out / "x")]) == 2
    assert "contrasts.csv: has changed: its SHA-256 is not" in capsys.readouterr().err


def test_without_runs_there_is_nothing_to_compare(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _compare(tmp_path / "out", "--seeds", "5-6") == 2
    assert "no variant and network has been run in both engines" in capsys.readouterr().err


@pytest.mark.parametrize("seeds", ["x", "1-", "a-b", "", "-3"])
def test_a_range_of_seeds_that_is_none_is_refused(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], seeds: str
) -> None:
    assert _compare(tmp_path / "out", f"--seeds={seeds}") == 2
    assert "--seeds: is no range of seeds" in capsys.readouterr().err
