"""Where a result comes from: versions, this machine, the hashes of files, and of all that a command loads.

In: nothing but the machine and the files named. Out: plain mappings and texts that fit into JSON. Nothing
here names a host, a user or a folder, so that a published result tells how it was made and not by whom.

When a file that a command loads changes, what the command made is made again: :func:`sources_key` is a key of
modules and packages, such as ``torsweep/stats`` and ``plotting/contrasts.py``, of every module that they
import, and of templates and other data that these name beside them. All of it is read from the modules
themselves, imports within functions included; nothing is listed.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import os
import platform
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path

import torsweep
from torsweep import __version__
from torsweep.home import find

PROVENANCE_FILE = "provenance.json"
"""What a run, a plan's tables and a published result say of themselves."""

LIBRARIES = ("numpy", "scipy", "polars", "matplotlib", "snakemake")
"""The libraries whose version can show in a number or in a picture."""


def sha256_of_file(path: Path) -> str:
    """The SHA-256 of the content of ``path``, in hexadecimal; the file is never held in memory whole."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@functools.cache
def versions() -> Mapping[str, str]:
    """The version of torsweep, of the engine on PATH if any, of Python and of :data:`LIBRARIES`."""
    by_name = {"torsweep": __version__, "python": platform.python_version()}
    engine = program_version("cellsim")
    if engine is not None:
        by_name["cellsim"] = engine
    for library in LIBRARIES:
        try:
            by_name[library] = metadata.version(library)
        except metadata.PackageNotFoundError:
            continue
    return by_name


def program_version(program: str | Path) -> str | None:
    """The last word of what ``program --version`` prints; None when it is not on PATH or fails.

    ``program`` is a name to look up on PATH, or a path.
    """
    path = shutil.which(program)
    if path is None:
        return None
    answer = subprocess.run([path, "--version"], capture_output=True, check=False)
    words = answer.stdout.decode(errors="replace").split()
    return words[-1] if answer.returncode == 0 and words else None


@functools.cache
def machine() -> Mapping[str, str | int]:
    """This machine: processor model, cores open to this process, memory in bytes, operating system."""
    return {
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "os": _operating_system(),
        "kernel": platform.release(),
        "architecture": platform.machine(),
    }


def _cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                return value.strip()
    except OSError:
        pass
    return platform.processor() or "unknown"


def _operating_system() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return platform.system()


_PACKAGE = Path(torsweep.__file__).parent

_ROOT = "torsweep/__init__.py"
"""Every module loads it, and none calls its ``load``, which imports what reads results."""


def sources_key(*names: str) -> str:
    """Twelve hexadecimal digits that stand for the content of :func:`source_files`."""
    digest = hashlib.sha256()
    for name, file in sorted(source_files(*names).items()):
        digest.update(f"{name} {sha256_of_file(file)}\n".encode())
    return digest.hexdigest()[:12]


@functools.cache
def source_files(*names: str) -> dict[str, Path]:
    """The files behind modules and packages, by their names below ``src`` or the folder of ``plotting``.

    A name of which there is no file has none.
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
    """Figures may be the user's own; the working directory comes first."""
    return _PACKAGE.parent / name if name.startswith("torsweep/") else find(Path(name))


def _files_of(name: str) -> list[str]:
    """The name itself, or every file below the package of that name."""
    folder = _place(name)
    inside = [file for file in folder.rglob("*") if "__pycache__" not in file.parts]
    return [f"{name}/{file.relative_to(folder).as_posix()}" for file in inside] or [name]


@functools.cache
def _loaded(name: str, file: Path) -> tuple[str, ...]:
    """What the module ``name`` loads by itself: modules that it imports, and data that it names beside it."""
    tree = ast.parse(file.read_bytes())
    modules = [
        module
        for imported in _imports(tree)
        if imported.split(".")[0] in ("torsweep", "plotting")
        for module in _modules(imported)
    ]
    beside = name.rpartition("/")[0]
    return (*modules, *(one for data in _data(tree) for one in _files_of(f"{beside}/{data}")))


def _data(tree: ast.AST) -> Iterator[str]:
    """The files and folders that a module names by ``Path(__file__).with_name(NAME)``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Path(__file__).with_name":
            yield from (
                word.value
                for word in node.args
                if isinstance(word, ast.Constant) and isinstance(word.value, str)
            )


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
