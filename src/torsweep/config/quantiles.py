"""Tables of quantiles, from which sizes of downloads, pauses and numbers of a page's objects are drawn.

In: ``configs/quantiles/NAME.yaml``, of the user's own or one that ships. Out: its :data:`Points`. Between two
points, values are spread evenly.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from torsweep.config.reading import Section, validate
from torsweep.errors import InputError
from torsweep.formats.yaml_file import read_yaml
from torsweep.home import find
from torsweep.units import Between, DurationNs, SizeBytes

QUANTILES_DIRECTORY = Path("configs/quantiles")
"""A study may have this folder beside the checkout's: see :mod:`torsweep.home`."""

MILLION = 1_000_000

MOST_OBJECTS = 10_000
"""The most objects of a page."""

Points = tuple[tuple[int, int], ...]
"""Shares in millionths, from 0 to a million, and the value (bytes, nanoseconds) that each lies below."""

_Share = Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)]


def check_points(points: Points) -> None:
    """ValueError unless shares rise from 0 to 1 and no value is less than the one before."""
    rising = all(before[0] < after[0] and before[1] <= after[1] for before, after in pairwise(points))
    if len(points) < 2 or points[0][0] != 0 or points[-1][0] != MILLION or not rising:
        raise ValueError("shares that rise from 0 to 1, with values that never fall")


def mean(points: Points) -> int:
    """The mean of what is drawn from ``points``, rounded down."""
    doubled = sum((after[0] - before[0]) * (before[1] + after[1]) for before, after in pairwise(points))
    return doubled // (2 * MILLION)


class _Table(Section):
    """A file of quantiles: where they are from, and rows of a share and a value."""

    source: Annotated[str, Field(min_length=1, max_length=2_000, pattern=r"\S")]
    """Where the table is from."""


class _Sizes(_Table):
    """Rows such as ``[0.5, 20 KB]``."""

    quantiles: tuple[tuple[_Share, Annotated[SizeBytes, Between("1 B", "8 GiB")]], ...]
    """Rows such as ``[0.5, 20 KB]``: half of the sizes are below 20 KB. Shares rise from 0 to 1; between rows
    values are spread evenly."""


class _Pauses(_Table):
    """Rows such as ``[0.5, 3 s]``."""

    quantiles: tuple[tuple[_Share, Annotated[DurationNs, Between("0 s", "24 h")]], ...]
    """Rows such as ``[0.5, 3 s]``."""


class _Counts(_Table):
    """Rows such as ``[0.5, 76]``."""

    quantiles: tuple[tuple[_Share, Annotated[int, Field(strict=True, ge=1, le=MOST_OBJECTS)]], ...]
    """Rows such as ``[0.5, 76]``."""


_Kind = type[_Sizes] | type[_Pauses] | type[_Counts]


def _read_points(name: str, kind: _Kind) -> Points:
    """The points of the table called ``name``; InputError when there is no such table of this ``kind``."""
    file = find(QUANTILES_DIRECTORY / f"{name}.yaml")
    rows = validate(kind, read_yaml(file), file).quantiles
    points = tuple((round(share * MILLION), value) for share, value in rows)
    try:
        check_points(points)
    except ValueError as error:
        raise InputError(
            "is no table of quantiles", file=file, key="quantiles", accepted=str(error)
        ) from None
    return points


class _Drawn(Section):
    """Drawn from the table ``configs/quantiles/NAME.yaml``, NAME being ``quantiles``."""

    quantiles: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=64)]
    """The table ``configs/quantiles/NAME.yaml``, without its suffix."""

    table: ClassVar[_Kind]

    @model_validator(mode="after")
    def _is_there(self) -> Self:
        _ = self.points
        return self

    @cached_property
    def points(self) -> Points:
        """The quantiles of the table, in the unit of its values: bytes, nanoseconds, or a number."""
        return _read_points(self.quantiles, self.table)


class DrawnSize(_Drawn):
    """Sizes that are drawn from a table."""

    table = _Sizes


class DrawnCount(_Drawn):
    """Numbers of objects that are drawn from a table."""

    table = _Counts


class DrawnPause(_Drawn):
    """Pauses that are drawn from a table."""

    table = _Pauses

    @property
    def min(self) -> int:
        """The shortest pause, in nanoseconds."""
        return self.points[0][1]

    @property
    def max(self) -> int:
        """The longest pause, in nanoseconds."""
        return self.points[-1][1]

    @property
    def mean_s(self) -> float:
        """The mean pause, in seconds."""
        return mean(self.points) / 1e9
