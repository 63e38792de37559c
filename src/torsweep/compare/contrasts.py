"""Contrasts between variants: what each source shows, and whether it shows what the reference does.

In: curves of runs. Out: a frame with a row for each contrast, kind, metric and source.

A contrast is between two variants that differ in one knob: the logarithm of the ratio of their medians within
each network, averaged over networks. On that scale half and double are equally far from equal, and one slow
network does not outweigh the others.

**Within a source** it is over all networks that ran both variants, with a t-interval. An interval within ±
the experiment's margin shows that there is no difference. Otherwise, an interval above 1 shows that times are
longer, and one below 1 that they are shorter.

**Against the reference** it is over the networks that both sources ran both variants on: the ratio of the two
contrasts, with a t-interval of its own, and whether they agree in sign and, within :data:`SIZE_FACTOR`, in
size. The noise is how far such a mean moves when the seed changes: the root mean square difference between
the contrasts of a knob on a network and those of the repeats, over the root of the number of networks. It is
the reference's where it has repeats of both variants of any contrast, else the source's. A contrast that lies
within the noise in both sources does not count: its sign means nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
import polars as pl

from torsweep.compare.distances import COMPARED_METRICS, Curves
from torsweep.compare.sources import REPEATS, RUNS, Key, SourceRuns
from torsweep.compare.verdicts import together
from torsweep.config.experiment import Plan
from torsweep.config.traffic import KINDS
from torsweep.config.variant import Variant, one_knob_apart
from torsweep.stats.claims.judging import NO_DIFFERENCE
from torsweep.stats.inference.intervals import Interval, t_interval

SIZE_FACTOR = 2.0
"""How many times as large as the reference's a contrast may be in a source, or the other way round."""

LONGER, SHORTER, UNCLEAR = "longer", "shorter", "unclear"
"""What an interval of a contrast shows, beside that there is no difference: all of it lies above 1, below 1,
or neither."""

SAME, OTHER_SIZE, OTHER_SIGN, NO_CONTRAST = "same", "other size", "other sign", "no contrast"
"""Whether a contrast agrees with the reference's."""

ByNetwork = Mapping[int, float]
"""The logarithm of a ratio of medians by the seed of its network; NaN where one has no median."""

_COLUMNS = {
    **dict.fromkeys(("kind", "metric", "knob", "at", "from", "to", "source"), pl.String),
    "networks": pl.Int64,
    **dict.fromkeys(("ratio", "low", "high"), pl.Float64),
    **dict.fromkeys(("shows", "together"), pl.String),
    "shared": pl.Int64,
    **dict.fromkeys(
        ("shared_ratio", "reference_ratio", "relative", "relative_low", "relative_high", "size", "noise"),
        pl.Float64,
    ),
    **dict.fromkeys(("noise_of", "agrees"), pl.String),
}


def contrasts(read: Sequence[SourceRuns], curves: Curves, plan: Plan, margin: float) -> pl.DataFrame:
    """Every contrast of :func:`~torsweep.config.variant.one_knob_apart` that a source has run.

    Columns: kind, metric, ``knob``, ``at`` (the levels of the other knobs that vary), ``from`` and ``to``
    (levels of the knob), ``source``; ``networks``, ``ratio`` (to over from) with its interval, ``shows``, and
    what all sources show ``together``. Then, null for the reference: ``shared`` networks, both contrasts on
    these, their ratio (``relative``) with its interval, ``size`` (the quotient of their logarithms),
    ``noise`` (a factor) and the source that it is of, and whether the source ``agrees``.
    """
    medians: dict[tuple[str, str, str, str], dict[Key, float]] = defaultdict(dict)
    for what, curve in curves.items():
        medians[what.kind, what.metric, what.source, what.series][what.key] = curve.median_s
    pairs = one_knob_apart([dict(variant.levels) for variant in plan.variants])
    varying = {knob for knob, levels in plan.knobs.items() if len(levels) > 1}
    rows: list[dict[str, object]] = []
    for kind, metric in product(KINDS, COMPARED_METRICS):
        found = [
            {
                (one.label, series): _log_ratios(medians[kind, metric, one.label, series], pair)
                for one, series in product(read, (RUNS, REPEATS))
            }
            for pair in pairs
        ]
        for (one, other, knob), own in zip(pairs, found, strict=True):
            at = ", ".join(level for name, level in one.items() if name in varying and name != knob)
            head = {"kind": kind, "metric": metric, "knob": knob, "at": at}
            head |= {"from": one[knob], "to": other[knob]}
            of_knob = [each for (_, _, name), each in zip(pairs, found, strict=True) if name == knob]
            rows += [head | row for row in _of_sources(read, own, of_knob, margin)]
    return pl.DataFrame(rows, schema=_COLUMNS).with_columns(pl.col(pl.Float64).fill_nan(None))


