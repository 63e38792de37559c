"""Figures inside a page.

In: the folder of a plan's figures. Out: a :class:`Picture` a figure, with its bytes as a data address, so
that a page needs no file beside it, and with its title and how to read it, which its PNG says.

The PNG is taken, whose 300 dots an inch are sharp on paper and on a phone: as SVG, the figures of whole
curves are twice as large.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, UnidentifiedImageError

from torsweep.errors import InputError
from torsweep.formats.files import MIB, read_bytes

MOST_PICTURE_BYTES = 16 * MIB
"""A figure: torsweep's have less than 0.5 MiB."""

DOTS_PER_INCH, CSS_PIXELS_PER_INCH = 300, 96


@dataclass(frozen=True)
class Picture:
    """A figure of a page: ``source`` is the address of its bytes, sizes are in CSS pixels at print size."""

    name: str
    title: str
    how: str
    alternative: str
    source: str
    width: int
    height: int


def read_picture(folder: Path, name: str, variants: Sequence[str]) -> Picture:
    """The figure ``name`` in ``folder``, of a plan with these ``variants``.

    Raises InputError when its PNG is missing or is none.
    """
    file = folder / f"{name}.png"
    content = read_bytes(file, MOST_PICTURE_BYTES, "no such file: draw the figures of the plan first")
    try:
        with Image.open(io.BytesIO(content), formats=("PNG",)) as image:
            image.load()
            width, height = (round(side * CSS_PIXELS_PER_INCH / DOTS_PER_INCH) for side in image.size)
            texts = {key: str(text) for key, text in image.info.items()}
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError, ValueError, SyntaxError) as error:
        raise InputError("is no whole PNG", file=file) from error
    title = texts.get("Title", name)
    said = f"{title} of {len(variants)} variants: {'; '.join(variants)}. {texts.get('Description', '')}"
    address = f"data:image/png;base64,{base64.b64encode(content).decode('ascii')}"
    return Picture(name, title, texts.get("Comment", ""), said, address, width, height)
