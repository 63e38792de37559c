"""Contrasts between variants: does the model see the same difference, with the same sign and size?

In: matches and their curves. Out: a frame with a row for each contrast, kind and metric.

A contrast is between two variants that differ in one knob: the logarithm of the ratio of their medians within
each network, averaged over the networks that both engines have run both variants on. On that scale half and
double are equally far from equal, and one slow network does not outweigh the others. The noise of a contrast
is how far such a mean moves when the seed changes: the root mean square difference between the contrasts of a
knob on a network and those of the repeats, over the root of the number of networks. It is the reference's
where it has repeats of both variants of any, else the model's. A contrast that lies within the noise in both
engines does not count: its sign means nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
import polars as pl

from torsweep.config.traffic import KINDS
from torsweep.config.variant import one_knob_apart
from torsweep.fidelity.comparison import Curves
from torsweep.fidelity.distance import PROBABILITIES, SHOWN_METRICS
from torsweep.fidelity.matches import (
    MODEL,
    MODEL_REPEAT,
    REFERENCE,
    REFERENCE_REPEAT,
    REPLAY,
    SERIES,
    Match,
)

SIZE_FACTOR = 2.0
"""How many times as large as the reference's a contrast may be in the model, or the other way round."""

SAME, OTHER_SIZE, OTHER_SIGN, NO_CONTRAST = "same", "other size", "other sign", "no contrast"

_MEDIAN = list(PROBABILITIES).index("p50")


def contrasts(matches: Sequence[Match], curves: Curves) -> pl.DataFrame:
    """Every contrast of :func:`~torsweep.config.variant.one_knob_apart`, for each kind and metric.

    Columns: kind, metric, ``knob``, ``at`` (the levels of the other knobs), ``from`` and ``to`` (levels of
    the knob), ``networks``, ``reference``, ``model`` and ``replay`` (logarithms of ratios of medians, to over
    from; null where nothing can be compared), ``size_ratio`` (model over reference), ``noise`` and
    ``noise_from`` (the series that it is from; null without repeats), ``verdict``.
    """
    rows = []
    for kind, metric in product(KINDS, SHOWN_METRICS):
        medians = {series: _medians(matches, curves, series, kind, metric) for series in SERIES}
        pairs = [
            (one, other, knob, {series: _log_ratios(found, one, other) for series, found in medians.items()})
            for one, other, knob in one_knob_apart([match.variant for match in matches])
        ]
        for one, other, knob, found in pairs:
            shared = sorted(found[REFERENCE].keys() & found[MODEL].keys())
            if not shared:
                continue
            reference, model = (_mean(found[series], shared) for series in (REFERENCE, MODEL))
            noise, noise_from = _noise([own for _, _, of, own in pairs if of == knob], len(shared))
            replayed = set(shared) <= found[REPLAY].keys()
            rows.append(
                {
                    "kind": kind,
                    "metric": metric,
                    "knob": knob,
                    "at": ", ".join(level for name, level in one.items() if name != knob),
                    "from": one[knob],
                    "to": other[knob],
                    "networks": len(shared),
                    "reference": reference,
                    "model": model,
                    "replay": _mean(found[REPLAY], shared) if replayed else None,
                    "size_ratio": model / reference if reference else None,
                    "noise": noise,
                    "noise_from": noise_from,
                    "verdict": verdict(reference, model, noise),
                }
            )
    return pl.DataFrame(rows, schema=_COLUMNS).with_columns(pl.col(pl.Float64).fill_nan(None))


_COLUMNS = {
    **dict.fromkeys(("kind", "metric", "knob", "at", "from", "to"), pl.String),
    "networks": pl.Int64,
    **dict.fromkeys(("reference", "model", "replay", "size_ratio", "noise"), pl.Float64),
    "noise_from": pl.String,
    "verdict": pl.String,
}


def verdict(reference: float, model: float, noise: float | None) -> str:
    """Whether the contrasts of two engines agree; ``noise`` is that of one of them, None where it is not
    known."""
    if noise is not None and abs(reference) <= noise and abs(model) <= noise:
        return NO_CONTRAST
    if not np.isfinite([reference, model]).all() or reference * model <= 0:
        return OTHER_SIGN
    size = model / reference
    return SAME if 1 / SIZE_FACTOR <= size <= SIZE_FACTOR else OTHER_SIZE


def _medians(
    matches: Sequence[Match], curves: Curves, series: str, kind: str, metric: str
) -> dict[tuple[tuple[str, ...], int], float]:
    """Median in seconds by variant and seed, where the curve gets that far."""
    found = {}
    for number, match in enumerate(matches):
        curve = curves.get((number, series, kind, metric))
        if curve is not None and np.isfinite(curve.quantiles_s[_MEDIAN]):
            found[tuple(match.variant.values()), match.seed] = float(curve.quantiles_s[_MEDIAN])
    return found


def _log_ratios(
    medians: Mapping[tuple[tuple[str, ...], int], float], one: Mapping[str, str], other: Mapping[str, str]
) -> dict[int, float]:
    """The logarithm of the median of ``other`` over that of ``one``, by the networks that have both."""
    from_levels, to_levels = tuple(one.values()), tuple(other.values())
    return {
        seed: float(np.log(medians[to_levels, seed] / median))
        for (levels, seed), median in medians.items()
        if levels == from_levels and (to_levels, seed) in medians
    }


def _mean(values: Mapping[int, float], seeds: Sequence[int]) -> float:
    return float(np.mean([values[seed] for seed in seeds]))


def _noise(
    pairs: Sequence[Mapping[str, Mapping[int, float]]], networks: int
) -> tuple[float | None, str | None]:
    """The noise of a mean over ``networks`` and the series whose repeats it is from.

    ``pairs`` are the contrasts of one knob, each by series and seed.
    """
    for original, repeat in ((REFERENCE, REFERENCE_REPEAT), (MODEL, MODEL_REPEAT)):
        apart = [
            pair[repeat][seed] - pair[original][seed]
            for pair in pairs
            for seed in pair[repeat].keys() & pair[original].keys()
        ]
        if apart:
            return float(np.sqrt(np.mean(np.square(apart)) / networks)), original
    return None, None
