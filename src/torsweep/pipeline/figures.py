"""Which figures there are, and how one is drawn.

In: the modules of ``plotting``, in the working directory and in the checkout (or what a wheel carries of it).
Out: names of figures; files. A module of that folder is a figure, found by being there; what figures share is
below ``plotting.drawing``. A module of the working directory comes before one that ships.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

from torsweep.errors import InputError
from torsweep.home import CHECKOUT, find_all
from torsweep.storage.folders import FIGURES_FOLDER, require_writable

FIGURES_DIRECTORY = Path("plotting")


def figure_names() -> tuple[str, ...]:
    """The figures, sorted."""
    return tuple(file.stem for file in find_all(FIGURES_DIRECTORY, "[a-z]*.py"))


def figure_module(name: str) -> ModuleType:
    """The module ``name`` below ``plotting``."""
    if str(CHECKOUT) not in sys.path:
        sys.path.append(str(CHECKOUT))
    package = importlib.import_module(FIGURES_DIRECTORY.name)
    place = str(FIGURES_DIRECTORY.absolute())
    if place not in package.__path__:
        package.__path__.insert(0, place)
    return importlib.import_module(f"{FIGURES_DIRECTORY.name}.{name}")


def figure_needs(name: str) -> tuple[str, ...]:
    """The summaries that the figure ``name`` reads, without their suffix."""
    return tuple(figure_module(name).NEEDS)


def draw_figure(name: str, folder: Path, out: Path, *, captions: bool = False) -> None:
    """Draw the figure ``name`` of the summaries in ``folder``: ``out``.pdf, .png, .csv, .txt.

    Raises InputError when there is no such figure.
    """
    require_writable(out.parent, FIGURES_FOLDER)
    if name not in figure_names():
        raise InputError("is no figure", value=name, accepted=", ".join(figure_names()))
    figure_module("drawing.files").draw_plan(name, folder, out, captions=captions)
