"""Import of measured latencies.

In: a matrix of RTTs. Out: a folder with ``latency.npz``, that holds the matrix, and ``import.json`` with
where it came from and its sanity statistics. Where nothing was measured, the matrix has the shortest way over
a third host.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torsweep.network.exact import Floats
from torsweep.network.latency import MODEL_FILE, write_measured
from torsweep.network.latency_matrix import MatrixSummary, check_matrix, read_latencies, symmetric
from torsweep.provenance import sha256_of_file
from torsweep.storage import whole_directory
from torsweep.storage.folders import LATENCIES_FOLDER

IMPORT_FILE = "import.json"


def import_latency(file: Path, unit: str, out: Path, *, one_way: bool = False) -> list[str]:
    """Write ``out`` and return the lines to print. Raises InputError for a matrix not fit for use.

    With ``one_way`` the file's numbers are delays of one direction and are doubled.
    """
    rtt_us = read_latencies(file, unit) * (2 if one_way else 1)
    summary = check_matrix(rtt_us, file)
    source = {"file": file.name, "sha256": sha256_of_file(file), "unit": unit}
    with whole_directory(out, LATENCIES_FOLDER) as temporary:
        write_measured(_complete(symmetric(rtt_us)), temporary / MODEL_FILE)
        document = {"source": source | {"one_way": one_way}, "statistics": _summary_document(summary)}
        (temporary / IMPORT_FILE).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return [*_summary_lines(summary), f"written: {out / MODEL_FILE}"]


def _complete(rtt_us: Floats) -> NDArray[np.int32]:
    """The symmetric matrix in whole microseconds, at least one; 0 on the diagonal.

    A gap is filled with the shortest way over a third host, or with the median where there is none.
    """
    known = np.where(np.isfinite(rtt_us), rtt_us, np.inf)
    filled = known.copy()
    for host, row in enumerate(known):
        gaps = np.flatnonzero(np.isinf(row))
        filled[host, gaps] = (row[:, None] + known[:, gaps]).min(axis=0)
    filled[np.isinf(filled)] = np.nanmedian(rtt_us)
    whole_us = np.maximum(np.rint(filled), 1).astype(np.int32)
    np.fill_diagonal(whole_us, 0)
    return whole_us


def _summary_document(summary: MatrixSummary) -> dict[str, Any]:
    return {
        "hosts": summary.hosts,
        "median_rtt_ms": round(summary.median_rtt_us / 1000, 3),
        "asymmetry_median": round(summary.asymmetry, 4),
        "missing": round(summary.missing, 4),
    }


def _summary_lines(summary: MatrixSummary) -> list[str]:
    return [
        f"hosts: {summary.hosts}",
        f"median RTT: {summary.median_rtt_us / 1000:.1f} ms",
        f"asymmetry: {100 * summary.asymmetry:.1f} % (median difference of the two directions)",
        f"missing: {100 * summary.missing:.2f} % of the pairs",
    ]
