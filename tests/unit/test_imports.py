"""The modules build on each other in one direction: no circles, between modules or between rooms.

A room is a package of ``torsweep``, a module beside them, or ``plotting``. Imports inside functions count.
"""

from __future__ import annotations

import ast
import graphlib
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from torsweep.engines.names import engine_names

ROOT = Path(__file__).parents[2]
TREES = {"torsweep": ROOT / "src/torsweep", "plotting": ROOT / "plotting"}

SLOW = {
    "numpy",
    "scipy",
    "polars",
    "matplotlib",
    "pydantic",
    "snakemake",
    "stem",
    "yaml",
    "rich",
    "asyncio",
} | {
    "jinja2",
    "networkx",
    "rocrate",
    "PIL",
    "markdown_it",
}
"""What the command line does not load to print its help."""


@pytest.fixture(scope="module")
def modules() -> dict[str, ast.Module]:
    """Every module's syntax tree, by its dotted name."""
    found = {}
    for tree in TREES.values():
        for file in sorted(tree.rglob("*.py")):
            name = ".".join(file.relative_to(tree.parent).with_suffix("").parts).removesuffix(".__init__")
            found[name] = ast.parse(file.read_text(encoding="utf-8"))
    return found


@pytest.fixture(scope="module")
def imports(modules) -> dict[str, set[str]]:
    """The modules that each module imports, at its top or inside a function."""
    return {name: set(_imported(tree, name, modules)) for name, tree in modules.items()}


def _imported(tree: ast.AST, importer: str, modules: Mapping[str, ast.Module]) -> Iterator[str]:
    for node in ast.walk(tree):
        named = []
        if isinstance(node, ast.Import):
            named = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{importer}: a relative import"
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            named = [name if name in modules else str(node.module) for name in inner]
        yield from (name for name in named if name in modules and name != importer)


def _room(module: str) -> str:
    return ".".join(module.split(".")[:2]) if module.startswith("torsweep.") else module.split(".")[0]


def _circle(graph: Mapping[str, set[str]]) -> list[str]:
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return list(error.args[1])
    return []


def test_a_circle_would_be_found():
    assert _circle({"a": {"b"}, "b": {"c"}, "c": {"a"}})
    assert not _circle({"a": {"b", "c"}, "b": {"c"}})


def test_no_circle_of_modules(imports):
    assert len(imports) > 100
    assert _circle(imports) == []


def test_no_circle_of_rooms(imports):
    rooms = defaultdict(set)
    for importer, imported in imports.items():
        rooms[_room(importer)] |= {_room(name) for name in imported} - {_room(importer)}
    assert rooms["torsweep.pipeline"] and rooms["torsweep.engines"]
    assert _circle(rooms) == []


def test_no_engine_knows_another(imports):
    """Each keeps to itself and to what engines share, so that one can be taken out or copied."""
    folder = TREES["torsweep"] / "engines"
    packages = {path.name for path in folder.iterdir() if (path / "__init__.py").is_file()}
    assert packages >= set(engine_names())
    engines = {f"torsweep.engines.{name}" for name in engine_names()}
    shared = tuple(f"torsweep.engines.{name}." for name in packages - set(engine_names()))
    owner = {name: engine for engine in engines for name in imports if f"{name}.".startswith(f"{engine}.")}
    crossing = {
        (importer, name)
        for importer, engine in owner.items()
        for name in imports[importer]
        if owner.get(name, engine) != engine
    }
    assert crossing == set()
    assert not [name for name in imports if f"{name}.".startswith(shared) and imports[name] & owner.keys()]


def test_imports_inside_functions_are_those_of_the_command_line(modules):
    """Only the command line has a start-up time that somebody waits for; it knows the bounds of seeds."""
    inside = {
        name
        for name, tree in modules.items()
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    assert {name for name in inside if not name.endswith(".cli")} == {"torsweep.seeds"}


def test_help_loads_nothing_slow():
    program = (
        "import sys\nfrom torsweep.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass\n"
        "print(*sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    assert "torsweep.cli" in loaded
    assert loaded & SLOW == set()
