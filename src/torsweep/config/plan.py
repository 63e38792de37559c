"""A plan of an experiment: the knobs that it turns, and the variants that are run and compared.

In: the ``knobs:`` or a sensitivity of an experiment.yaml, and the settings of knobs with ranges
(:mod:`torsweep.config.knob_ranges`). Out: :class:`Plan`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Self

from pydantic import Discriminator, Field, Tag

from torsweep.config.knob_ranges import KnobRange, number_in
from torsweep.config.variant import Level, Variant

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
