"""The latency models ``planetlab``, ``atlas-2023`` and ``king``.

In: ``planetlab_rtt_ms_slice{1,9,18}.tsv.xz`` and ``atlas_anchors_2023-06-19_rtt_ms.tsv.xz``, RTTs in
milliseconds, and King's embedding. Out: a model each, and their errors by name.
"""

from __future__ import annotations

import lzma
from pathlib import Path

import numpy as np
from king_latency import derive_king
from latency_statistics import upper_triangle
from measured_latency import derive_measured

from torsweep.network.exact import Floats

_LONGEST_US = 1_000_000
"""Eight pairs of anchors have more, ten times what the paths over others take."""
_MOST_MISSING = 0.5


def derive(data: Path, out: Path) -> dict:
    """Write ``out/{planetlab,atlas-2023,king}.npz``; errors of each, and of what was removed from Atlas."""
    slices = {f"slice {number}": _slice(data, number) for number in (1, 9, 18)}
    first = slices.pop("slice 1")
    anchors, removed = _anchors(data)
    return {
        "planetlab": derive_measured(first, "slice 1", slices, out / "planetlab.npz"),
        "atlas-2023": {"removed": removed}
        | derive_measured(anchors, "19 June 2023", {}, out / "atlas-2023.npz"),
        "king": derive_king(data / "king_vivaldi_2d.txt", first, out / "king.npz"),
    }


def _slice(data: Path, number: int) -> Floats:
    return _rtts_us(data / f"planetlab_rtt_ms_slice{number}.tsv.xz")


def _rtts_us(path: Path) -> Floats:
    with lzma.open(path, "rt") as file:
        rtt_us = np.loadtxt(file) * 1000
    np.fill_diagonal(rtt_us, np.nan)
    return rtt_us


def _anchors(data: Path) -> tuple[Floats, dict]:
    """RTTs between anchors, and what was removed.

    A zero stands where nothing was measured: the anchors' other RTTs put such pairs 120 ms apart in the
    median. Two anchors have zeros only; anchors without half of their RTTs are left out.
    """
    rtt_us = _rtts_us(data / "atlas_anchors_2023-06-19_rtt_ms.tsv.xz")
    zeros = int((upper_triangle(rtt_us) == 0).sum())
    longer = int((upper_triangle(rtt_us) > _LONGEST_US).sum())
    rtt_us[(rtt_us == 0) | (rtt_us > _LONGEST_US)] = np.nan
    kept = np.isnan(rtt_us).mean(axis=1) < _MOST_MISSING
    removed = {
        "anchors": len(rtt_us),
        "anchors left out": int((~kept).sum()),
        "pairs of zero": zeros,
        "pairs over a second": longer,
    }
    rtt_us = rtt_us[np.ix_(kept, kept)]
    pairs = len(rtt_us) * (len(rtt_us) - 1) // 2
    return rtt_us, removed | {"missing of the rest": round(1 - len(upper_triangle(rtt_us)) / pairs, 4)}
