"""How a level of a knob, or an engine, is drawn: its colour, line style and marker.

Colours are those of Okabe and Ito (Color Universal Design, 2008), which stay apart for colour-blind readers;
yellow is left out, because it vanishes on white. Line styles and markers keep curves apart in greyscale.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
BLUE, VERMILION, PURPLE = "#0072B2", "#D55E00", "#CC79A7"

SOLID: tuple[int, tuple[float, ...]] = (0, ())
DASHED: tuple[int, tuple[float, ...]] = (0, (4.5, 1.4))
DOTTED: tuple[int, tuple[float, ...]] = (0, (1.2, 1.0))
DASH_DOT: tuple[int, tuple[float, ...]] = (0, (5, 1.2, 1.2, 1.2))
LONG_DASHED: tuple[int, tuple[float, ...]] = (0, (8, 1.5))


@dataclass(frozen=True)
class Look:
    """Colour, dash pattern in line widths, and marker."""

    colour: str
    dashes: tuple[int, tuple[float, ...]]
    marker: str


USUAL = Look(BLUE, SOLID, "o")
"""The usual level of a knob."""

OTHER = Look(VERMILION, DASHED, "s")
THIRD = Look(GREEN, DASH_DOT, "^")
FOURTH = Look(SKY, LONG_DASHED, "D")
FIFTH = Look(PURPLE, DOTTED, "v")
"""The levels beside it, in this order where nothing speaks for another one."""


SIXTH, SEVENTH = Look(ORANGE, DASHED, "P"), Look(BLACK, LONG_DASHED, "X")
_DISTINCT = (USUAL, OTHER, THIRD, FOURTH, FIFTH, SIXTH, SEVENTH)

ALL_LOOKS = (
    *_DISTINCT,
    *(
        Look(one.colour, dashes, marker)
        for (dashes, marker), one in product(
            zip((DASH_DOT, DOTTED, SOLID, DASHED, LONG_DASHED), "*<>hp", strict=True), _DISTINCT
        )
    ),
)
"""Looks of seven colours, then the same colours with other dashes and markers."""
