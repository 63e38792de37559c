"""What a figure is, which an experiment can list, and how one is drawn.

In: the modules of ``plotting``, and those beside an experiment.yaml (:mod:`torsweep.stats.listing`). Out:
figures by name; files. Of ``plotting``, :class:`SummaryFigure` is all that is known here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from torsweep.config.reading import suggestion
from torsweep.errors import InputError
from torsweep.stats.listing import by_name, module_file, told_with_its_line, values_in_modules
from torsweep.stats.statistic import read_plan
from torsweep.storage.folders import FIGURES_FOLDER, require_writable

FIGURES_DIRECTORY = Path("plotting")


@dataclass(frozen=True)
class SummaryFigure(ABC):
    """A figure: its ``name`` in an experiment.yaml, its ``title``, ``how_to_read`` it, the summaries that it
    ``needs``, and ``draw``, which returns the figure, its points and its caption."""

    name: str
    title: str
    how_to_read: str
    needs: tuple[str, ...]
    draw: Callable[[Any], Any]

    @abstractmethod
    def write(self, summaries: Path, out: Path) -> None:
        """Draw it from a folder of summaries: ``out``.pdf, .png, .csv and, with its caption, .txt.

        Below it a figure says what made it, and on how many networks.
        """


def figures(experiment: str = "") -> Mapping[str, SummaryFigure]:
    """Every figure by its name: shared, or of ``experiment``."""
    return by_name("figures", ((figure.name, figure) for _, figure in _in_modules(experiment)))


def figure_module(name: str, experiment: str) -> str:
    """The module that has the figure ``name``, as its file is written from the top of the checkout."""
    wanted = require_figure(name, experiment)
    return next(module_file(module) for module, figure in _in_modules(experiment) if figure is wanted)


def _in_modules(experiment: str) -> list[tuple[ModuleType, SummaryFigure]]:
    found = list(values_in_modules(experiment, FIGURES_DIRECTORY.name))
    return [(module, value) for module, value in found if isinstance(value, SummaryFigure)]


def require_figure(
    name: str, experiment: str, file: Path | None = None, key: str | None = None
) -> SummaryFigure:
    """The figure ``name``; InputError, with the closest name, where ``key`` of ``file`` names none."""
    known = figures(experiment)
    if name not in known:
        problem = f"is no figure{suggestion(name, tuple(known))}"
        raise InputError(problem, file=file, key=key, value=name, accepted=", ".join(known))
    return known[name]


def draw_figure(name: str, folder: Path, out: Path) -> None:
    """Draw the figure ``name`` of the summaries in ``folder`` (:meth:`SummaryFigure.write`).

    Raises InputError when their experiment has no such figure, or one of its modules fails.
    """
    require_writable(out.parent, FIGURES_FOLDER)
    figure = require_figure(name, str(read_plan(folder)["experiment"]))
    with told_with_its_line():
        figure.write(folder, out)
