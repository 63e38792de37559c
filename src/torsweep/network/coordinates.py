"""The coordinate model of latency: where the RTT of any two hosts comes from.

In and out: an npz file with fitted coordinates, heights and the residual distribution. The RTT of
hosts i and j is predicted as (‖xᵢ − xⱼ‖ + hᵢ + hⱼ) · c: coordinates and heights (Vivaldi's form:
Dabek et al., SIGCOMM 2004) with a correction c for the two places the hosts are in, because detours
of routing are shared by neighbours. It is multiplied by a factor drawn for the pair from the
quantiles of measured / predicted RTT among pairs of like prediction. Corrections and factors let
triangle violations survive; coordinates have none.
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from torsweep.errors import InputError
from torsweep.formats.arrays import read_arrays
from torsweep.network.exact import Floats
from torsweep.ranges import MOST_RTT_US
from torsweep.storage import whole_file

MODEL_FILE = "latency.npz"
_MEASURED = "measured_us"

_FACTORS = (1e-6, 1e6)
"""Ratios of measured to predicted RTT."""
_MOST_DIMENSIONS = 16
_TYPES = {
    "position_us": "int32",
    "height_us": "int32",
    "place": "int32",
    "correction": "float64",
    "bin_edge_us": "int32",
    "ratio": "float64",
    "jitter_us": "int32",
}


@dataclass(frozen=True)
class CoordinateModel:
    """Fitted hosts and residuals; times in microseconds.

    ``position_us`` (hosts, dimensions) and ``height_us`` (hosts,), int32; ``place`` (hosts,) int32 in
    0 … places − 1 and ``correction`` (places, places) float64, symmetric; ``bin_edge_us`` (bins − 1,)
    int32, ascending, splits predictions into bins; ``ratio`` (bins, points) float64 holds quantiles
    of measured / predicted RTT in each bin; ``jitter_us`` (dimensions,) int32 is the standard
    deviation by which a new host is moved from the fitted host it is made from.
    """

    position_us: NDArray[np.int32]
    height_us: NDArray[np.int32]
    place: NDArray[np.int32]
    correction: Floats
    bin_edge_us: NDArray[np.int32]
    ratio: Floats
    jitter_us: NDArray[np.int32]

    @property
    def dimensions(self) -> int:
        """Dimensions of the Euclidean part."""
        return self.position_us.shape[1]


def write_model(model: CoordinateModel, path: Path, measured_us: NDArray[np.int32] | None = None) -> None:
    """Write ``model`` to ``path``, and with it the matrix it was fitted to, gaps filled.

    ``measured_us`` is (hosts, hosts) in microseconds. The same content gives the same bytes.
    """
    arrays = vars(model) | ({} if measured_us is None else {_MEASURED: measured_us})
    with whole_file(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in sorted(arrays.items()):
            # A fixed date: zip entries otherwise carry the time they were written.
            entry = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(entry, "w") as file:
                np.lib.format.write_array(file, np.ascontiguousarray(array), allow_pickle=False)


def read_model(path: Path) -> CoordinateModel:
    """The model in ``path``. Raises InputError when the file is damaged or of another kind."""
    arrays = read_arrays(path)
    if "position_us" not in arrays:
        raise InputError("is not a latency table made by torsweep", file=path)
    for name, dtype in _TYPES.items():
        if name not in arrays:
            raise InputError("is not a whole latency table: an array is missing", file=path, key=name)
        if arrays[name].dtype != dtype:
            raise InputError(
                "has another type", file=path, key=name, value=str(arrays[name].dtype), accepted=dtype
            )
    model = CoordinateModel(**{name: arrays[name] for name in _TYPES})
    check_model(model, path)
    return model


def read_measured(path: Path) -> NDArray[np.int32]:
    """The matrix of RTTs in the imported table ``path``, (hosts, hosts) int32 microseconds.

    Raises InputError when the table is a derived one, which holds no measurement, or an RTT is out of range.
    """
    arrays = read_arrays(path)
    if _MEASURED not in arrays:
        accepted = "a table made by `torsweep latency import`"
        raise InputError(
            "holds no measured matrix to draw from directly", file=path, key="latency.use", accepted=accepted
        )
    matrix = arrays[_MEASURED]
    if matrix.dtype != np.int32 or matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not len(matrix):
        value = f"{matrix.dtype} {matrix.shape}"
        raise InputError(
            "is no matrix", file=path, key=_MEASURED, value=value, accepted="int32 (hosts, hosts)"
        )
    _require(path, _MEASURED, matrix, 0, MOST_RTT_US, "µs")
    return matrix


def check_model(model: CoordinateModel, path: Path) -> None:
    """InputError unless the arrays of ``model`` fit each other and every number lies in its range."""
    hosts = len(model.position_us)
    fits = (
        model.position_us.ndim == 2
        and hosts > 0
        and 0 < model.dimensions <= _MOST_DIMENSIONS
        and model.height_us.shape == (hosts,)
        and model.place.shape == (hosts,)
        and int(model.place.min()) >= 0
        and model.correction.shape == (int(model.place.max()) + 1,) * 2
        and model.ratio.ndim == 2
        and len(model.ratio) > 0
        and model.ratio.shape[1] >= 2
        and model.bin_edge_us.shape == (len(model.ratio) - 1,)
        and model.jitter_us.shape == (model.dimensions,)
    )
    if not fits:
        raise InputError("its arrays do not fit each other", file=path)
    _require(path, "position_us", model.position_us, -MOST_RTT_US, MOST_RTT_US, "µs")
    _require(path, "height_us", model.height_us, 0, MOST_RTT_US, "µs")
    _require(path, "jitter_us", model.jitter_us, 0, MOST_RTT_US, "µs")
    _require(path, "bin_edge_us", model.bin_edge_us, 0, 10 * MOST_RTT_US, "µs")
    _require(path, "ratio", model.ratio, *_FACTORS)
    _require(path, "correction", model.correction, *_FACTORS)
    if (np.diff(model.bin_edge_us) <= 0).any() or (np.diff(model.ratio, axis=1) < 0).any():
        raise InputError("its bins or quantiles do not ascend", file=path)


def _require(path: Path, key: str, values: NDArray, least: float, most: float, unit: str = "") -> None:
    """InputError unless each of ``values`` lies from ``least`` to ``most``; NaN does not."""
    if values.size and not (values.min() >= least and values.max() <= most):
        wrong = values[~((values >= least) & (values <= most))].flat[0].item()
        accepted = f"{least:g} to {most:g} {unit}".rstrip()
        raise InputError("holds a number out of range", file=path, key=key, value=wrong, accepted=accepted)
