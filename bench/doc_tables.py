"""Rewrite the tables of measured numbers in documents from the files that hold the numbers.

    python -m bench.doc_tables [--check]

In: the YAML files of ``docs/tables``, which say for each table where its numbers are, how they were made and
which columns it shows; CSV files; every Markdown file with a block

    <!-- table: NAME -->
    <!-- end -->

Out: the lines between the two marks, in place. A table without columns is shown by a link to its file. With
``--check`` nothing is written, and the exit code is 1 when a document differs. Raises InputError for a block
without an entry, an entry without a block or link, and a number that a column cannot show.
"""

from __future__ import annotations

import argparse
import csv
import re
import string
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from bench.writing import end_with
from torsweep.config.reading import Section, validate
from torsweep.errors import InputError
from torsweep.formats.yaml_file import read_yaml
from torsweep.storage import write_text

ROOT = Path(__file__).resolve().parent.parent
TABLES = Path("docs/tables")
BUILDS = TABLES / "builds.csv"
"""The build of the model that made each of its tables; bench/published.py writes it."""
DOCUMENTS = ("README.md", "docs/**/*.md", "experiments/*/README.md", "topologies/*.md")

BLOCK = re.compile(r"(<!-- table: ([a-z0-9_]+) -->\n)(.*?)(<!-- end -->\n)", re.DOTALL)
_MARK = re.compile(r"^<!-- table:", re.MULTILINE)


class DocumentTable(Section):
    """One table: the CSV file below docs/tables, how its numbers were made, and its columns.

    ``columns`` are pairs of a heading and of a text in which ``{name}`` stands for a cell of the CSV and
    ``{name:.2f}`` for one as a number, in the words of Python's format(). ``where`` keeps the rows that have
    these values. Without columns, a document links to the file.
    """

    file: Annotated[str, Field(pattern=r"^[a-z0-9_]+\.csv$")]
    made: Annotated[str, Field(min_length=20)]
    columns: tuple[tuple[str, str], ...] = ()
    where: Mapping[str, str] = {}


class Build(NamedTuple):
    """The build of the model that made a table, and whether it may be another one than today's."""

    build: str
    older: bool


class Specification(Section):
    """All tables, by the name that documents call them."""

    tables: Mapping[str, DocumentTable]


class _CellTexts(string.Formatter):
    """Cells of a CSV in the text of a column: numbers where a format asks for them, with a true minus."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if not format_spec:
            return str(value)
        text = format(float(value), format_spec)
        return text.replace("-", "−").replace("%", " %")

    def fields(self, text: str) -> list[str]:
        return [name for _, name, _, _ in self.parse(text) if name is not None]


_CELLS = _CellTexts()


def read_specification(root: Path) -> Specification:
    """The tables that ``root`` has; InputError for what cannot be read."""
    tables: dict[str, DocumentTable] = {}
    for file in sorted((root / TABLES).glob("*.yaml")):
        found = validate(Specification, read_yaml(file), file).tables
        if twice := sorted(found.keys() & tables.keys()):
            raise InputError("is in another file too", file=file, key=f"tables.{twice[0]}")
        tables |= found
    return Specification(tables=tables)


def read_builds(root: Path) -> dict[str, Build]:
    """The builds of the model's tables, by table; none without a file."""
    if not (root / BUILDS).is_file():
        return {}
    rows = _rows(root / BUILDS, ("table", "build", "older"))
    return {row["table"]: Build(row["build"], row["older"] == "yes") for _, row in rows}


