"""Which figures an experiment can list, and how one is drawn.

In: the modules of ``plotting``, and those beside an experiment.yaml (:mod:`torsweep.stats.listing`). Out:
figures by name; files. ``plotting`` is a folder of the checkout that draws what is below it, so that it is
loaded here by name. What figures share is below ``plotting.drawing``.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from torsweep.config.reading import suggestion
from torsweep.errors import InputError
from torsweep.stats.listing import by_name, module_file, told_with_its_line, values_in_modules
from torsweep.stats.statistic import read_plan
from torsweep.storage.folders import FIGURES_FOLDER, require_writable

FIGURES_DIRECTORY = Path("plotting")


def figures(experiment: str = "") -> Mapping[str, Any]:
    """Every ``plotting.drawing.source.PlanFigure`` by its name: shared, or of ``experiment``."""
    return by_name("figures", ((figure.name, figure) for _, figure in _in_modules(experiment)))


def figure_module(name: str, experiment: str) -> str:
    """The module that has the figure ``name``, as its file is written from the top of the checkout."""
    wanted = require_figure(name, experiment)
    module = next(module for module, figure in _in_modules(experiment) if figure is wanted)
    return module_file(module)


def _in_modules(experiment: str) -> list[tuple[ModuleType, Any]]:
    # Figures are files. A notebook's MPLBACKEND may name a package that this environment lacks.
    os.environ["MPLBACKEND"] = "agg"
    found = list(values_in_modules(experiment, FIGURES_DIRECTORY.name))
    return [(module, value) for module, value in found if isinstance(value, _drawing().PlanFigure)]


def _drawing() -> Any:
    return importlib.import_module(f"{FIGURES_DIRECTORY.name}.drawing.source")


def require_figure(name: str, experiment: str, file: Path | None = None, key: str | None = None) -> Any:
    """The figure ``name``; InputError, with the closest name, where ``key`` of ``file`` names none."""
    known = figures(experiment)
    if name not in known:
        problem = f"is no figure{suggestion(name, tuple(known))}"
        raise InputError(problem, file=file, key=key, value=name, accepted=", ".join(known))
    return known[name]


def draw_figure(name: str, folder: Path, out: Path, *, captions: bool = False) -> None:
    """Draw the figure ``name`` of the summaries in ``folder``: ``out``.pdf, .png, .csv, .txt.

    Raises InputError when their experiment has no such figure, or one of its modules fails.
    """
    require_writable(out.parent, FIGURES_FOLDER)
    figure = require_figure(name, str(read_plan(folder)["experiment"]))
    with told_with_its_line():
        _drawing().draw_plan(figure, folder, out, captions=captions)
