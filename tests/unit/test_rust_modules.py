"""The modules of each Rust crate build on each other in one direction, as Python's do.

A module is a file of the crate's ``src``. Its edges are the items that it takes from other modules: by
``use``, and by a path that begins with ``crate::`` or ``super::``, tests included. A folder's modules belong
to the file beside it, which may take from them what they do not take from it.
"""

from __future__ import annotations

import graphlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CRATES = sorted(manifest.parent.name for manifest in ROOT.glob("*/Cargo.toml"))

COMMENT = re.compile(r"//[^\n]*")
USE = re.compile(r"\buse\s+((?:crate|super|self|\w+)(?:::|\s*;)[^;]*);")
PATH = re.compile(r"\b(?:crate|super)(?:::\w+)+")


def _flat(tree: str) -> Iterator[str]:
    """The paths of a ``use``: ``a::{b, c::d}`` is ``a::b`` and ``a::c::d``."""
    if "{" not in tree:
        yield tree.split(" as ")[0].strip()
        return
    head, inner = tree.split("{", 1)
    depth, start = 0, 0
    inner = inner.rsplit("}", 1)[0] + ","
    for place, character in enumerate(inner):
        depth += (character == "{") - (character == "}")
        if character == "," and depth == 0:
            if part := inner[start:place].strip():
                yield from _flat(head.strip() + part)
            start = place + 1


def _taken(text: str) -> Iterator[str]:
    """The paths that a file names of its own crate."""
    code = COMMENT.sub("", text)
    for match in USE.finditer(code):
        yield from _flat(match[1])
    yield from (match[0] for match in PATH.finditer(USE.sub("", code)))


def _edges(sources: dict[str, str]) -> dict[str, set[str]]:
    """Module to the modules it takes from; ``""`` is the crate itself, which declares them."""
    return {module: set(_targets(module, text, sources)) for module, text in sources.items()}


def _targets(module: str, text: str, sources: dict[str, str]) -> Iterator[str]:
    for path in _taken(text):
        parts = path.split("::")
        here = module.split("::") if module else []
        if parts[0] == "crate":
            parts = parts[1:]
        elif parts[0] == "super":
            # Inside the module of a file's tests, the first `super` is the file.
            parts = here[:-1] + parts[1:] if parts[1:2] != ["*"] else here
        else:
            parts = here + parts[parts[0] == "self" :]
        found = next(
            (name for n in range(len(parts), 0, -1) if (name := "::".join(parts[:n])) in sources), ""
        )
        if found and found != module:
            yield found


def _sources(crate: str) -> dict[str, str]:
    folder = ROOT / crate / "src"
    files = {file.relative_to(folder).with_suffix(""): file for file in sorted(folder.rglob("*.rs"))}
    return {
        "" if name == Path("lib") else "::".join(name.parts): file.read_text(encoding="utf-8")
        for name, file in files.items()
        if name != Path("main")
    }


def _circle(graph: dict[str, set[str]]) -> list[str]:
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return list(error.args[1])
    return []


@pytest.mark.parametrize(
    ("sources", "circle"),
    [
        ({"a": "use crate::b::{C, d::{E, F}};", "b": "fn f() { crate::a::g() }"}, True),
        ({"a": "use crate::b::{\n    C,\n};", "b": "// use crate::a::D;\n"}, False),
        ({"a": "mod b;\nuse b::C;", "a::b": "use super::D;"}, True),
        ({"a": "mod b;\nuse b::C;", "a::b": "mod tests { use super::*; }"}, False),
        ({"a": "mod b;\nmod c;\nuse b::D;", "a::b": "", "a::c": "use super::b::D;\nuse super::E;"}, False),
        ({"a": "mod b;\nmod c;", "a::b": "use super::c::D;", "a::c": "use crate::a::b::E;"}, True),
    ],
)
def test_a_circle_would_be_found(sources, circle):
    assert bool(_circle(_edges(sources))) is circle


@pytest.mark.parametrize("crate", CRATES)
def test_no_circle_of_modules(crate):
    edges = _edges(_sources(crate))
    # A module of its own, at least, and one that takes from another.
    assert len(edges) > 1
    assert any(edges.values())
    assert _circle(edges) == []


def test_edges_of_a_known_module_are_seen():
    edges = _edges(_sources("cellsim"))
    assert {"spec", "error"} <= edges["directory"]
    assert edges["world"] >= {"events", "world::state"}
    assert edges["world::relay"] >= {"world", "world::state", "bucket"}
