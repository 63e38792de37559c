"""CSV files: those of others, a line at a time, and torsweep's own, as a frame.

In: a path. Out: lines by column name, or a frame; InputError naming line or column when the file is empty,
lacks a column, or holds a cell or a line that no such table has.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import polars as pl

from torsweep.errors import InputError
from torsweep.formats.files import read_bytes
from torsweep.formats.limits import MOST_CELL_CHARACTERS, MOST_CSV_BYTES
from torsweep.formats.text import text_lines


def csv_rows(file: Path, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Line numbers and cells by column name of a table that has at least ``columns``."""
    reader = csv.DictReader(_short_cells(file), skipinitialspace=True, strict=True)
    try:
        names = [name.strip() for name in reader.fieldnames or []]
        _check_names(names, columns, file)
        reader.fieldnames = names
        for row in reader:
            if any(row[name] is None for name in columns):
                raise InputError("a line is cut off", file=file, key=f"line {reader.line_num}")
            yield reader.line_num, row
    except csv.Error as error:
        raise InputError(f"is no CSV table: {error}", file=file, key=f"line {reader.line_num}") from None


def _short_cells(file: Path) -> Iterator[str]:
    for line in text_lines(file):
        if len(line) > MOST_CELL_CHARACTERS * 10:
            raise InputError(
                "a line is too long for a table of rates", file=file, value=f"{len(line)} characters"
            )
        yield line


def _check_names(names: list[str], columns: Iterable[str], file: Path) -> None:
    if not names:
        raise InputError("is empty", file=file, accepted=f"a CSV with {', '.join(columns)}")
    missing = [name for name in columns if name not in names]
    if missing:
        raise InputError("columns are missing", file=file, value=names, accepted=f"also {', '.join(missing)}")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError("a column stands twice", file=file, value=twice)


def number(text: str, file: Path, line: int, column: str, most: float) -> float:
    """The cell ``text`` as a number from 0 to ``most``; InputError otherwise."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= most:
        key = f"line {line}, {column}"
        raise InputError("is no number in range", file=file, key=key, value=text, accepted=f"0 to {most:g}")
    return value


def read_frame(
    file: Path, texts: Iterable[str], numbers: Iterable[str] = (), missing: str = "no such file"
) -> pl.DataFrame:
    """A table that torsweep wrote: ``texts`` are its columns of text, ``numbers`` those of real numbers.

    Columns of either that it does not have are passed over. Raises InputError when it is no such table.
    """
    content = read_bytes(file, MOST_CSV_BYTES, missing)
    if not content.strip():
        raise InputError("is empty", file=file, accepted="a CSV table")
    types = {**dict.fromkeys(numbers, pl.Float64), **dict.fromkeys(texts, pl.String)}
    try:
        return pl.read_csv(content, schema_overrides=types, infer_schema_length=None)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        first = str(error).splitlines()[0] if str(error) else "damaged"
        raise InputError(f"is no CSV table: {first}", file=file) from None
