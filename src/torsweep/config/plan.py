"""A plan of an experiment: the knobs that it turns, and the variants that are run and compared.

In: the ``knobs:`` or a sensitivity of an experiment.yaml. Out: :class:`Plan`.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Self

from pydantic import Field

from torsweep.config.variant import Level, Variant

MOST_LEVELS = 50

Grid = Mapping[str, Annotated[tuple[Level, ...], Field(min_length=1, max_length=MOST_LEVELS)]]
"""Knobs and their levels."""


@dataclass(frozen=True)
class Plan:
    """What is run together and compared: ``variants`` is the grid over ``knobs``, in order."""

    name: str
    knobs: Mapping[str, tuple[str, ...]]
    baseline: Variant
    variants: tuple[Variant, ...]

    @classmethod
    def over(cls, name: str, knobs: Mapping[str, tuple[str, ...]], usual: Mapping[str, str]) -> Self:
        """The plan over ``knobs``. The baseline has the ``usual`` level of each knob, or the first of
        its levels where the usual one is not among them."""
        baseline = {
            knob: usual[knob] if usual.get(knob) in levels else levels[0] for knob, levels in knobs.items()
        }
        variants = [
            Variant(tuple(zip(knobs, each, strict=True))) for each in itertools.product(*knobs.values())
        ]
        return cls(name, knobs, Variant(tuple(baseline.items())), tuple(variants))
