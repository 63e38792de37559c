"""How a level of a knob, or an engine, is drawn: its colour, line style and marker.

Colours are those of Okabe and Ito (Color Universal Design, 2008), which stay apart for colour-blind readers;
yellow is left out, because it vanishes on white. Line styles and markers keep curves apart in greyscale.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

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


def computed_look(name: str) -> Look:
    """A look for something that states none: always the same one for the same ``name``, and never blue or
    solid, as the usual level is that it may stand beside."""
    digest = hashlib.sha256(name.encode()).digest()
    colours = (BLACK, ORANGE, SKY, GREEN, VERMILION, PURPLE)
    dashes = (DASHED, DOTTED, DASH_DOT, LONG_DASHED)
    return Look(colours[digest[0] % len(colours)], dashes[digest[1] % len(dashes)], "osv^DPX"[digest[2] % 7])
