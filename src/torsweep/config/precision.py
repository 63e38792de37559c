"""How many networks an experiment has: a fixed number, or as many as its claims need.

In: ``replicates`` and ``precision`` of an experiment.yaml. Out: with ``replicates: auto``, the numbers of
networks at which an interim analysis finds out whether the claims are decided.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from torsweep.config.claims import NO_DIFFERENCE_BELOW, Margin
from torsweep.config.reading import Section
from torsweep.units import Between, DurationNs

AUTO: Literal["auto"] = "auto"
MOST_REPLICATES = 1000


def _number_or_auto(value: object) -> object:
    whole = isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MOST_REPLICATES
    if not whole and value != AUTO:
        raise ValueError(f"expected a whole number from 1 to {MOST_REPLICATES}, or {AUTO}")
    return value


Replicates = Annotated[
    Annotated[int, Field(strict=True, ge=1, le=MOST_REPLICATES)] | Literal["auto"],
    BeforeValidator(_number_or_auto),
    WithJsonSchema(
        {"anyOf": [{"type": "integer", "minimum": 1, "maximum": MOST_REPLICATES}, {"const": AUTO}]}
    ),
]
"""A number of networks, or ``auto``: batches of networks are added until the claims are decided."""


class Precision(Section):
    """How many networks ``replicates: auto`` takes.

    ``batch`` networks are added at a time, ``networks`` at most; with ``core_time`` (nanoseconds), no more
    are added once the runs have taken that much time of a core. ``margin`` counts with a number of
    replicates too: a relative difference of less is no difference.
    """

    networks: Annotated[int, Field(strict=True, ge=2, le=MOST_REPLICATES)] = 96
    batch: Annotated[int, Field(strict=True, ge=2, le=MOST_REPLICATES)] = 8
    core_time: Annotated[DurationNs, Between("0 s", "8760 h")] | None = None
    margin: Margin = NO_DIFFERENCE_BELOW

    @property
    def interim(self) -> tuple[int, ...]:
        """The numbers of networks of the interim analyses; the last is the most there may be."""
        return (*range(self.batch, self.networks, self.batch), self.networks)
