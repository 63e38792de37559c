"""Which figures there are, and how one is drawn.

In: the modules of ``plotting``, in the working directory and in the checkout (or what a wheel carries of it).
Out: names of figures; files. A module of that folder is a figure, found by being there; what figures share is
below ``plotting.drawing``. A module of the working directory comes before one that ships; an error in it is
its author's, and is told with file and line.
"""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from torsweep.config.reading import suggestion
from torsweep.errors import InputError, TorsweepError
from torsweep.home import CHECKOUT, find_all
from torsweep.storage.folders import FIGURES_FOLDER, require_writable

FIGURES_DIRECTORY = Path("plotting")

_STATED = ("TITLE", "HOW_TO_READ", "NEEDS", "draw")
"""What the module of a figure has."""


def figure_names() -> tuple[str, ...]:
    """The figures, sorted."""
    return tuple(file.stem for file in find_all(FIGURES_DIRECTORY, "[a-z]*.py"))


def figure_module(name: str) -> ModuleType:
    """The module ``name`` below ``plotting``."""
    if str(CHECKOUT) not in sys.path:
        sys.path.append(str(CHECKOUT))
    package = importlib.import_module(FIGURES_DIRECTORY.name)
    place = str(_own_folder())
    if place not in package.__path__:
        package.__path__.insert(0, place)
    return importlib.import_module(f"{FIGURES_DIRECTORY.name}.{name}")


def figure_needs(name: str) -> tuple[str, ...]:
    """The summaries that the figure ``name`` reads, without their suffix.

    Raises InputError where the module of the figure is none.
    """
    with _told_with_its_line():
        module = figure_module(name)
    for needed in _STATED:
        if not hasattr(module, needed):
            raise InputError(f"lacks {needed}{suggestion(needed, list(vars(module)))}", file=module.__file__)
    return tuple(module.NEEDS)


def require_figure(name: str, file: Path | None = None, key: str | None = None) -> None:
    """Raise InputError, with the closest name, where ``key`` of ``file`` names no figure."""
    known = figure_names()
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
        figure_module("drawing.source").draw_plan(name, folder, out, captions=captions)


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
