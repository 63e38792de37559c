"""Which stages follow a change of a file: all that load it, and no others; none follows a comment."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from torsweep import source_keys as sources
from torsweep.engines.registry import ENGINES
from torsweep.engines.selection import run_key
from torsweep.pipeline import arguments
from torsweep.pipeline.arguments import Arguments

ROOT = Path(__file__).parents[2]
MODULES = sorted(file for top in ("src", "plotting", "experiments") for file in (ROOT / top).rglob("*.py"))
STAGES = {"runsets/collect.py": "tables", "report": "page", "bundle.py": "published"}
"""Stages by what their rules name first."""

RUNS, RESULTS = set(ENGINES), {"tables", "summary", "page", "published"}
REAL = RUNS - {"cellsim"}


def _keys() -> dict[str, str]:
    """The key of every stage: the runs of each engine, and what the rules name; of figures, one."""
    arguments._source_key.cache_clear()
    text = "".join(file.read_text() for file in sorted((ROOT / "rules").glob("*.smk")))
    keys = {engine: run_key(engine) for engine in ENGINES}
    for words in re.findall(r"source=source_key\(([^)]*)\)", text):
        names = re.findall(r'"([^"]+)"', words)
        keys[STAGES[names[0]]] = arguments.source_key(*names)(None)
    of_experiment = SimpleNamespace(figure="measures", experiment="cell_trace")
    keys["figure"] = Arguments(None).figure_source(of_experiment)
    keys["summary"] = Arguments(None).summary_source(of_experiment)
    arguments._source_key.cache_clear()
    return keys


@pytest.fixture
def follow(monkeypatch):
    """Which stages have another key when the file of a name has changed."""

    def changed(name: str) -> set[str]:
        file = sources._place(name)
        assert file.is_file(), name
        monkeypatch.setattr(sources, "_key_of_file", lambda path: "same")
        before = _keys()
        monkeypatch.setattr(sources, "_key_of_file", lambda path: "new" if path == file else "same")
        return {stage for stage, key in _keys().items() if key != before[stage]}

    return changed


@pytest.mark.parametrize(
    ("file", "stages"),
    [
        ("tor/arti_client.py", REAL),
        ("tor/torrc.py", REAL),
        ("tor/templates/arti.toml", REAL),
        ("tor/templates/client.torrc", REAL),
        ("tor/series.py", REAL | {"page", "published"}),
        ("engines/host_files.py", REAL),
        ("engines/breakdown/join.py", REAL),
        ("engines/circuit_paths.py", RUNS),
        ("engines/prepare.py", RUNS),
        ("engines/draws.py", RUNS | RESULTS | {"figure"}),
        ("engines/table_schema.py", REAL | RESULTS | {"figure"}),
        ("engines/run_settings.py", set()),
        ("engines/selection.py", set()),
        ("tor/release.py", set()),
        ("tor/build.py", set()),
        ("study/cli.py", set()),
        ("runsets/collect.py", {"tables"}),
        ("runsets/imported.py", set()),
        ("stats/summarize.py", {"page", "summary"}),
        ("stats/streams/distances.py", {"summary"}),
        ("report/templates/report.css", {"page"}),
        ("network/describe.py", {"page"}),
        ("config/knob.py", RUNS | RESULTS | {"figure"}),
        ("formats/archives.py", {"page", "published"}),
    ],
)
def test_the_stages_that_load_a_file_follow_it(follow, file, stages):
    assert follow(f"torsweep/{file}") == stages


def test_a_comment_or_a_docstring_changes_no_key():
    for file in MODULES:
        text = file.read_text()
        documented = re.sub(r'^( *r?)"""', r'\g<1>"""Another word. ', text, count=1, flags=re.M)
        assert documented != text, file
        executed = sources._executed(text.encode())
        assert sources._executed(f"# A comment.\n\n{documented}\n  # Another.\n".encode()) == executed, file


def test_a_constant_changes_the_key():
    assert sources._executed(b"STEPS = 8") != sources._executed(b"STEPS = 9")


@pytest.mark.parametrize("engine", sorted(ENGINES))
def test_the_files_of_an_engine_are_followed_by_its_runs_alone(follow, engine):
    """What its ``entry.py`` states is asked before a run, and a model's program has a version of its own."""
    package = [name for name in sources._files_of(f"torsweep/engines/{engine}") if name.endswith(".py")]
    left_out = {name for name in package if name.endswith("/entry.py") or engine == "cellsim"}
    assert {name: follow(name) for name in package} == {
        name: set() if name in left_out else {engine} for name in package
    }


def test_a_figure_of_the_users_own_follows_what_it_imports(follow, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in ("drawing", "families"):
        Path("plotting", folder).mkdir(parents=True)
    Path("plotting/families/measures.py").write_text(
        "def draw(source):\n    from plotting.drawing import mine\n"
    )
    Path("plotting/drawing/mine.py").write_text("")
    _forget()
    assert follow("plotting/drawing/mine.py") == {"figure"}
    assert follow("experiments/cell_trace/spikes.py") == {"summary"}
    _forget()


def _forget() -> None:
    sources.source_files.cache_clear()
    sources._loaded.cache_clear()


def test_what_only_a_type_checker_reads_is_not_loaded():
    text = "if TYPE_CHECKING:\n    from a import b\nelse:\n    import c\nfrom d import e\n"
    assert list(sources._imports(ast.parse(text))) == ["d.e"]
