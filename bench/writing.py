"""What benchmarks write: a record with the machine and a page to read, or the rows of a CSV file.

In: results. Out: files, each as a whole; and the command line of programs that make a document's table from a
folder of results.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from torsweep.provenance import machine, versions
from torsweep.storage import write_text


def write_results(out: Path, results: Mapping[str, Any], page: str) -> None:
    """Write ``results``, with machine and versions, into ``out`` and ``page`` beside it; print the page."""
    record = {"machine": machine(), "versions": versions(), **results}
    write_text(out, json.dumps(record, indent=1, sort_keys=True) + "\n")
    write_text(out.with_suffix(".md"), page)
    print(page)


def csv_text(columns: Sequence[str], rows: Sequence[Mapping[str, object]]) -> str:
    """``rows`` as the text of a CSV file with ``columns``."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def write_named_rows(
    description: str | None,
    folders: str,
    row: Callable[[str], Mapping[str, object]],
    arguments: Sequence[str] | None,
) -> None:
    """A command line: a CSV file, and words and ``folders`` for each row, of which ``row`` makes the rest."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("runs", nargs="+", metavar=f"WORDS={folders}")
    given = parser.parse_args(arguments)
    # Folders of runs have = in their names, too.
    named = [text.partition("=") for text in given.runs]
    rows = [{"run": words, **row(place)} for words, _, place in named]
    write_text(given.out, pl.DataFrame(rows).write_csv())


def write_rows(what: str, rows: Callable[[Path], pl.DataFrame], decimals: int | None = None) -> None:
    """A command line: a folder of results, and the CSV file that gets its ``rows``; ``what`` they are.

    Numbers have ``decimals`` digits after the point, or all that they have.
    """
    parser = argparse.ArgumentParser(description=f"{what}, for a document.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    write_text(arguments.out, rows(arguments.folder).write_csv(float_precision=decimals))