def render(root: Path, name: str, table: DocumentTable, build: Build | None = None) -> str:
    """The table as Markdown, a line for each row, and the ``build`` of the model that made it; a column is
    empty in a row that has none of its cells."""
    file = root / TABLES / table.file
    needed = [*table.where, *(field for _, text in table.columns for field in _CELLS.fields(text))]
    lines = [_line(heading for heading, _ in table.columns), "|" + "---|" * len(table.columns)]
    for number, row in _rows(file, needed):
        if all(row[column] == value for column, value in table.where.items()):
            lines.append(_line(_cell(text, row, file, number) for _, text in table.columns))
    if len(lines) == 2:
        raise InputError("no row is left", file=root / TABLES, key=f"tables.{name}.where")
    if build is not None:
        lines += ["", f"*The model is cellsim 0.1.0+{build.build}.*"]
    return "\n".join(lines) + "\n"


def _rows(file: Path, columns: Iterable[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Line numbers and cells by column of a CSV file that has at least ``columns``."""
    with file.open(newline="", encoding="utf-8") as lines:
        reader = csv.DictReader(lines)
        names = reader.fieldnames or []
        if missing := sorted(set(columns) - set(names)):
            raise InputError("columns are missing", file=file, value=missing, accepted=", ".join(names))
        for row in reader:
            yield reader.line_num, row


def _line(cells: Any) -> str:
    return "".join(f"| {cell} " if cell else "| " for cell in cells) + "|"


def _cell(text: str, row: Mapping[str, str], file: Path, number: int) -> str:
    fields = _CELLS.fields(text)
    if fields and not any(row[field] for field in fields):
        return ""
    try:
        return _CELLS.format(text, **{field: row[field] for field in fields})
    except ValueError as error:
        raise InputError(f"{text}: {error}", file=file, key=f"line {number}") from None


def rewritten(root: Path) -> Iterator[tuple[Path, str, str]]:
    """Each document with tables: its path, its text, and the text that it should have."""
    tables, builds = read_specification(root).tables, read_builds(root)
    shown: set[str] = set()
    for document in sorted({path for pattern in DOCUMENTS for path in root.glob(pattern)}):
        text = document.read_text(encoding="utf-8")
        names = [match[2] for match in BLOCK.finditer(text)]
        if len(names) != len(_MARK.findall(text)):
            raise InputError("a table has no <!-- end -->", file=document, key="<!-- table: -->")
        for name in names:
            if name not in tables:
                raise InputError("no such table", file=document, key=name, accepted=", ".join(tables))
        shown.update(names)
        shown |= {name for name, one in tables.items() if not one.columns and f"tables/{one.file})" in text}
        if names:
            found = {name: render(root, name, tables[name], builds.get(name)) for name in names}
            yield document, text, _filled(text, found)
    if unused := sorted(tables.keys() - shown):
        raise InputError("no document shows this table", file=root / TABLES, key=f"tables.{unused[0]}")


def pages_of(root: Path) -> dict[str, str]:
    """The document that shows each table or links to its file, as a path below ``root``."""
    pages: dict[str, str] = {}
    tables = read_specification(root).tables
    for document in sorted({path for pattern in DOCUMENTS for path in root.glob(pattern)}):
        text, name = document.read_text(encoding="utf-8"), str(document.relative_to(root))
        linked = [table for table, one in tables.items() if f"tables/{one.file})" in text]
        pages |= dict.fromkeys(linked, name)
        pages |= {match[2]: name for match in BLOCK.finditer(text)}
    return pages


def _filled(text: str, found: Mapping[str, str]) -> str:
    return BLOCK.sub(lambda match: match[1] + found[match[2]] + match[4], text)


def main() -> None:
    """Rewrite every document that differs from its files, and name it."""
    parser = argparse.ArgumentParser(description="Rewrite the tables of numbers in documents.")
    parser.add_argument("--check", action="store_true", help="Write nothing; exit with 1 when one differs.")
    check = parser.parse_args().check
    differing = [(document, after) for document, before, after in rewritten(ROOT) if before != after]
    for document, after in differing:
        print(f"{document.relative_to(ROOT)}: {'differs' if check else 'rewritten'}")
        if not check:
            write_text(document, after)
    sys.exit(1 if check and differing else 0)


if __name__ == "__main__":
    end_with(main)
