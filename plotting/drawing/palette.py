"""The look of a level (its colour, line style, marker and name), which depends on its name and not on order.

In: a knob and the text of one of its levels. Out: how it is drawn and written. A level of a knob looks the
same in every figure.
"""

from __future__ import annotations

import re

from torsweep.config.knobs import KNOBS
from torsweep.config.looks import Look, computed_look
from torsweep.engines.selection import find_kind
from torsweep.runsets.reading import SOURCE

_WORDS = {level: words for knob in KNOBS.values() for level, words in knob.words.items()}

_RATE = re.compile(r"(\d+)([KM]i?B)ps\Z")
_DURATION = re.compile(r"(\d+)(ns|us|ms|s|min)\Z")


def look(knob: str, level: str) -> Look:
    """How ``level`` of ``knob`` is drawn, as the knob says; else it gets a look computed from both names."""
    if knob == SOURCE:
        return source_look(level)
    known = KNOBS[knob].looks.get(level) if knob in KNOBS else None
    return known or computed_look(f"{knob}={level}")


def source_look(label: str) -> Look:
    """How the source ``label`` of a comparison is drawn: an engine's look, or that of the model's TCP; any
    other has a computed one."""
    engine, _, rest = label.partition("+")
    levels = dict(part.partition("=")[::2] for part in rest.split("+") if part)
    if not levels:
        return find_kind(engine).look
    return look("tcp", levels["tcp"]) if "tcp" in levels else computed_look(label)


def level_name(level: str) -> str:
    """``level`` as a reader would write it: ``1000 ms``, ``KIST 10 ms``, ``round-robin``."""
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
    """``knob`` as the title of a legend: ``Refill interval``."""
    text = knob.replace("_", " ").replace("ewma", "EWMA")
    return text[0].upper() + text[1:]
