"""Tables of numbers in documents come from files: the documents agree with them, and differences are seen."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.doc_tables import BUILDS, ROOT, TABLES, read_specification, rewritten
from torsweep.errors import InputError

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
