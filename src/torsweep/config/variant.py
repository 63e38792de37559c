"""Variants (one level for each knob), the text that names one in paths, and the plan that it is of.

In: ``refill_interval=10ms+circuit_policy=ewma``; the ``knobs`` of an experiment or of a sensitivity. Out: a
:class:`Variant`, and the same text again; a :class:`Plan`; the pairs of variants that contrasts compare; an
error for a knob or a level that does not exist or is listed twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field

from torsweep.config.knobs import KNOBS, find_knob, network_levels
from torsweep.config.reading import RefusedValue, suggestion
from torsweep.errors import InputError

JOINED_BY = "+"
"""Between levels in a path. Snakemake's command line splits wildcards at commas."""


def level_text(value: object) -> object:
    """A level as text without spaces: ``10 ms`` is ``10ms``, the number 0.5 is ``0.5``."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(int(value)) if value == int(value) else str(value)
    return value.replace(" ", "") if isinstance(value, str) else value


Level = Annotated[str, BeforeValidator(level_text)]

Pairing = Literal["free", "paths"]

FREE: Pairing = "free"
PATHS: Pairing = "paths"
"""What variants have in common on a network, beside clients' starts, servers and pauses: with ``paths`` the
paths of circuits, drawn from the network's seed; with ``free`` each tor draws its own."""


def variant_text(levels: Mapping[str, str]) -> str:
    """The levels of knobs as paths have them."""
    return JOINED_BY.join(f"{knob}={level}" for knob, level in levels.items())


def variant_levels(text: str) -> dict[str, str]:
    """Parse ``knob=level`` pairs from a text such as a folder's name; parts without "=" are skipped."""
    return dict(part.split("=", 1) for part in text.split(JOINED_BY) if "=" in part)


@dataclass(frozen=True)
class Variant:
    """One level for each knob, in the order of the experiment."""

    levels: tuple[tuple[str, str], ...]

    @classmethod
    def parse(cls, text: str) -> Self:
        """The variant that ``text`` names; InputError when it is no list of ``knob=level``, names a knob
        twice or an unknown one, or a level that is no level of its knob."""
        levels: dict[str, str] = {}
        for part in text.split(JOINED_BY):
            knob, equals, level = part.partition("=")
            if not equals:
                raise InputError(
                    "is no variant",
                    key="variant",
                    value=text,
                    accepted=f"knob=level, several joined by {JOINED_BY}",
                )
            find_knob(knob).read(level)
            if knob in levels:
                raise InputError(f"names {knob} twice", key="variant", value=text)
            levels[knob] = level
        return cls(tuple(levels.items()))

    @property
    def key(self) -> str:
        """The text of the variant, as paths have it; :meth:`parse` reads it back."""
        return variant_text(dict(self.levels))

    @property
    def network_levels(self) -> Mapping[str, str]:
        """The levels of the knobs that change the network rather than the run."""
        return network_levels(dict(self.levels))

    def network_key(self, name: str) -> str:
        """The variant's network of the configuration ``name``: ``paper``, or ``paper+load=0.5`` where a knob
        changes the network."""
        return JOINED_BY.join(filter(None, (name, variant_text(self.network_levels))))

    def overrides(self, target: str) -> dict[str, object]:
        """What the knobs of ``target`` set, by key: in the network's configuration, in the traffic of each
        kind of client in run.json, or in its transport."""
        settings: dict[str, object] = {}
        for name, level in self.levels:
            knob = find_knob(name)
            if knob.target == target:
                settings.update(knob.read(level))
        return settings


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
        variants = [Variant(tuple(zip(knobs, each, strict=True))) for each in product(*knobs.values())]
        return cls(name, knobs, Variant(tuple(baseline.items())), tuple(variants))


def one_knob_apart(
    variants: Sequence[Mapping[str, str]],
) -> list[tuple[Mapping[str, str], Mapping[str, str], str]]:
    """Pairs of variants (knob to level, in order) that differ in one knob, and that knob."""
    different = list({tuple(variant.items()): variant for variant in variants}.values())
    pairs = []
    for one, other in combinations(different, 2):
        differing = [knob for knob in one if one[knob] != other.get(knob)]
        if list(one) == list(other) and len(differing) == 1:
            pairs.append((one, other, differing[0]))
    return pairs


Names = Mapping[str, tuple[str, ...]]
"""The levels that an experiment defines, by the knob that takes them."""


def check_grid(key: str, grid: Mapping[str, tuple[str, ...]], names: Names) -> None:
    """RefusedValue, below ``key``, for what is no knob or no level, and for a level that is given twice."""
    for knob, levels in grid.items():
        try:
            known = find_knob(knob)
        except InputError:
            problem, accepted = f"unknown knob{suggestion(knob, list(KNOBS))}", ", ".join(KNOBS)
            raise RefusedValue(problem, key=f"{key}.{knob}", accepted=accepted) from None
        effects: dict[str, str] = {}
        for level in levels:
            try:
                effect = repr(known.read(level))
            except InputError:
                problem, accepted = "is no level of this knob", known.levels.accepted
                raise RefusedValue(problem, key=f"{key}.{knob}", value=level, accepted=accepted) from None
            if level not in names.get(knob, (level,)):
                problem, accepted = unknown_name(level, names[knob])
                raise RefusedValue(problem, key=f"{key}.{knob}", value=level, accepted=accepted)
            if effect in effects:
                problem = f"means the same as the level '{effects[effect]}'"
                raise RefusedValue(problem, key=f"{key}.{knob}", value=level, accepted="each level once")
            effects[effect] = level


def unknown_name(name: str, known: tuple[str, ...]) -> tuple[str, str]:
    """The problem with a name that the experiment does not define, and what is accepted."""
    return f"names nothing that the experiment defines{suggestion(name, known)}", ", ".join(known)


def check_names(levels: Mapping[str, str], names: Names) -> None:
    """InputError for a level of a variant that the experiment would have to define and does not."""
    for knob, level in levels.items():
        if level not in names.get(knob, (level,)):
            problem, accepted = unknown_name(level, names[knob])
            raise InputError(problem, key=knob, value=level, accepted=accepted)


def check_contents(key: str, contents: Mapping[str, object]) -> None:
    """RefusedValue for two names under ``key`` with the same content: they would be the same runs."""
    seen: list[tuple[str, object]] = []
    for name, content in contents.items():
        same = next((other for other, found in seen if found == content), None)
        if same is not None:
            problem, accepted = f"has the same content as {same}", "each content once"
            raise RefusedValue(problem, key=f"{key}.{name}", accepted=accepted)
        seen.append((name, content))
