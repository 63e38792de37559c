"""Which figures there are, and how one is drawn.

In: the modules of ``plotting``, in the working directory and in the checkout (or what a wheel carries of it).
Out: names of figures; files. A module of that folder is a figure, found by being there; a module of
``plotting.families`` has several, in ``FIGURES``. What figures share is below ``plotting.drawing``. A figure
of the working directory comes before one that ships; an error in it is told with file and line.
"""

from __future__ import annotations

import ast
import functools
import importlib
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from torsweep.config.reading import suggestion
from torsweep.errors import InputError, TorsweepError
from torsweep.home import CHECKOUT, find_all
from torsweep.storage.folders import FIGURES_FOLDER, require_writable

FIGURES_DIRECTORY = Path("plotting")
FAMILIES = FIGURES_DIRECTORY / "families"

_STATED = ("TITLE", "HOW_TO_READ", "NEEDS", "draw")
"""What a figure has."""


def figure_files() -> dict[str, Path]:
    """The module of each figure by the figure's name, sorted; as written from the top of the checkout."""
    families = (CHECKOUT / FAMILIES).glob("[a-z]*.py")
    files = {name: FAMILIES / file.name for file in families for name in _figures_in(file)}
    files |= {file.stem: FIGURES_DIRECTORY / file.name for file in find_all(FIGURES_DIRECTORY, "[a-z]*.py")}
    return dict(sorted(files.items()))


@functools.cache
def _figures_in(family: Path) -> list[str]:
    """The keys of ``FIGURES`` in a module, without loading it: matplotlib takes a second."""
    for node in ast.parse(family.read_bytes()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "FIGURES":
            assert isinstance(node.value, ast.Dict)
            return [ast.literal_eval(key) for key in node.value.keys if key]
    return []


def _load(file: Path) -> ModuleType:
    """The module ``file``, as it is written from the top of the checkout."""
    if str(CHECKOUT) not in sys.path:
        sys.path.append(str(CHECKOUT))
    package = importlib.import_module(FIGURES_DIRECTORY.name)
    place = str(_own_folder())
    if place not in package.__path__:
        package.__path__.insert(0, place)
    return importlib.import_module(".".join(file.with_suffix("").parts))


def find_figure(name: str) -> Any:
    """The figure ``name``: a module, or one of a family, with the names of :data:`_STATED`.

    Raises InputError where the module lacks one of them.
    """
    file = figure_files()[name]
    with _told_with_its_line():
        module = _load(file)
    if file.parent == FAMILIES:
        return module.FIGURES[name]
    for needed in _STATED:
        if not hasattr(module, needed):
            raise InputError(f"lacks {needed}{suggestion(needed, list(vars(module)))}", file=module.__file__)
    return module


def require_figure(name: str, file: Path | None = None, key: str | None = None) -> None:
    """Raise InputError, with the closest name, where ``key`` of ``file`` names no figure."""
    known = tuple(figure_files())
    if name not in known:
        problem = f"is no figure{suggestion(name, known)}"
        raise InputError(problem, file=file, key=key, value=name, accepted=", ".join(known))


def draw_figure(name: str, folder: Path, out: Path, *, captions: bool = False) -> None:
    """Draw the figure ``name`` of the summaries in ``folder``: ``out``.pdf, .png, .csv, .txt.

    Raises InputError when there is no such figure, or the user's code of it fails.
    """
    require_writable(out.parent, FIGURES_FOLDER)
    require_figure(name)
    with _told_with_its_line():
        source = _load(FIGURES_DIRECTORY / "drawing/source.py")
        source.draw_plan(find_figure(name), folder, out, captions=captions)


@contextmanager
def _told_with_its_line() -> Iterator[None]:
    """An error that came through the working directory's figures becomes an InputError with its place."""
    try:
        yield
    except TorsweepError:
        raise
    except Exception as error:
        calls = [(call.filename, call.lineno) for call in traceback.extract_tb(error.__traceback__)]
        if isinstance(error, SyntaxError):
            calls.append((str(error.filename), error.lineno))
        own = [(Path(file), line) for file, line in calls if Path(file).is_relative_to(_own_folder())]
        if not own:
            raise
        file, line = own[-1]
        what = f"{type(error).__name__}: {error.msg if isinstance(error, SyntaxError) else error}"
        raise InputError(what, file=file.relative_to(Path.cwd()), key=f"line {line}") from error


def _own_folder() -> Path:
    return FIGURES_DIRECTORY.absolute()
