"""How far two runs of a network are apart by chance alone, by network, engine and era.

In: ``configs/spread.csv``, which ``python -m bench.spread`` writes. Out: :class:`Spread`, from which
:mod:`torsweep.stats.inference.power` says which change a comparison can be expected to show.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from itertools import product
from pathlib import Path

import polars as pl

from torsweep.config.variant import FREE
from torsweep.engines.registry import MODEL_ENGINE
from torsweep.errors import InputError
from torsweep.home import find

SPREAD_FILE = Path("configs/spread.csv")

SpreadKey = tuple[str, str, str, str, str, str, int]
"""Network, engine, era, pairing, kind, metric and measured seconds."""


@dataclass(frozen=True)
class Spread:
    """A row of the file: how far two runs of a network are apart by chance alone.

    ``log_ratio_sd`` is the standard deviation over ``networks`` networks of how much longer the same
    download takes in one of the runs (:mod:`torsweep.stats.streams.pairs`): its time to ``metric``, in
    ``measured_s`` seconds of downloads of ``kind``. With the ``pairing`` ``paths`` both runs were given the
    same paths. It depends on the measured time as it was measured: there is a row for each.
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
        where = (self.network, self.engine, self.era, self.pairing)
        return (*where, self.kind, self.metric, self.measured_s)


_NUMERIC_COLUMNS = {"measured_s": pl.Int64, "networks": pl.Int64, "log_ratio_sd": pl.Float64}


def read_spreads(file: Path = SPREAD_FILE) -> list[Spread]:
    """The rows of ``file``, in the working directory or else the checkout.

    Raises InputError when it is not there, has other columns, or a cell that is empty or no number.
    """
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
    metric: str,
    *,
    era: str,
    pairing: str = FREE,
) -> list[Spread]:
    """The ``rows`` that come nearest to a comparison on ``network``, one for each measured time.

    The engine's rows come first: with this pairing, then with free paths; then the model's; else none.
    """
    for each, how in product((engine, MODEL_ENGINE), (pairing, FREE)):
        where = (network, each, era, how, kind, metric)
        if nearest := [row for row in rows if row.key[:-1] == where]:
            return nearest
    return []


def spread_of(rows: Iterable[Spread], measured_s: float) -> Spread | None:
    """The row whose measured time comes nearest; None where there is none."""
    return min(rows, key=lambda row: abs(row.measured_s - measured_s), default=None)


def basis(row: Spread, engine: str, pairing: str = FREE) -> str:
    """In a sentence, what is said beforehand of a comparison in ``engine`` rests on, if on ``row``."""
    alike = f"from A/A runs on {row.networks} networks of {row.network} in {row.engine}"
    if row.engine != engine:
        return f"{alike}; none were measured in {engine}"
    if row.pairing != pairing:
        return f"{alike}, on free paths; none were measured on the same paths"
    return alike
