"""Which change a comparison is likely to show, by how many networks.

In: the spread of a value over networks, measured beforehand (:class:`Spread`, from ``configs/spread.csv``,
which ``python -m bench.spread`` writes) or in the networks that there are; a number of networks, and the
confidence of their interval. Out: the change that is shown with a chance of :data:`POWER`. It never follows
from the change just observed: a number of networks "that would decide" does, and promises nothing where there
is no change.

A change is shown where a t-interval excludes 0, with the power of the noncentral t-distribution (Johnson,
Kotz and Balakrishnan, Continuous Univariate Distributions 2, 1995, chapter 31). Two things make it harder to
show than chance alone. A change is larger in some networks than in others, by :data:`EFFECT_VARIES`. And the
spread is known from a few networks: the power is the mean over the spreads that these leave likely (χ²). For
a comparison that is looked at repeatedly this is the chance to be shown at that look alone; the chance to be
shown at that look or before is a little higher.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
from scipy import special

from torsweep.config.variant import FREE
from torsweep.engines.registry import MODEL_ENGINE
from torsweep.errors import InputError
from torsweep.home import find
from torsweep.stats.inference.moderation import EFFECT_VARIES

POWER = 0.8
"""The chance that a change of the stated size is shown."""

MULTIPLES = (1, 2, 4)
"""The smallest change shown is stated for these multiples of the number of networks."""

_QUANTILES, _SPREADS = 500, 25
"""Enough for a power that is right to three digits."""


def power(freedom: float, noncentrality: float, bound: float) -> float:
    """The chance that |t| of so many degrees of freedom is beyond ``bound``: the mean over equally likely
    sample standard deviations (χ²) of the normal chance that each leaves."""
    likely = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
    deviations = np.sqrt(special.chdtri(freedom, likely) / freedom)
    beyond = special.ndtr(noncentrality - bound * deviations)
    return float(np.mean(beyond + special.ndtr(-noncentrality - bound * deviations)))


def equivalence_power(freedom: float, noncentrality: float, bound: float) -> float:
    """The chance that the interval lies within ± a margin, ``noncentrality`` standard errors, where there is
    no change."""
    likely = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
    room = noncentrality - bound * np.sqrt(special.chdtri(freedom, likely) / freedom)
    return float(np.mean(np.maximum(2 * special.ndtr(room) - 1, 0)))


Chance = Callable[[float, float, float], float]


def smallest_shown(
    spread: float,
    networks: int,
    confidence: float,
    known: float | None = None,
    chance: Chance = power,
    prior: float = 0.0,
) -> float:
    """The mean that the interval of ``networks`` networks, two or more, tells from 0 with a chance of
    :data:`POWER`, in the unit of ``spread``, the standard deviation over networks by chance; with
    :func:`equivalence_power` the margin within which it keeps a mean of 0.

    ``known`` are the degrees of freedom that the spread was measured with; None: it is exact. ``prior`` are
    those that the interval has from earlier studies (:mod:`torsweep.stats.inference.moderation`). Infinite
    where no change is so large, as a larger one also varies more.
    """
    return _in_spreads(networks, confidence, known, chance, prior) * spread


@functools.cache
def _in_spreads(networks: int, confidence: float, known: float | None, chance: Chance, prior: float) -> float:
    likely = (np.arange(_SPREADS) + 0.5) / _SPREADS
    squares = np.ones(1) if known is None else known / special.chdtri(known, likely)
    varies = EFFECT_VARIES if chance is power else 0.0
    freedom = networks - 1 + prior
    bound = float(special.stdtrit(freedom, 0.5 + confidence / 2))

    def mean_chance(size: float) -> float:
        shifts = size * np.sqrt(networks / (squares + (varies * size) ** 2))
        return float(np.mean([chance(freedom, float(shift), bound) for shift in shifts]))

    low, high = 0.0, 1.0
    while mean_chance(high) < POWER:
        low, high = high, 2 * high
        if high > _LARGEST:
            return float("inf")
    while high - low > 1e-4 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if mean_chance(middle) >= POWER else (middle, high)
    return high


_LARGEST = 1e4
"""Spreads; where so large a change is not shown, none is."""


def shown_by(
    spread: float,
    confidences: Mapping[int, float],
    known: float | None = None,
    chance: Chance = power,
    prior: float = 0.0,
) -> dict[int, float]:
    """The smallest change shown by each number of networks from two on, with the confidence of its interval;
    numbers that show no change however large are left out."""
    sizes = {
        number: smallest_shown(spread, number, confidence, known, chance, prior)
        for number, confidence in confidences.items()
        if number > 1
    }
    return {number: size for number, size in sizes.items() if np.isfinite(size)}


def shown_text(sizes: Mapping[int, str], what: str = "a change of ") -> str:
    """``a change of 20 % would be shown by 8 networks with a chance of 80 %, of 14 % by 16``."""
    if not sizes:
        return ""
    (first, least), *more = sizes.items()
    text = f"{what}{least} would be shown by {first} networks with a chance of {100 * POWER:.0f} %"
    return ", ".join([text, *(f"{size} by {number}" for number, size in more)])


def size_text(share: float) -> str:
    """``14 %``, ``2.5 %`` or ``over 100 %``."""
    if share >= 1:
        return "over 100 %"
    return f"{100 * share:.0f} %" if share >= 0.095 else f"{100 * share:.1f} %"


SPREAD_FILE = Path("configs/spread.csv")

SpreadKey = tuple[str, str, str, str, str, str, int]
"""Network, engine, era, pairing, kind, measure and measured seconds."""


@dataclass(frozen=True)
class Spread:
    """A row of the file: how far two runs of a network are apart by chance alone.

    ``log_ratio_sd`` is the standard deviation over ``networks`` networks of the logarithm of how much longer
    downloads of ``kind`` take in one of the runs, by ``measure`` (``paired_ttfb``, ``mean_ttlb``, …), in
    ``measured_s`` seconds. With the ``pairing`` ``paths`` both runs were given the same paths.
    """

    network: str
    engine: str
    era: str
    pairing: str
    kind: str
    measure: str
    measured_s: int
    networks: int
    log_ratio_sd: float

    @property
    def key(self) -> SpreadKey:
        """What it is of: no two rows of a file have the same."""
        where = (self.network, self.engine, self.era, self.pairing)
        return (*where, self.kind, self.measure, self.measured_s)


_NUMERIC_COLUMNS = {"measured_s": pl.Int64, "networks": pl.Int64, "log_ratio_sd": pl.Float64}


def read_spreads(file: Path = SPREAD_FILE) -> list[Spread]:
    """The rows of ``file``, in the working directory or else the checkout; InputError when it is not there,
    has other columns, or a cell that is empty or no number."""
    names = [field.name for field in fields(Spread)]
    try:
        frame = pl.read_csv(find(file), infer_schema=False)
        if frame.columns != names:
            raise InputError("has other columns", file=file, accepted=", ".join(names))
        frame = frame.with_columns(pl.col(name).cast(kind) for name, kind in _NUMERIC_COLUMNS.items())
        if sum(frame.null_count().row(0)):
            raise InputError("has an empty cell", file=file)
        return [Spread(**row) for row in frame.iter_rows(named=True)]
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"cannot be read: {error}", file=file) from error


def spreads_of(
    rows: Sequence[Spread],
    network: str,
    engine: str,
    kind: str,
    measure: str,
    *,
    era: str,
    pairing: str = FREE,
) -> list[Spread]:
    """The ``rows`` that come nearest to a comparison on ``network``, one for each measured time: the engine's
    with this pairing, then with free paths; then the model's; else none."""
    for each, how in product((engine, MODEL_ENGINE), (pairing, FREE)):
        where = (network, each, era, how, kind, measure)
        if nearest := [row for row in rows if row.key[:-1] == where]:
            return nearest
    return []


def spread_of(rows: Iterable[Spread], measured_s: float) -> Spread | None:
    """The row whose measured time comes nearest; None where there is none."""
    return min(rows, key=lambda row: abs(row.measured_s - measured_s), default=None)


def spread_not_longer(rows: Iterable[Spread], measured_s: float) -> Spread | None:
    """The row of the longest time that is not longer; None where there is none."""
    short = (row for row in rows if row.measured_s <= measured_s)
    return max(short, key=lambda row: row.measured_s, default=None)


def basis(row: Spread, engine: str, pairing: str = FREE) -> str:
    """A sentence that says on which A/A runs a forecast for ``engine`` rests that uses ``row``."""
    alike = f"from A/A runs on {row.networks} networks of {row.network} in {row.engine}"
    if row.engine != engine:
        return f"{alike}; none were measured in {engine}"
    if row.pairing != pairing:
        return f"{alike}, on free paths; none were measured on the same paths"
    return alike
