"""Curves to draw: the share complete by a time, as a mean over networks.

In: matches and their curves. Out: a frame with a row for each variant, kind, metric, series and time.

Each series is averaged over the networks of the matches that have a run of it; the reference's mean over
those networks alone stands beside it, so that a repeat of one network is never held against the mean of
several.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import polars as pl

from torsweep.config.traffic import KINDS
from torsweep.fidelity.comparison import Curves
from torsweep.fidelity.distance import SHOWN_METRICS, Curve
from torsweep.fidelity.matches import REFERENCE, SERIES, Match

POINTS = 400
"""Times at which curves are drawn, evenly spaced on a logarithmic scale."""


def mean_curves(matches: Sequence[Match], curves: Curves) -> pl.DataFrame:
    """Columns: kind, metric, the knobs, series, ``time_s``, ``share``, ``reference_share``, ``networks``.

    A time beyond which one of the networks cannot be known is left out.
    """
    frames = []
    variants = list({tuple(match.variant.items()): match.variant for match in matches}.values())
    for kind, metric in product(KINDS, SHOWN_METRICS):
        times_s = _times([curve for (_, _, *what), curve in curves.items() if what == [kind, metric]])
        for variant, series in product(variants, SERIES):
            pairs = [
                (curves[number, series, kind, metric], curves[number, REFERENCE, kind, metric])
                for number, match in enumerate(matches)
                if match.variant == variant
                and (number, series, kind, metric) in curves
                and (number, REFERENCE, kind, metric) in curves
            ]
            if not pairs:
                continue
            share, reference_share = (
                np.mean([pair[side].at(times_s) for pair in pairs], axis=0) for side in (0, 1)
            )
            frames.append(
                pl.DataFrame({"time_s": times_s, "share": share, "reference_share": reference_share}).select(
                    pl.lit(kind).alias("kind"),
                    pl.lit(metric).alias("metric"),
                    *(pl.lit(level).alias(knob) for knob, level in variant.items()),
                    pl.lit(series).alias("series"),
                    pl.all(),
                    pl.lit(len(pairs)).alias("networks"),
                )
            )
    return pl.concat(frames).filter(pl.col("share").is_finite(), pl.col("reference_share").is_finite())


def _times(curves: Sequence[Curve]) -> np.ndarray:
    """The times at which curves are drawn: from before the first completion of any curve to the last."""
    times = [curve.incidence.times for curve in curves if len(curve.incidence.times)]
    if not times:
        return np.array([])
    least, most = min(part.min() for part in times), max(part.max() for part in times)
    return np.geomspace(max(least, 1e-6) * 0.95, max(most, 1e-6) * 1.05, POINTS)