_Pair = tuple[Mapping[str, str], Mapping[str, str], str]
_Found = Mapping[tuple[str, str], ByNetwork]
"""The logarithms of one contrast by source and series."""


def _log_ratios(medians: Mapping[Key, float], pair: _Pair) -> ByNetwork:
    """The logarithm of the median of the second variant over that of the first, by network."""
    one, other = (Variant(tuple(levels.items())) for levels in pair[:2])
    return {
        seed: float(np.log(medians[other, seed] / median))
        for (variant, seed), median in sorted(medians.items(), key=lambda item: item[0][1])
        if variant == one and (other, seed) in medians
    }


def _of_sources(
    read: Sequence[SourceRuns], own: _Found, of_knob: Sequence[_Found], margin: float
) -> list[dict[str, object]]:
    """A row for each source, with all but what the contrast is; none where no source has run it."""
    rows: list[dict[str, object]] = []
    for one in read:
        interval = t_interval(list(own[one.label, RUNS].values()))
        row: dict[str, object] = {
            "source": one.label,
            "networks": interval.networks,
            **_ratio(interval, ("ratio", "low", "high")),
            "shows": shows(interval, margin),
        }
        if one is not read[0] and one.network == read[0].network:
            row |= _against(one.label, read[0].label, own, of_knob)
        rows.append(row)
    said = together([None if row["shows"] == UNCLEAR else str(row["shows"]) for row in rows])
    return [{**row, "together": said} for row in rows] if any(row["networks"] for row in rows) else []


def shows(interval: Interval, margin: float) -> str:
    """What the interval of a logarithm shows."""
    if not interval.known:
        return UNCLEAR
    if np.expm1(interval.low) > -margin and np.expm1(interval.high) < margin:
        return NO_DIFFERENCE
    if interval.low > 0:
        return LONGER
    return SHORTER if interval.high < 0 else UNCLEAR


def _against(label: str, reference: str, own: _Found, of_knob: Sequence[_Found]) -> dict[str, object]:
    """The columns of the reference's side, from the networks that both have; none where there are none."""
    ours, theirs = own[label, RUNS], own[reference, RUNS]
    seeds = [seed for seed in ours if seed in theirs and np.isfinite([ours[seed], theirs[seed]]).all()]
    if not seeds:
        return {}
    mean, reference_mean = (float(np.mean([side[seed] for seed in seeds])) for side in (ours, theirs))
    noise, noise_of = _noise(label, reference, of_knob, len(seeds))
    return {
        "shared": len(seeds),
        "shared_ratio": float(np.exp(mean)),
        "reference_ratio": float(np.exp(reference_mean)),
        **_ratio(
            t_interval([ours[seed] - theirs[seed] for seed in seeds]),
            ("relative", "relative_low", "relative_high"),
        ),
        "size": mean / reference_mean if reference_mean else None,
        "noise": None if noise is None else float(np.exp(noise)),
        "noise_of": noise_of,
        "agrees": agrees(reference_mean, mean, noise),
    }


def agrees(reference: float, own: float, noise: float | None) -> str:
    """Whether two contrasts (logarithms) agree; ``noise`` is that of one of them, None where it is not
    known."""
    if noise is not None and abs(reference) <= noise and abs(own) <= noise:
        return NO_CONTRAST
    if reference * own <= 0:
        return OTHER_SIGN
    return SAME if 1 / SIZE_FACTOR <= own / reference <= SIZE_FACTOR else OTHER_SIZE


def _noise(
    label: str, reference: str, of_knob: Sequence[_Found], networks: int
) -> tuple[float | None, str | None]:
    """The noise of a mean over ``networks`` and the source whose repeats it is from."""
    for name in (reference, label):
        apart = [
            found[name, REPEATS][seed] - found[name, RUNS][seed]
            for found in of_knob
            for seed in found[name, REPEATS].keys() & found[name, RUNS].keys()
        ]
        if apart and np.isfinite(apart).all():
            return float(np.sqrt(np.mean(np.square(apart)) / networks)), name
    return None, None


def _ratio(interval: Interval, names: Sequence[str]) -> dict[str, object]:
    """An interval of a logarithm as one of a ratio; None where there is none."""
    bounds = (interval.mean, interval.low, interval.high)
    return {
        name: float(np.exp(bound)) if np.isfinite(bound) else None
        for name, bound in zip(names, bounds, strict=True)
    }
