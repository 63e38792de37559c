"""The smallest change that a comparison of so many networks can be expected to show.

In: how much two runs of a network differ by chance alone (``configs/spread.csv``, which ``python -m
bench.spread`` writes). Out: :func:`smallest_change`.

Two variants are compared by the logarithms of the ratios of their medians, one for each network, with
Student's t (:mod:`torsweep.stats.streams.differences`). Where the change is as large in every network, those
logarithms vary by chance alone, and the power of the test is that of the noncentral t-distribution (Johnson,
Kotz and Balakrishnan, Continuous Univariate Distributions 2, 1995, chapter 31). A change that is larger in
some networks than in others takes more networks to show.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import polars as pl
from scipy import special

from torsweep.config.variant import FREE
from torsweep.engines.selection import MODEL_ENGINE
from torsweep.errors import InputError
from torsweep.home import find
from torsweep.stats.inference.intervals import CONFIDENCE, bonferroni, t_quantile

SPREAD_FILE = Path("configs/spread.csv")

POWER = 0.8
"""The chance with which a change of the size that is told is shown."""


SpreadKey = tuple[str, str, str, str, str, str]
"""Network, engine, era, pairing, kind and metric."""

_QUANTILES = 2_000
"""Enough for a power that is right to three digits."""


@dataclass(frozen=True)
class Spread:
    """A row of the file: how far two runs of a network are apart by chance alone.

    ``log_ratio_sd`` is the standard deviation over ``networks`` networks of the logarithm of the ratio of
    the runs' medians of ``metric``, over downloads of ``kind`` in ``measured_s`` seconds. With the
    ``pairing`` ``paths`` both runs were given the same paths. The model draws pauses and servers anew too,
    as it has no other chance.
    """

    network: str
    engine: str
    era: str
    pairing: str
    kind: str
    metric: str
    measured_s: int
    networks: int
    log_ratio_sd: float

    @property
    def key(self) -> SpreadKey:
        """What it is of: no two rows of a file have the same."""
        return (self.network, self.engine, self.era, self.pairing, self.kind, self.metric)

    def smallest_change(self, networks: int, measures: int) -> float:
        """The relative change that ``networks`` networks, two or more, show with a chance of :data:`POWER`:
        0.1 is 10 % more.

        ``measures`` is how many changes are asked for together: intervals cover all of them at 95 %.
        """
        bound = t_quantile(bonferroni(CONFIDENCE, measures), networks)
        return float(np.expm1(_noncentrality(networks - 1, bound) * self.log_ratio_sd / np.sqrt(networks)))


def power(freedom: int, noncentrality: float, bound: float) -> float:
    """The chance that |t| of so many degrees of freedom is beyond ``bound``.

    The mean over equally likely sample standard deviations (χ²) of the normal chance that each leaves.
    """
    likely = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
    deviations = np.sqrt(special.chdtri(freedom, likely) / freedom)
    beyond = special.ndtr(noncentrality - bound * deviations)
    return float(np.mean(beyond + special.ndtr(-noncentrality - bound * deviations)))


def _noncentrality(freedom: int, bound: float) -> float:
    low, high = 0.0, 1.0
    while power(freedom, high, bound) < POWER:
        low, high = high, 2 * high
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if power(freedom, middle, bound) >= POWER else (middle, high)
    return high


_NUMBERS = {"measured_s": pl.Int64, "networks": pl.Int64, "log_ratio_sd": pl.Float64}


def read_spreads(file: Path = SPREAD_FILE) -> list[Spread]:
    """The rows of ``file``, in the working directory or else the checkout.

    Raises InputError when it is not there, has other columns, or a cell that is empty or no number.
    """
    names = [field.name for field in fields(Spread)]
    try:
        frame = pl.read_csv(find(file), infer_schema=False)
        if frame.columns != names:
            raise InputError("has other columns", file=file, accepted=", ".join(names))
        frame = frame.with_columns(pl.col(name).cast(kind) for name, kind in _NUMBERS.items())
        if sum(frame.null_count().row(0)):
            raise InputError("has an empty cell", file=file)
        return [Spread(**row) for row in frame.iter_rows(named=True)]
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"cannot be read: {error}", file=file) from error


def spread_of(
    network: str, engine: str, kind: str, metric: str, *, era: str, pairing: str = FREE
) -> Spread | None:
    """The row for a comparison on ``network``, or the one that comes nearest; None where there is none.

    The row of the engine, where paths are given or else not; then that of the model.
    """
    rows = {row.key: row for row in read_spreads()}
    sources = [(each, how) for each in (engine, MODEL_ENGINE) for how in (pairing, FREE)]
    keys = [(network, each, era, how, kind, metric) for each, how in sources]
    return next((rows[key] for key in keys if key in rows), None)


def smallest_change(
    network: str,
    engine: str,
    kind: str,
    metric: str,
    networks: int,
    *,
    era: str = "today",
    pairing: str = FREE,
    measures: int = 1,
) -> float | None:
    """The relative change (0.1: 10 % more) of a median that ``networks`` networks can be expected to show.

    That is with a chance of :data:`POWER`, at 95 % for ``measures`` changes together, as the claim test
    ``change`` asks for its metrics. None where no runs tell (:func:`spread_of`), and for one network. Raises
    InputError when the file of spreads is damaged.
    """
    row = spread_of(network, engine, kind, metric, era=era, pairing=pairing)
    return None if row is None or networks < 2 else row.smallest_change(networks, measures)


def basis(row: Spread, engine: str, pairing: str = FREE) -> str:
    """In a sentence, what the smallest changes of a comparison in ``engine`` rest on, if on ``row``."""
    alike = f"pairs of runs on {row.networks} networks of {row.network} that differ by chance alone"
    if row.engine != engine:
        return f"from {alike}, in {row.engine}, as {engine} has none yet"
    if row.pairing != pairing:
        return (
            f"from {alike}, in {row.engine}, each on paths of its own, as there are none with the same paths"
        )
    return f"from {alike}, in {row.engine}"
