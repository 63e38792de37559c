"""Which figures there are and which summaries they need, without loading their modules; and how one is drawn.

In: the folder ``plotting`` of the study or the checkout (:mod:`torsweep.home`). Out: names of figures, and of
the summaries that one reads. A figure is a module with a literal ``NEEDS``; nothing else lists it. Those
whose names begin with ``compare_`` are drawn from a comparison, all others from the summaries of a plan.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

from torsweep.home import find

FIGURES_DIRECTORY = Path("plotting")

OF_COMPARISONS = "compare_"
"""How the names of figures of comparisons begin."""


def figures_folder(folder: Path = FIGURES_DIRECTORY) -> Path:
    """The package of figures, as ``python -m plotting`` finds it: a folder that is none is passed over."""
    return find(folder / "__init__.py").parent


def figure_names(folder: Path = FIGURES_DIRECTORY) -> tuple[str, ...]:
    """The figures of plans in ``folder``, sorted; none where there is no such folder."""
    return tuple(name for name in _modules(folder) if not name.startswith(OF_COMPARISONS))


def comparison_figures(folder: Path = FIGURES_DIRECTORY) -> tuple[str, ...]:
    """The figures of comparisons in ``folder``, sorted."""
    return tuple(name for name in _modules(folder) if name.startswith(OF_COMPARISONS))


def figure_needs(name: str, folder: Path = FIGURES_DIRECTORY) -> tuple[str, ...]:
    """The summaries that the figure ``name`` reads, without ``.csv``."""
    return _needs(figures_folder(folder) / f"{name}.py") or ()


def run_figure(program: str, *arguments: str) -> None:
    """Run ``python -m plotting.PROGRAM`` with ``arguments``.

    What it refuses it says itself: then SystemExit is raised with its exit code.
    """
    place = str(figures_folder().resolve().parent)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([place, os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-m", f"plotting.{program}", *arguments]
    if code := subprocess.run(command, env=environment, check=False).returncode:
        raise SystemExit(code)


def _modules(folder: Path) -> list[str]:
    return [
        file.stem for file in sorted(figures_folder(folder).glob("[a-z]*.py")) if _needs(file) is not None
    ]


def _needs(file: Path) -> tuple[str, ...] | None:
    for node in ast.parse(file.read_bytes()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "NEEDS":
            return tuple(ast.literal_eval(node.value))
    return None
