"""A plan of an experiment: the knobs that it turns, and the variants that are run and compared.

In: the ``knobs:`` or a sensitivity of an experiment.yaml. A list of levels stands for itself; a range of
numbers, such as ``{from: 10 ms, to: 1 s, scale: log}``, for levels at the ``points`` of a Sobol sequence.
Out: :class:`Plan`; what number is in a level, and where it lies in a range.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Literal, Self

import numpy as np
import numpy.typing as npt
from pydantic import Discriminator, Field, Tag

from torsweep.config.knobs import find_knob
from torsweep.config.reading import RefusedValue, Section
from torsweep.config.variant import Level, Variant
from torsweep.errors import InputError
from torsweep.seeds import stream
from torsweep.units import NANOSECONDS_PER

FEWEST_POINTS, MOST_POINTS = 2, 256

_LEVEL = re.compile(r"([A-Za-z_]*)([0-9]+(?:\.[0-9]+)?)([A-Za-z]*)\Z")
_DESIGN_SEED = 0
"""All networks have these points, so that networks of other seeds can be added to a plan."""


def number_in(level: str) -> tuple[str, float, str]:
    """The text before the number of ``level``, the number, and its unit: times are in milliseconds.

    Raises ValueError where there is no number, or more than one.
    """
    match = _LEVEL.match(level)
    if match is None:
        raise ValueError
    before, number, unit = match[1], float(match[2]), match[3]
    if unit in NANOSECONDS_PER:
        return before, number * NANOSECONDS_PER[unit] / NANOSECONDS_PER["ms"], "ms"
    return before, number, unit


class KnobRange(Section):
    """Numbers from one level to another, in place of a list of levels."""

    low: Level = Field(alias="from")
    """The level at which it begins."""
    high: Level = Field(alias="to")
    """The level at which it ends."""
    scale: Literal["linear", "log"] = "linear"
    """``log``: equal factors between points, in place of equal steps."""

    @property
    def unit(self) -> str:
        """The unit of its numbers; empty without one."""
        return number_in(self.low)[2]

    def number_at(self, place: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """The numbers at places from −1, where the range begins, to 1."""
        share = (np.asarray(place, dtype=float) + 1) / 2
        low, high = (number_in(end)[1] for end in (self.low, self.high))
        return low * (high / low) ** share if self.scale == "log" else low + share * (high - low)

    def place_of(self, level: str) -> float:
        """The place of a level: from −1 to 1 within the range."""
        low, number, high = (number_in(each)[1] for each in (self.low, level, self.high))
        if self.scale == "log":
            low, number, high = np.log(low), np.log(number), np.log(high)
        return float(2 * (number - low) / (high - low) - 1)

    def level_at(self, place: float) -> str:
        """The level at a place: a whole number, or one of four decimals where an end has any; an end as it is
        written."""
        before, _, unit = number_in(self.low)
        number = float(self.number_at(place))
        whole = unit == "ms" or "." not in self.low + self.high
        text = f"{number:.0f}" if whole else f"{number:.4f}".rstrip("0").rstrip(".")
        for end in (self.low, self.high):
            if number_in(end)[1] == float(text):
                return end
        if unit == "ms" and text.endswith("000"):
            text, unit = text.removesuffix("000"), "s"
        return f"{before}{text}{unit}"

    def require_sound(self, knob: str, baseline: str | None) -> None:
        """RefusedValue unless it goes up from one number to another and has the ``baseline`` in it."""
        key = f"knobs.{knob}"
        for end, level in (("from", self.low), ("to", self.high)):
            if _LEVEL.match(level) is None:
                problem, accepted = "is a name, and a range goes from number to number", "a list of levels"
                raise RefusedValue(problem, key=f"{key}.{end}", value=level, accepted=accepted)
            try:
                find_knob(knob).read(level)
            except InputError as error:
                raise RefusedValue(str(error), key=f"{key}.{end}") from None
        low, high = number_in(self.low), number_in(self.high)
        if (low[0], low[2]) != (high[0], high[2]):
            accepted = f"{low[0]}N{low[2]}"
            raise RefusedValue(
                "is not of the form of from", key=f"{key}.to", value=self.high, accepted=accepted
            )
        if low[1] >= high[1]:
            problem, accepted = "the range is empty", f"more than from, {self.low}"
            raise RefusedValue(problem, key=f"{key}.to", value=self.high, accepted=accepted)
        if self.scale == "log" and low[1] == 0:
            raise RefusedValue("has no logarithm", key=f"{key}.from", value=self.low, accepted="more than 0")
        if baseline is not None and not self._has(baseline):
            problem, accepted = "is outside the knob's range", f"from {self.low} to {self.high}"
            raise RefusedValue(problem, key=f"baseline.{knob}", value=baseline, accepted=accepted)

    def _has(self, level: str) -> bool:
        try:
            return number_in(level)[::2] == number_in(self.low)[::2] and abs(self.place_of(level)) <= 1
        except ValueError:
            return False


def range_settings(
    ranges: Mapping[str, KnobRange], points: int | None, baseline: Mapping[str, str]
) -> list[dict[str, str]]:
    """The settings of the knobs with ranges that are run: the points of the design and the baseline, each
    once, in the order of their numbers. Without ranges, one of no knob.

    Raises RefusedValue for a range of names, an empty one, and points that do not fit.
    """
    if not ranges:
        return [{}]
    if points is None:
        accepted = f"{FEWEST_POINTS} to {MOST_POINTS}, as knobs have ranges"
        raise RefusedValue("missing key", key="points", accepted=accepted)
    for knob, one in ranges.items():
        one.require_sound(knob, baseline.get(knob))
    found = [
        tuple(one.level_at(place) for one, place in zip(ranges.values(), places, strict=True))
        for places in _places(tuple(ranges), points)
    ]
    if set(ranges) <= set(baseline):
        found.append(tuple(baseline[knob] for knob in ranges))
    # The baseline's level stays as it is written: 1000ms is 1s.
    by_number = {tuple(number_in(level)[1] for level in levels): levels for levels in found}
    return [dict(zip(ranges, by_number[numbers], strict=True)) for numbers in sorted(by_number)]


@lru_cache
def _places(knobs: tuple[str, ...], points: int) -> list[list[float]]:
    """The places of a Sobol sequence, from −1 to 1 for each knob, both ends included."""
    # A second that only plans with ranges take.
    from scipy.stats import qmc

    seed = int(stream(_DESIGN_SEED, "design", "sobol", points, *knobs).integers(2**63))
    shares = qmc.Sobol(len(knobs), rng=seed).random_base2(int(np.ceil(np.log2(points))))[:points]
    # It has no points at the ends of the ranges: its outermost points become these.
    least, most = shares.min(axis=0), shares.max(axis=0)
    places: list[list[float]] = (2 * (shares - least) / (most - least) - 1).tolist()
    return places


MOST_LEVELS = 50

_Levels = Annotated[tuple[Level, ...], Field(min_length=1, max_length=MOST_LEVELS)]
Grid = Mapping[str, _Levels]
"""Knobs and their levels."""


def _levels_or_range(value: object) -> str:
    return "<range>" if isinstance(value, KnobRange | Mapping) else "<levels>"


Axis = Annotated[
    Annotated[_Levels, Tag("<levels>")] | Annotated[KnobRange, Tag("<range>")],
    Discriminator(_levels_or_range),
]
"""What a knob goes through: its levels, or a range of them."""


@dataclass(frozen=True)
class Plan:
    """What is run together and compared: ``variants`` is the grid over ``knobs``, in order, or of knobs with
    ``ranges`` the points of their design."""

    name: str
    knobs: Mapping[str, tuple[str, ...]]
    baseline: Variant
    variants: tuple[Variant, ...]
    ranges: Mapping[str, KnobRange]

    @classmethod
    def over(
        cls,
        name: str,
        axes: Mapping[str, KnobRange | tuple[str, ...]],
        settings: Sequence[Mapping[str, str]],
        usual: Mapping[str, str],
    ) -> Self:
        """The plan over ``axes``, whose knobs with a range have ``settings``. The baseline has the ``usual``
        level of each knob, or the first where that is none of its levels."""
        ranges = ranges_of(axes)
        levels_of = {
            knob: _each_once(setting[knob] for setting in settings) if isinstance(axis, KnobRange) else axis
            for knob, axis in axes.items()
        }
        baseline = {
            knob: usual[knob] if usual.get(knob) in levels else levels[0]
            for knob, levels in levels_of.items()
        }
        listed = [[{knob: level} for level in levels_of[knob]] for knob in axes if knob not in ranges]
        variants = []
        for parts in itertools.product(settings, *listed):
            chosen = {knob: level for part in parts for knob, level in part.items()}
            variants.append(Variant(tuple((knob, chosen[knob]) for knob in axes)))
        return cls(name, levels_of, Variant(tuple(baseline.items())), tuple(variants), ranges)


def ranges_of(axes: Mapping[str, KnobRange | tuple[str, ...]]) -> dict[str, KnobRange]:
    """The ``axes`` that are ranges."""
    return {knob: axis for knob, axis in axes.items() if isinstance(axis, KnobRange)}


def _each_once(levels: Iterable[str]) -> tuple[str, ...]:
    """Levels with numbers, in order."""
    return tuple(sorted(set(levels), key=lambda level: number_in(level)[1]))
