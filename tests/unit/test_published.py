"""Published numbers of the model name its build, and a changed model makes them stale."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import published
from bench.doc_tables import ROOT, Build, read_builds, read_specification, rewritten
from bench.published import equal_builds, make_again, stale
from tests.unit.test_doc_tables import ENTRY, ROWS, SHOWN
from torsweep.storage import write_text


def test_numbers_are_of_todays_model_or_marked_as_older() -> None:
    """Fails on any change of the model: make the sets again, or mark tables as older in builds.csv."""
    builds, today = read_builds(ROOT), published.todays_build()
    others = stale(builds, equal_builds(ROOT, today))
    assert not others, "\n".join(published.state_of_pages(ROOT, builds, today, others))


def test_builds_are_of_tables_and_every_set_has_its_tables_there() -> None:
    builds = read_builds(ROOT)
    assert builds.keys() <= read_specification(ROOT).tables.keys()
    assert {table for one in published.read_sets(ROOT).values() for table in one.tables} <= builds.keys()


def test_another_build_is_stale_unless_it_is_marked() -> None:
    builds = {"one": Build("aaaaaaaa", older=False), "two": Build("bbbbbbbb", older=True)}
    assert stale(builds, {"aaaaaaaa"}) == []
    assert stale(builds, {"cccccccc"}) == ["one"], "the label of a changed model"


def test_builds_that_were_shown_equal_are_of_today(tmp_path: Path) -> None:
    equal = "equal:\n  - {builds: [aaaaaaaa, bbbbbbbb], shown: all tables of two runs}\n"
    write_text(tmp_path / "bench/published.yaml", f"sets: {{}}\n{equal}")
    assert equal_builds(tmp_path, "bbbbbbbb") == {"aaaaaaaa", "bbbbbbbb"}
    assert equal_builds(tmp_path, "cccccccc") == {"cccccccc"}


def test_a_page_whose_words_name_another_build_is_told(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("The model (cellsim 0.1.0+aaaaaaaa) and cellsim 0.1.0+bbbbbbbb.\n")
    assert published.labels_in_text(tmp_path, {"bbbbbbbb"}) == ["README.md: its text names aaaaaaaa"]


def test_a_set_is_made_again_and_its_page_rewritten_with_the_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    builds = "table,build,older\nspeeds,aaaaaaaa,yes\n"
    for name, text in (("tables.yaml", ENTRY), ("speeds.csv", ROWS), ("builds.csv", builds)):
        write_text(tmp_path / "docs/tables" / name, text)
    command = "sed -i s/2.26/2.46/ docs/tables/speeds.csv"
    sets = f"sets:\n  speed: {{minutes: 1, commands: [{command}], tables: [speeds]}}\n"
    write_text(tmp_path / "bench/published.yaml", sets)
    (tmp_path / "README.md").write_text(f"<!-- table: speeds -->\n{SHOWN}<!-- end -->\n")
    monkeypatch.setattr(published, "todays_build", lambda: "bbbbbbbb")
    make_again(tmp_path, ["speed"])
    page = (tmp_path / "README.md").read_text()
    assert "| 1.0 to 2.5 |" in page
    assert "cellsim 0.1.0+bbbbbbbb" in page
    assert "speeds: other numbers" in capsys.readouterr().out
    assert read_builds(tmp_path) == {"speeds": Build("bbbbbbbb", older=False)}
    make_again(tmp_path, ["speed"])
    assert "speeds: equal" in capsys.readouterr().out
    assert [document for document, before, after in rewritten(tmp_path) if before != after] == []
