"""Which figures there are, and what they rest on, read without loading what draws them.

In: the folder ``plotting`` of the working directory, as the pipeline sees it. Out: names of figures, and of
the summaries that one reads. A figure is a module with a literal ``NEEDS``; nothing else lists it.
"""

from __future__ import annotations

import ast
from pathlib import Path

FIGURES_DIRECTORY = Path("plotting")


def figure_names(folder: Path = FIGURES_DIRECTORY) -> tuple[str, ...]:
    """The figures in ``folder``, sorted; none where there is no such folder."""
    files = sorted(folder.glob("[a-z]*.py"))
    return tuple(file.stem for file in files if _needs(file) is not None)


def figure_needs(name: str, folder: Path = FIGURES_DIRECTORY) -> tuple[str, ...]:
    """The summaries that the figure ``name`` reads, without ``.csv``."""
    return _needs(folder / f"{name}.py") or ()


def _needs(file: Path) -> tuple[str, ...] | None:
    for node in ast.parse(file.read_bytes()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "NEEDS":
            return tuple(ast.literal_eval(node.value))
    return None
