"""Import of measured latencies.

In: a matrix of RTTs. Out: a folder with ``latency.npz``, that holds a coordinate model fitted to the matrix
and the matrix itself, and ``import.json`` with where it came from and its sanity statistics.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torsweep.errors import InputError
from torsweep.network.exact import Floats
from torsweep.network.latency import MODEL_FILE, CoordinateModel, check_model, write_model
from torsweep.network.latency_fit import (
    Pairs,
    coordinate_model,
    fit_coordinates,
    measured_pairs,
    model_predictions,
)
from torsweep.network.latency_matrix import MatrixSummary, check_matrix, read_latencies, symmetric
from torsweep.provenance import sha256_of_file
from torsweep.storage import whole_directory
from torsweep.storage.folders import LATENCIES_FOLDER

IMPORT_FILE = "import.json"

_MOST_FIT_ERROR = 3.0
"""The largest ninth decile of |predicted − measured| / measured that is accepted. King's is below 1."""


def import_latency(file: Path, unit: str, out: Path, *, one_way: bool = False) -> list[str]:
    """Write ``out`` and return the lines to print. Raises InputError for a matrix not fit for use.

    With ``one_way`` the file's numbers are delays of one direction and are doubled.
    """
    rtt_us = read_latencies(file, unit) * (2 if one_way else 1)
    summary = check_matrix(rtt_us, file)
    mean = symmetric(rtt_us)
    pairs = measured_pairs(mean)
    model = coordinate_model(fit_coordinates(mean, pairs), pairs)
    error = np.abs(model_predictions(model, pairs) - pairs.rtt_us) / pairs.rtt_us
    worst = float(np.quantile(error, 0.9))
    if not worst <= _MOST_FIT_ERROR:
        problem = (
            f"no coordinates fit these RTTs: a tenth of the pairs is off by more than {100 * worst:.0f} %"
        )
        accepted = f"at most {100 * _MOST_FIT_ERROR:.0f} %; are these RTTs between hosts?"
        raise InputError(problem, file=file, accepted=accepted)
    check_model(model, file)
    statistics = {
        **_summary_document(summary),
        "fit_relative_error_p50": round(float(np.median(error)), 4),
        "fit_relative_error_p90": round(worst, 4),
    }
    source = {"file": file.name, "sha256": sha256_of_file(file), "unit": unit}
    with whole_directory(out, LATENCIES_FOLDER) as temporary:
        write_model(model, temporary / MODEL_FILE, measured_us=_complete(mean, model))
        document = {"source": source | {"one_way": one_way}, "statistics": statistics}
        (temporary / IMPORT_FILE).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return [
        *_summary_lines(summary),
        f"fit: relative error p50 {100 * statistics['fit_relative_error_p50']:.1f} %, "
        f"p90 {100 * statistics['fit_relative_error_p90']:.1f} %",
        f"written: {out / MODEL_FILE}",
    ]


def _complete(rtt_us: Floats, model: CoordinateModel) -> NDArray[np.int32]:
    """The matrix with the model's predictions where nothing was measured, whole microseconds, at least one;
    0 on the diagonal."""
    first, second = np.triu_indices(len(rtt_us), 1)
    missing = ~np.isfinite(rtt_us[first, second])
    gaps = Pairs(first[missing], second[missing], np.empty(int(missing.sum())))
    filled = np.where(np.isfinite(rtt_us), rtt_us, 0.0)
    filled[gaps.first, gaps.second] = filled[gaps.second, gaps.first] = model_predictions(model, gaps)
    filled = np.maximum(np.rint(filled), 1).astype(np.int32)
    np.fill_diagonal(filled, 0)
    return filled


def _summary_document(summary: MatrixSummary) -> dict[str, Any]:
    return {
        "hosts": summary.hosts,
        "median_rtt_ms": round(summary.median_rtt_us / 1000, 3),
        "asymmetry_median": round(summary.asymmetry, 4),
        "missing": round(summary.missing, 4),
        "triangle_inequalities_violated": round(summary.violations.of_inequalities, 4),
        "triangles_violated": round(summary.violations.of_triangles, 4),
    }


def _summary_lines(summary: MatrixSummary) -> list[str]:
    violations = summary.violations
    return [
        f"hosts: {summary.hosts}",
        f"median RTT: {summary.median_rtt_us / 1000:.1f} ms",
        f"asymmetry: {100 * summary.asymmetry:.1f} % (median difference of the two directions)",
        f"missing: {100 * summary.missing:.2f} % of the pairs",
        f"triangle violations: {100 * violations.of_inequalities:.1f} % of inequalities, "
        f"{100 * violations.of_triangles:.1f} % of triangles",
    ]
