"""Which figures there are, and how one is drawn.

In: the modules of ``plotting``, in the working directory and in the checkout (or what a wheel carries of it).
Out: names of figures; files. A module of that folder is a figure, found by being there; what figures share is
below ``plotting.drawing``. Figures whose names begin with ``compare_`` are of comparisons, all others of
plans. A module of the working directory comes before one that ships.
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

OF_COMPARISONS = "compare_"
"""How the names of figures of comparisons begin."""

ALL_OF_COMPARISON = "compare"
"""Stands for every figure for which a comparison has the tables."""


def figure_names() -> tuple[str, ...]:
    """The figures of plans, sorted."""
    return tuple(name for name in _names() if not name.startswith(OF_COMPARISONS))


def comparison_figures() -> tuple[str, ...]:
    """The figures of comparisons, sorted."""
    return tuple(name for name in _names() if name.startswith(OF_COMPARISONS))


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
    """The summaries that the figure ``name`` reads, or the tables of a comparison, without their suffix."""
    return tuple(figure_module(name).NEEDS)


def draw_figure(name: str, folder: Path, out: Path) -> None:
    """Draw the figure ``name`` of the summaries or the comparison in ``folder``: ``out``.pdf, .png, .csv.

    ``compare`` draws every figure for which the comparison has the tables, into the folder ``out``. Raises
    InputError when there is no such figure.
    """
    of_plans, of_comparisons = figure_names(), comparison_figures()
    require_writable(out if name == ALL_OF_COMPARISON else out.parent, FIGURES_FOLDER)
    files = figure_module("drawing.files")
    if name in of_plans:
        files.draw_plan(name, folder, out)
    elif name in of_comparisons:
        files.draw_comparison(name, folder, out)
    elif name == ALL_OF_COMPARISON:
        tables = figure_module("drawing.compared").ComparedSources(folder).tables
        for figure in of_comparisons:
            if tables.keys() >= set(figure_needs(figure)):
                files.draw_comparison(figure, folder, out / figure)
    else:
        accepted = ", ".join((*of_plans, *of_comparisons, ALL_OF_COMPARISON))
        raise InputError("is no figure", value=name, accepted=accepted)


def _names() -> list[str]:
    return [file.stem for file in find_all(FIGURES_DIRECTORY, "[a-z]*.py")]
