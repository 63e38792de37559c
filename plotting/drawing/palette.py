"""The looks of a plan's levels (colour, line style, marker) and the names of levels and knobs.

In: a knob and its levels in the plan. Out: how they are drawn, no two alike, and written. All figures of a
plan ask for the same levels, so that a level looks the same in all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType

from torsweep.config.knob import ALL_LOOKS, Look
from torsweep.config.knobs import CONSENSUS, KNOBS
from torsweep.engines.registry import find_kind
from torsweep.runsets.reading import SOURCE

_WORDS = {level: words for knob in KNOBS.values() for level, words in knob.words.items()}

_RATE = re.compile(r"(\d+)([KM]i?B)ps\Z")
_DURATION = re.compile(r"(\d+)(ns|us|ms|s|min)\Z")


_names: ContextVar[Mapping[str, str]] = ContextVar("names", default=MappingProxyType({}))


@contextmanager
def named(names: Mapping[str, str]) -> Iterator[None]:
    """Call levels by ``names`` inside this context."""
    token = _names.set(names)
    try:
        yield
    finally:
        _names.reset(token)


def looks(knob: str, levels: Iterable[str]) -> dict[str, Look]:
    """The look of each of ``levels`` of ``knob``: what the knob says, where no level before has that colour;
    else the first look that is left. Beyond seven levels colours repeat with other dashes and markers."""
    stated = {level: _stated(knob, level) for level in levels}
    chosen: dict[str, Look] = {}
    for level, look in stated.items():
        if look and look.colour not in {one.colour for one in chosen.values()}:
            chosen[level] = look
    for level in stated:
        if level not in chosen:
            chosen[level] = _left_over(list(chosen.values()))
    return {level: chosen[level] for level in stated}


def _left_over(taken: list[Look]) -> Look:
    """The first look whose colour, then dashes in it, then dashes and marker have been taken least."""

    def uses(look: Look) -> tuple[int, int, int]:
        same = [one for one in taken if one.colour == look.colour]
        dashes = [one.dashes == look.dashes for one in taken]
        return (
            len(same),
            sum(one.dashes == look.dashes for one in same),
            sum(dashes) + sum(one.marker == look.marker for one in taken),
        )

    return min(ALL_LOOKS, key=uses)


def _stated(knob: str, level: str) -> Look | None:
    if knob == SOURCE:
        engine, _, rest = level.partition("+")
        tcp = dict(part.partition("=")[::2] for part in rest.split("+") if part).get("tcp", "")
        return KNOBS["tcp"].looks.get(tcp) if rest else find_kind(engine).look
    return KNOBS[knob].looks.get(level) if knob in KNOBS else None


def level_name(level: str) -> str:
    """``level`` as a reader would write it: ``1000 ms``, ``KIST 10 ms``, ``round-robin``."""
    names = _names.get()
    if level in names:
        return names[level]
    if level in _WORDS or "+" in level:
        return _WORDS.get(level, level)
    if duration := _DURATION.match(level):
        return f"{duration[1]} {duration[2]}"
    if rate := _RATE.match(level):
        return f"{rate[1]} {rate[2]}/s"
    stem, _, rest = level.rpartition("_")
    if stem and _DURATION.match(rest):
        return f"{level_name(stem)} {level_name(rest)}"
    return level.replace("_", " ")


def knob_name(knob: str) -> str:
    """``knob`` as the title of a legend: ``Refill interval``; a consensus parameter keeps its name."""
    if knob.startswith(CONSENSUS):
        return knob.removeprefix(CONSENSUS)
    text = knob.replace("_", " ").replace("ewma", "EWMA")
    return text[0].upper() + text[1:]
