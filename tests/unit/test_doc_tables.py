"""Tables of numbers in documents come from files that name the build of the model; what differs is seen."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import published
from bench.doc_tables import BUILDS, ROOT, TABLES, Build, read_builds, read_specification, rewritten
from bench.published import equal_builds, make_again, stale
from torsweep.errors import InputError
from torsweep.storage import write_text

ENTRY = """
tables:
  speeds:
    file: speeds.csv
    made: one run on a quiet machine of two cores
    where: {size: full}
    columns:
      - ["what", "{what}"]
      - ["seconds", "{least_s:.1f} to {most_s:.1f}"]
      - ["change", "{change:+.0%}"]
"""
ROWS = """size,what,least_s,most_s,change
full,reading,1.04,2.26,-0.125
full,writing,,,0.5
tenfold,reading,9,9,0
"""
SHOWN = """| what | seconds | change |
|---|---|---|
| reading | 1.0 to 2.3 | \u221212 % |
| writing | | +50 % |
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / TABLES).mkdir(parents=True)
    (tmp_path / TABLES / "tables.yaml").write_text(ENTRY)
    (tmp_path / TABLES / "speeds.csv").write_text(ROWS)
    (tmp_path / "README.md").write_text(f"Before.\n\n<!-- table: speeds -->\n{SHOWN}<!-- end -->\nAfter.\n")
    return tmp_path


def test_documents_agree_with_the_files_of_their_numbers():
    found = list(rewritten(ROOT))
    assert len(found) >= 6
    assert [document.name for document, before, after in found if before != after] == []


def test_every_file_of_numbers_is_shown():
    listed = {table.file for table in read_specification(ROOT).tables.values()}
    assert {file.name for file in (ROOT / TABLES).glob("*.csv")} == listed | {BUILDS.name}


def test_a_table_without_columns_is_a_link(tree):
    entry = ENTRY[: ENTRY.index("    columns:")]
    (tree / TABLES / "tables.yaml").write_text(entry)
    (tree / "README.md").write_text("[The file](docs/tables/speeds.csv) has it.\n")
    assert list(rewritten(tree)) == []
    (tree / "README.md").write_text("It is nowhere.\n")
    with pytest.raises(InputError, match="no document shows this table"):
        list(rewritten(tree))


def test_numbers_are_written_as_the_columns_say_and_one_that_differs_is_seen(tree):
    ((_, before, after),) = rewritten(tree)
    assert before == after
    (tree / TABLES / "speeds.csv").write_text(ROWS.replace("2.26", "2.46"))
    ((_, before, after),) = rewritten(tree)
    assert after == before.replace("2.3", "2.5")


@pytest.mark.parametrize(
    ("file", "old", "new", "complaint"),
    [
        ("README.md", "table: speeds", "table: sizes", "README.md: sizes: no such table; accepted: speeds"),
        ("README.md", "<!-- end -->", "", "a table has no <!-- end -->"),
        ("README.md", "<!-- table: speeds -->", "", "tables.speeds: no document shows this table"),
        ("docs/tables/tables.yaml", "size: full", "size: half", "tables.speeds.where: no row is left"),
        ("docs/tables/tables.yaml", "{what}", "{who}", "columns are missing"),
        ("docs/tables/speeds.csv", "2.26", "two", "speeds.csv: line 2: {least_s:.1f} to {most_s:.1f}"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(tree, file, old, new, complaint):
    text = (tree / file).read_text()
    assert old in text
    (tree / file).write_text(text.replace(old, new))
    with pytest.raises(InputError) as refusal:
        list(rewritten(tree))
    assert complaint in str(refusal.value)
    assert "\n" not in str(refusal.value)


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
