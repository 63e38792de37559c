"""What an experiment can name, shared or its own: measures, statistics, tests of claims, figures.

Shared are those of the modules below :mod:`torsweep.stats` and ``plotting``; an experiment's own are in the
modules beside its experiment.yaml, in the working directory or the checkout. One that stands at the top level
of a module, alone or in a tuple, is found by its type. A module may import from another experiment's folder:
``from experiments.starvation.fairness import FAIRNESS``.

In: the name of an experiment; "" for what is shared alone. Out: the values in modules.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from torsweep import stats
from torsweep.config.experiment import EXPERIMENTS_DIRECTORY
from torsweep.errors import InputError, TorsweepError
from torsweep.home import CHECKOUT, find_all

T = TypeVar("T")

if str(CHECKOUT) not in sys.path:
    sys.path.append(str(CHECKOUT))  # ``plotting`` is a folder of it.


def own_modules(experiment: str) -> list[str]:
    """The modules beside the experiment.yaml of ``experiment``, in order, as their files are written from the
    top of the checkout."""
    folder = EXPERIMENTS_DIRECTORY / experiment
    return [f"{folder.as_posix()}/{file.name}" for file in find_all(folder, "[a-z]*.py")]


def values(experiment: str, shared: str = stats.__name__) -> Iterator[object]:
    """The top-level values of the modules of the package ``shared`` and of ``experiment``."""
    return (value for _, value in values_in_modules(experiment, shared))


def module_file(module: ModuleType) -> str:
    """The file of ``module``, as a path from the top of the checkout."""
    return f"{module.__name__.replace('.', '/')}.py"


def values_in_modules(experiment: str, shared: str = stats.__name__) -> Iterator[tuple[ModuleType, object]]:
    """Each of :func:`values`, after a module that has it."""
    own = _own_modules(experiment, Path.cwd()) if experiment else ()
    for module in (*_modules_of(shared), *own):
        for value in vars(module).values():
            for one in value if isinstance(value, tuple) else (value,):
                yield module, one


def by_name(what: str, named: Iterable[tuple[str, T]]) -> Mapping[str, T]:
    """The values by their names, in the order of names; InputError where two have one name."""
    found: dict[str, T] = {}
    for name, value in named:
        if found.setdefault(name, value) is not value:
            raise InputError(f"two {what} have this name", value=name)
    return dict(sorted(found.items()))


@contextmanager
def told_with_its_line() -> Iterator[None]:
    """An error in a module beside an experiment.yaml becomes an InputError with file and line."""
    try:
        yield
    except TorsweepError:
        raise
    except Exception as error:
        calls = [(call.filename, call.lineno) for call in traceback.extract_tb(error.__traceback__)]
        if isinstance(error, SyntaxError):
            calls.append((str(error.filename), error.lineno))
        own = EXPERIMENTS_DIRECTORY.absolute()
        beside = [(Path(file), line) for file, line in calls if Path(file).is_relative_to(own)]
        if not beside:
            raise
        file, line = beside[-1]
        what = f"{type(error).__name__}: {error.msg if isinstance(error, SyntaxError) else error}"
        raise InputError(what, file=file.relative_to(Path.cwd()), key=f"line {line}") from error


@functools.cache
def _modules_of(package: str) -> tuple[ModuleType, ...]:
    """Every module below ``package``."""
    top = importlib.import_module(package)
    return tuple(
        importlib.import_module(found.name) for found in pkgutil.walk_packages(top.__path__, f"{package}.")
    )


@functools.cache
def _own_modules(experiment: str, directory: Path) -> tuple[ModuleType, ...]:
    """The :func:`own_modules` in the working ``directory``; they are parts of a package ``experiments``."""
    package = sys.modules.setdefault(EXPERIMENTS_DIRECTORY.name, ModuleType(EXPERIMENTS_DIRECTORY.name))
    places = [str(place / EXPERIMENTS_DIRECTORY) for place in (directory, CHECKOUT)]
    if places[0] not in getattr(package, "__path__", ()):
        # What another working directory has under these names is not this one's.
        for name in [name for name in sys.modules if name.startswith(f"{package.__name__}.")]:
            del sys.modules[name]
    package.__path__ = places
    importlib.invalidate_caches()
    names = [file.removesuffix(".py").replace("/", ".") for file in own_modules(experiment)]
    with told_with_its_line():
        return tuple(map(importlib.import_module, names))
