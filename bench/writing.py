"""What benchmarks write: a record with the machine and a page to read, or the rows of a CSV file.

In: results. Out: files, each as a whole.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

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
