"""The latency models ``planetlab``, ``atlas-2023`` and ``king``.

In: ``planetlab_rtt_ms_slice{1,9,18}.tsv.xz`` and ``atlas_anchors_2023-06-19_rtt_ms.tsv.xz``, RTTs in
milliseconds, and King's embedding. Out: a model each, and their errors by name.
"""

from __future__ import annotations

import lzma
from pathlib import Path

import numpy as np
from coordinate_fit import Pairs, model_predictions
from king_latency import derive_king
from latency_statistics import upper_triangle
from measured_latency import derive_measured
from numpy.typing import NDArray

from torsweep.network.exact import Floats
from torsweep.network.latency import CoordinateModel, read_model

_LONGEST_US = 1_000_000
"""Eight pairs of anchors have more, several times what their ends' other RTTs suggest."""
_MOST_MISSING = 0.5


def derive(data: Path, out: Path) -> dict:
    """Write ``out/{planetlab,atlas-2023,king}.npz``; errors of each, and of what was removed from Atlas."""
    slices = {f"slice {number}": _slice(data, number) for number in (1, 9, 18)}
    first = slices.pop("slice 1")
    planetlab = derive_measured(first, "slice 1", slices, out / "planetlab.npz")
    anchors = _rtts_us(data / "atlas_anchors_2023-06-19_rtt_ms.tsv.xz")
    cleaned, kept, removed = clean_anchors(anchors)
    atlas = derive_measured(cleaned, "19 June 2023", {}, out / "atlas-2023.npz")
    modelled = modelled_ms(read_model(out / "atlas-2023.npz")[0], anchors[np.ix_(kept, kept)])
    return {
        "planetlab": planetlab,
        "atlas-2023": {"removed": removed, "modelled RTT ms p50 of pairs of 0, 1, 2 ms": modelled} | atlas,
        "king": derive_king(data / "king_vivaldi_2d.txt", first, out / "king.npz"),
    }


def _slice(data: Path, number: int) -> Floats:
    return _rtts_us(data / f"planetlab_rtt_ms_slice{number}.tsv.xz")


def _rtts_us(path: Path) -> Floats:
    with lzma.open(path, "rt") as file:
        rtt_us = np.loadtxt(file) * 1000
    np.fill_diagonal(rtt_us, np.nan)
    return rtt_us


def clean_anchors(rtt_us: Floats) -> tuple[Floats, NDArray[np.bool_], dict]:
    """RTTs between the anchors that are kept, which those are, and what was removed.

    A zero stands where nothing was measured (:func:`modelled_ms`), two anchors have zeros only. Anchors
    without half of their RTTs are left out.
    """
    zeros = int((upper_triangle(rtt_us) == 0).sum())
    longer = int((upper_triangle(rtt_us) > _LONGEST_US).sum())
    known = np.where((rtt_us == 0) | (rtt_us > _LONGEST_US), np.nan, rtt_us)
    kept = np.isnan(known).mean(axis=1) < _MOST_MISSING
    cleaned = known[np.ix_(kept, kept)]
    pairs = len(cleaned) * (len(cleaned) - 1) // 2
    return (
        cleaned,
        kept,
        {
            "anchors": len(rtt_us),
            "anchors left out": int((~kept).sum()),
            "pairs": len(upper_triangle(rtt_us)),
            "pairs of zero": zeros,
            "pairs over a second": longer,
            "missing of the rest": round(1 - len(upper_triangle(cleaned)) / pairs, 4),
        },
    )


def modelled_ms(model: CoordinateModel, rtt_us: Floats) -> list[float]:
    """What ``model`` predicts in the median for pairs of which 0, 1 and 2 ms are recorded, milliseconds."""
    first, second = np.triu_indices(len(rtt_us), 1)
    every = Pairs(first, second, rtt_us[first, second])
    return [
        round(float(np.median(model_predictions(model, every[every.rtt_us == 1000 * recorded]))) / 1000, 1)
        for recorded in (0, 1, 2)
    ]
