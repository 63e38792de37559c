"""Ranges of knobs: a plan over numbers between two levels, at the points of a design.

In: ``knobs:`` of an experiment.yaml in which ``{from: 10 ms, to: 1 s, scale: log}`` stands for a list of
levels, its ``points`` and its ``design``. Out: the settings that are run, an ordinary level of each knob;
what number is in a level, and where it lies in the range.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from torsweep.config.knobs import find_knob
from torsweep.config.reading import RefusedValue, Section
from torsweep.config.variant import Level
from torsweep.errors import InputError
from torsweep.seeds import stream
from torsweep.units import NANOSECONDS_PER

PointDesign = Literal["sobol", "latin", "grid"]

FEWEST_POINTS, MOST_POINTS = 2, 256

_LEVEL = re.compile(r"([A-Za-z_]*)([0-9]+(?:\.[0-9]+)?)([A-Za-z]*)\Z")
_DESIGN_SEED = 0
"""All networks have these points, so that networks of other seeds can be added to a plan."""


def number_in(level: str) -> tuple[str, float, str]:
    """What stands before the number of ``level``, the number, and its unit: times are in milliseconds.

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
    ranges: Mapping[str, KnobRange], design: PointDesign, points: int | None, baseline: Mapping[str, str]
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
        for places in _places(tuple(ranges), design, points)
    ]
    if set(ranges) <= set(baseline):
        found.append(tuple(baseline[knob] for knob in ranges))
    # The baseline's level stays as it is written: 1000ms is 1s.
    by_number = {tuple(number_in(level)[1] for level in levels): levels for levels in found}
    return [dict(zip(ranges, by_number[numbers], strict=True)) for numbers in sorted(by_number)]


@lru_cache
def _places(knobs: tuple[str, ...], design: PointDesign, points: int) -> list[list[float]]:
    """The places of a design, from −1 to 1 for each knob, both ends included."""
    many = len(knobs)
    if design == "grid":
        each = round(points ** (1 / many))
        if each < 2 or each**many != points:
            least = max(2, int(points ** (1 / many)))
            accepted = " or ".join(str(n**many) for n in (least, least + 1) if n**many <= MOST_POINTS)
            raise RefusedValue(f"make no grid of {many} knobs", key="points", value=points, accepted=accepted)
        axis = np.linspace(-1, 1, each)
        return np.stack(np.meshgrid(*[axis] * many, indexing="ij"), -1).reshape(-1, many).tolist()
    # A second that only plans with ranges take.
    from scipy.stats import qmc

    seed = int(stream(_DESIGN_SEED, "design", design, points, *knobs).integers(2**63))
    if design == "latin":
        shares = qmc.LatinHypercube(many, rng=seed).random(points)
    else:
        shares = qmc.Sobol(many, rng=seed).random_base2(int(np.ceil(np.log2(points))))[:points]
    # Neither has points at the ends of the ranges: its outermost points become these.
    least, most = shares.min(axis=0), shares.max(axis=0)
    places: list[list[float]] = (2 * (shares - least) / (most - least) - 1).tolist()
    return places
