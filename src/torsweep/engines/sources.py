"""The Python sources that a run of an engine goes through.

In: the name of an engine. Out: a key of their content, so that a change in them makes its runs anew. They are
the modules of its package, and those of this room that they import, and :mod:`torsweep.tor.torrc`. Modules
that say what an engine is or needs, or that choose one, change no run and do not count.
"""

from __future__ import annotations

import ast
import functools
import hashlib
from pathlib import Path

ROOM = Path(__file__).parent
TORRC_MODULE = ROOM.parent / "tor" / "torrc.py"
NO_PART_OF_A_RUN = {"cli", "contract", "entry", "prepare", "selection", "tools"}


def sources_key(engine: str) -> str:
    """Twelve hexadecimal digits that stand for the sources of ``engine``."""
    digest = hashlib.sha256()
    for file in sources(engine):
        content = file.read_bytes()
        digest.update(f"{file.relative_to(ROOM.parent)}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:12]


def sources(engine: str) -> list[Path]:
    """The files, in order; the templates of a torrc go with it."""
    waiting = list((ROOM / engine).rglob("*.py"))
    files: set[Path] = set()
    while waiting:
        file = waiting.pop()
        if file not in files and file.stem not in NO_PART_OF_A_RUN:
            files.add(file)
            waiting += filter(_counts, imported(file))
    templates = TORRC_MODULE.with_name("templates").glob("*.torrc") if TORRC_MODULE in files else ()
    return sorted([*files, *templates])


@functools.cache
def imported(file: Path) -> list[Path]:
    """The modules of torsweep that ``file`` imports, at its top or in functions."""
    names = [
        f"{node.module}.{alias.name}"
        for node in ast.walk(ast.parse(file.read_bytes()))
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    ]
    files = []
    for name in names:
        if name.startswith("torsweep."):
            path = ROOM.parent.joinpath(*name.split(".")[1:])
            # The last word can be a module, or a name in one.
            for at in (path, path.parent):
                files += [one for one in (at.with_suffix(".py"), at / "__init__.py") if one.is_file()]
    return files


def _counts(file: Path) -> bool:
    return file == TORRC_MODULE or ROOM in file.parents
