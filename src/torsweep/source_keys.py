"""Keys of the code that a stage executes: when its key changes, the pipeline makes the stage again.

In: names of modules and packages, such as ``torsweep/stats`` and ``plotting/drawing/axes.py``. Out: a key of
these, of every module that they import, imports within functions included, and of templates and other data
that modules name beside themselves. Of a module only what is executed counts: comments, docstrings and layout
do not.
"""

from __future__ import annotations

import ast
import functools
import hashlib
from collections.abc import Iterator
from pathlib import Path

import torsweep
from torsweep.home import find

_PACKAGE = Path(torsweep.__file__).parent

_ROOT = "torsweep/__init__.py"
"""Every module loads it; its ``load``, which imports what reads results, is called by none."""


def sources_key(*names: str) -> str:
    """Twelve hexadecimal digits that stand for what :func:`source_files` execute."""
    digest = hashlib.sha256()
    for name, file in sorted(source_files(*names).items()):
        digest.update(f"{name} {_key_of_file(file)}\n".encode())
    return digest.hexdigest()[:12]


@functools.cache
def _key_of_file(file: Path) -> str:
    content = file.read_bytes()
    executed = _executed(content) if file.suffix == ".py" else content
    return hashlib.sha256(executed).hexdigest()


def _executed(source: bytes) -> bytes:
    """A module without comments, layout, and strings that stand alone, as docstrings do."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [one for one in node.body if not _is_text(one)] or [ast.Pass()]
    return ast.unparse(tree).encode()


def _is_text(statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(ast.Constant(str())):
            return True
    return False


@functools.cache
def source_files(*names: str) -> dict[str, Path]:
    """The files behind modules and packages, by their names below ``src`` or the folder of ``plotting``.

    Names without a file are skipped.
    """
    files: dict[str, Path] = {}
    waiting = [one for name in names for one in _files_of(name)]
    while waiting:
        name = waiting.pop()
        file = _place(name)
        if name not in files and file.is_file():
            files[name] = file
            waiting += _loaded(name, file) if file.suffix == ".py" else ()
    return files


def _place(name: str) -> Path:
    """Modules of experiments may be the user's own: the working directory comes first."""
    return _PACKAGE.parent / name if name.startswith("torsweep/") else find(Path(name))


def _files_of(name: str) -> list[str]:
    """The name itself, or every file below the package of that name."""
    folder = _place(name)
    inside = [file for file in folder.rglob("*") if "__pycache__" not in file.parts]
    return [f"{name}/{file.relative_to(folder).as_posix()}" for file in inside] or [name]


@functools.cache
def _loaded(name: str, file: Path) -> tuple[str, ...]:
    """The modules that the module ``name`` imports, and the data files that it names beside itself."""
    tree = ast.parse(file.read_bytes())
    modules = [
        module
        for imported in _imports(tree)
        if imported.split(".")[0] in ("torsweep", "plotting", "experiments")
        for module in _modules(imported)
    ]
    beside = name.rpartition("/")[0]
    return (*modules, *(one for data in _data(tree) for one in _files_of(f"{beside}/{data}")))


def _data(tree: ast.AST) -> Iterator[str]:
    """The files and folders that a module names by ``Path(__file__).with_name(NAME)``."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(ast.Attribute(attr="with_name") as function, [ast.Constant(str(name))]):
                if ast.unparse(function) == "Path(__file__).with_name":
                    yield name


def _imports(tree: ast.AST) -> Iterator[str]:
    """The dotted names after ``import`` and ``from``; what only a type checker reads is not loaded."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        yield from _imports(node)


def _modules(imported: str) -> Iterator[str]:
    """The files that a dotted name may stand for: its last word can be a module, or a name in one."""
    words = imported.split(".")
    for length in range(1, len(words) + 1):
        path = "/".join(words[:length])
        yield from (file for file in (f"{path}.py", f"{path}/__init__.py") if file != _ROOT)
