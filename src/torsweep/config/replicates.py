"""How many networks the variants of an experiment run on.

In: the keys ``replicates`` and ``precision`` of an experiment.yaml. Out: their types. ``replicates`` is a
number of networks, or a number for each level of one knob that makes networks of its own: small networks
differ more from one another, and take less time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, TypeVar

from pydantic import AfterValidator, Field

from torsweep.config.knobs import KNOBS
from torsweep.config.reading import RefusedValue, Section
from torsweep.config.traffic import DownloadGroup
from torsweep.config.variant import Level

MOST_REPLICATES = 1000

Seeds = TypeVar("Seeds", range, list[int])

Number = Annotated[int, Field(strict=True, ge=1, le=MOST_REPLICATES)]

_OfLevels = Annotated[Mapping[Level, Number], Field(min_length=1)]
ReplicatesByLevel = Number | Annotated[Mapping[str, _OfLevels], Field(min_length=1, max_length=1)]
"""A number of networks, or ``{knob: {level: number}}``: one for each level of a knob."""

SAME_FOR_ALL: Mapping[str, Mapping[str, int]] = MappingProxyType({})
"""No level has a number of networks of its own."""


def numbers_by_level(replicates: ReplicatesByLevel) -> Mapping[str, Mapping[str, int]]:
    """The numbers by knob and level; empty where all variants have the same networks."""
    return replicates if isinstance(replicates, Mapping) else {}


def first_seeds(replicates: ReplicatesByLevel, levels: Mapping[str, str], seeds: Seeds) -> Seeds:
    """The ``seeds`` that a variant of ``levels`` runs on: all, or as many as its level has."""
    for knob, numbers in numbers_by_level(replicates).items():
        seeds = seeds[: numbers.get(levels.get(knob, ""))]
    return seeds


def check_levels(
    replicates: ReplicatesByLevel, plans: Iterable[tuple[str, Mapping[str, Sequence[str]]]]
) -> None:
    """RefusedValue unless every level of the knob, in each of ``plans`` (name and knobs), has a number."""
    for knob, numbers in numbers_by_level(replicates).items():
        if knob not in KNOBS or KNOBS[knob].target != "network":
            accepted = ", ".join(name for name, each in KNOBS.items() if each.target == "network")
            raise RefusedValue("is no knob that makes networks", key=f"replicates.{knob}", accepted=accepted)
        for name, knobs in plans:
            if knob not in knobs:
                raise RefusedValue(
                    f"the plan {name} does not turn this knob", key=f"replicates.{knob}", accepted="a number"
                )
            for level in knobs[knob]:
                if level not in numbers:
                    accepted = f"a whole number from 1 to {MOST_REPLICATES}"
                    raise RefusedValue("missing key", key=f"replicates.{knob}.{level}", accepted=accepted)


NO_DIFFERENCE_BELOW = 0.05
"""A difference smaller than this part of the median counts as none, unless the claim says otherwise."""

Margin = Annotated[float, Field(strict=True, ge=0.001, le=0.5, allow_inf_nan=False)]
"""The least difference that counts: a part of the median, or for a depth a depth."""

NetworkCount = Annotated[int, Field(ge=1, le=MOST_REPLICATES)]
SpentShare = Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)]


def _rising(looks: Mapping[int, float]) -> Mapping[int, float]:
    if list(looks) != sorted(looks) or list(looks.values()) != sorted(looks.values()):
        raise ValueError("expected numbers of networks that rise, each with a share that does not fall")
    return looks


class KnownSpread(Section):
    """How far two runs of one tor were apart by chance alone in an earlier study."""

    engine: str
    """The engine that ran it."""
    kind: DownloadGroup
    """Of which downloads."""
    measure: str
    """By which measure: paired_ttfb, mean_ttlb, …"""
    sd: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    """Standard deviation over networks of the logarithm of the ratio."""
    networks: Annotated[int, Field(ge=1)]
    """Over how many networks."""


class Precision(Section):
    """Which differences count, what has been looked at, and what was known beforehand."""

    margin: Margin = NO_DIFFERENCE_BELOW
    """A smaller relative difference counts as no difference."""
    looks: Annotated[Mapping[NetworkCount, SpentShare], AfterValidator(_rising)] = Field(default_factory=dict)
    """Numbers of networks at which somebody has seen the verdicts, and may add networks, and the share of the
    error that was spent by then; `torsweep compare` keeps them."""
    spread: tuple[KnownSpread, ...] = ()
    """What was known of chance when the comparison began, with which intervals of few networks are narrower;
    `torsweep compare` writes it."""


def most_networks(replicates: ReplicatesByLevel) -> int:
    """The most networks that a variant may run on."""
    if isinstance(replicates, Mapping):
        return max(number for numbers in replicates.values() for number in numbers.values())
    return int(replicates)


def replicates_text(replicates: ReplicatesByLevel) -> str:
    """``8``, or ``64 (scale 0.003), 8 (scale 0.05)``."""
    levels = [
        f"{number} ({knob} {level})"
        for knob, numbers in numbers_by_level(replicates).items()
        for level, number in numbers.items()
    ]
    return ", ".join(levels) or str(replicates)
