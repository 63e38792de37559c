"""The look of a level: its colour, line style, marker and name, found by name and never by order.

In: a knob and the text of one of its levels. Out: how it is drawn and written. A level of a knob looks the
same in every figure, whichever others stand beside it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from torsweep.config.looks import (
    BLACK,
    BLUE,
    DASH_DOT,
    DASHED,
    DOTTED,
    GREEN,
    LONG_DASHED,
    ORANGE,
    PURPLE,
    SKY,
    SOLID,
    VERMILION,
    Look,
    computed_look,
)
from torsweep.engines.selection import RUN_ENGINES, find_kind

_INTERVALS = {
    "1000ms": Look(VERMILION, DASHED, "s"),
    "500ms": Look(PURPLE, DASH_DOT, "v"),
    "200ms": Look(ORANGE, DOTTED, "P"),
    "100ms": Look(BLUE, SOLID, "o"),
    "50ms": Look(SKY, LONG_DASHED, "D"),
    "20ms": Look(BLACK, DOTTED, "X"),
    "10ms": Look(GREEN, DASH_DOT, "^"),
    "1ms": Look(BLACK, LONG_DASHED, "<"),
}

LOOKS: Mapping[str, Mapping[str, Look]] = {
    "refill_interval": _INTERVALS,
    "refill_mode": {"burst": Look(BLUE, SOLID, "o"), "lazy": Look(GREEN, DASH_DOT, "^")},
    "refill_phase": {"per_relay": Look(BLUE, SOLID, "o"), "aligned": Look(VERMILION, DASHED, "s")},
    "refill_burst": {"descriptor": Look(BLUE, SOLID, "o"), "rate": Look(VERMILION, DASHED, "s")},
    "circuit_policy": {"ewma": Look(BLUE, SOLID, "o"), "round_robin": Look(VERMILION, DASHED, "s")},
    "scheduler": {
        "kist": Look(BLUE, SOLID, "o"),
        "kist_2ms": Look(BLUE, SOLID, "o"),
        "kist_10ms": Look(SKY, LONG_DASHED, "D"),
        "kist_lite": Look(GREEN, DASH_DOT, "^"),
        "vanilla": Look(VERMILION, DASHED, "s"),
    },
    "congestion": {"fixed": Look(BLUE, SOLID, "o"), "vegas": Look(GREEN, DASH_DOT, "^")},
    "activation_order": {
        "list": Look(VERMILION, DASHED, "s"),
        "reversed": Look(PURPLE, DOTTED, "v"),
        "random": Look(BLUE, SOLID, "o"),
        "least_recently_served": Look(GREEN, DASH_DOT, "^"),
    },
    "packaging": {"even": Look(BLUE, SOLID, "o"), "greedy": Look(VERMILION, DASHED, "s")},
    "clock": {
        "precise": Look(BLUE, SOLID, "o"),
        "coarse_1ms": Look(SKY, LONG_DASHED, "D"),
        "coarse_4ms": Look(VERMILION, DASHED, "s"),
        "coarse_10ms": Look(GREEN, DASH_DOT, "^"),
    },
    "pauses": {"any": Look(BLUE, SOLID, "o"), "whole_seconds": Look(VERMILION, DASHED, "s")},
    "load": {
        "0.5": Look(GREEN, DASH_DOT, "^"),
        "0.8": Look(SKY, LONG_DASHED, "D"),
        "1": Look(BLUE, SOLID, "o"),
        "1.1": Look(VERMILION, DASHED, "s"),
    },
    "tcp": {
        "linux": Look(BLUE, SOLID, "o"),
        "linux_6_18": Look(GREEN, DASH_DOT, "^"),
        "shadow": Look(VERMILION, DASHED, "s"),
    },
    "link_queue": {"droptail": Look(BLUE, SOLID, "o"), "codel": Look(VERMILION, DASHED, "s")},
    "latency": {
        "king": Look(BLUE, SOLID, "o"),
        "planetlab": Look(VERMILION, DASHED, "s"),
        "atlas-2023": Look(GREEN, DASH_DOT, "^"),
    },
}
"""The look of each knob and level. A knob's usual level is a solid blue line."""

_WORDS = {
    "ewma": "EWMA",
    "round_robin": "round-robin",
    "kist": "KIST",
    "kist_lite": "KISTLite",
    "vanilla": "Vanilla",
    "vegas": "Vegas",
    "per_relay": "per relay",
    "least_recently_served": "least recently served",
    "linux": "Linux",
    "linux_6_18": "Linux 6.18",
    "shadow": "Shadow",
    "codel": "CoDel",
    "king": "King",
    "planetlab": "PlanetLab",
    "atlas-2023": "Atlas 2023",
}

_RATE = re.compile(r"(\d+)([KM]i?B)ps\Z")
_DURATION = re.compile(r"(\d+)(ns|us|ms|s|min)\Z")


def look(knob: str, level: str) -> Look:
    """How ``level`` of ``knob`` is drawn; one that no table knows gets a look computed from both names."""
    return LOOKS.get(knob, {}).get(level) or computed_look(f"{knob}={level}")


def transport_look(name: str) -> Look:
    """How the transport ``name`` is drawn: an engine's, or ``cellsim, tcp=LEVEL``; any other has a computed
    look."""
    _, _, level = name.partition(", tcp=")
    if level:
        return look("tcp", level)
    return find_kind(name).look if name in RUN_ENGINES else computed_look(f"transport={name}")


def level_name(level: str) -> str:
    """``level`` as a reader would write it: ``1000 ms``, ``KIST 10 ms``, ``round-robin``."""
    if level in _WORDS:
        return _WORDS[level]
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
