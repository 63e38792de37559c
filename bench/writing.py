"""What benchmarks have in common: the number of rounds, what they write, and how they end.

In: the option ``--rounds``, and results. Out: a record with the machine, or the rows of a CSV file; each file
as a whole.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from torsweep.ending import exit_code_of
from torsweep.provenance import machine, versions
from torsweep.storage import write_text

LEAST_ROUNDS = 3
"""A median of fewer is no better than one measurement."""


def end_with(main: Callable[[], object]) -> NoReturn:
    """Do the work of the command ``main`` and end the process as torsweep's commands do: in one line."""
    sys.exit(exit_code_of(main, Path(sys.argv[0]).stem))


def add_rounds(parser: argparse.ArgumentParser) -> None:
    """Give ``parser`` the option ``--rounds``, which refuses fewer than :data:`LEAST_ROUNDS`."""
    words = f"Measurements of each figure, at least {LEAST_ROUNDS}."
    parser.add_argument("--rounds", type=_enough, default=LEAST_ROUNDS, help=words)


def _enough(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < LEAST_ROUNDS:
        raise argparse.ArgumentTypeError(f"{text}: accepted: {LEAST_ROUNDS} or more")
    return int(text)


def write_results(out: Path, results: Mapping[str, Any], page: str) -> None:
    """Write ``results``, with machine and versions, into ``out``, and print ``page``."""
    record = {"machine": machine(), "versions": versions(), **results}
    write_text(out, json.dumps(record, indent=1, sort_keys=True) + "\n")
    print(page)


def csv_text(columns: Sequence[str], rows: Sequence[Mapping[str, object]]) -> str:
    """``rows`` as the text of a CSV file with ``columns``."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def write_rows(file: Path, rows: Iterable[Mapping[str, object]]) -> None:
    """Write ``rows``, of which there is one or more, as a CSV file with the columns of the first."""
    listed = list(rows)
    write_text(file, csv_text(list(listed[0]), listed))
