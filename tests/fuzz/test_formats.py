"""Damaged documents of every format: 50 of each, always the same; with FUZZ_EXAMPLES, others.

Whatever is damaged, a command ends with 0, or with 2 and one line; its inputs stay as they are, and its
output is whole or is not there.
"""

from __future__ import annotations

import functools
import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from copy import deepcopy
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.fuzz.documents import RUN, TARGETS, TREE, Target
from torsweep.cli import main
from torsweep.config.experiment import load_experiment
from torsweep.ending import exit_code_of
from torsweep.engines.tools import find_own_program
from torsweep.formats.archives import unpack_tarball
from torsweep.formats.yaml_file import parse_other_yaml
from torsweep.runsets.collect import collect
from torsweep.runsets.plan_tables import PlanTables
from torsweep.stats.summarize import make_summary

MORE_EXAMPLES = "FUZZ_EXAMPLES"
VALUES: tuple[Any, ...] = (
    *(0, -1, 1, 1.5, 1e-7, 65536, 2**31, 2**63, 1e18, None, True, False),
    *("", " ", "-1", "1:30", "nan", "yes", "é", "\n", "0 s", "1 h", "9999999 h", "0 B/s", "../../../x"),
    *([], {}, [None], [1, 2], {"a": 1}),
)
KEYS = ("", "x", "name", "é", "a\nb", "1")
WORDS = (b"nan", b"inf", b"-1", b"1e400", b"0", b"", b",", b'"', b"\t", b"-->", b"\x00", "é".encode(), b"#")
RAW = (b"\x00", b"\xff" * 64, b"\xef\xbb\xbf", b"\r\n", b"\xc3\x28", b"[" * 30_000, b"- " * 30_000)
NESTED = ", ".join(["&a0 [1]", *(f"&a{n + 1} [{', '.join([f'*a{n}'] * 9)}]" for n in range(12))]).encode()
"""A list in a list, twelve deep, each with nine of the one before: some 10^11 values."""
TYPES: tuple[pl.Series, ...] = (
    *(pl.Series([each]) for each in ([1.5], {"a": 1}, True, b"x", date(2024, 1, 1), "x", "", None)),
    *(pl.Series([each]) for each in (float("nan"), float("inf"), -1, 2**62)),
)
"""What becomes of a column of a Parquet file."""

Damage = tuple[str, float, float, int]
"""What is done, where and how far (parts of the document), and with which of the values above."""


def damages(kinds: tuple[str, ...]) -> st.SearchStrategy[list[Damage]]:
    part = st.floats(0, 1, exclude_max=True, allow_subnormal=False)
    return st.lists(
        st.tuples(st.sampled_from(kinds), part, part, st.integers(0, 1000)), min_size=1, max_size=4
    )


def damaged(content: bytes, changes: list[Damage]) -> bytes:
    """``content`` after ``changes``; those of trees come first, because they need a whole document."""
    if trees := [change for change in changes if change[0] in TREE]:
        document = json.loads(content)
        for change in trees:
            _change_tree(document, *change)
        content = json.dumps(document, ensure_ascii=False).encode()
    for change in changes:
        content = content if change[0] in TREE else _change_bytes(content, *change)
    return content


def _change_bytes(content: bytes, kind: str, where: float, extent: float, choice: int) -> bytes:
    if kind == "retype":
        return _retyped(content, where, choice)
    place, lines = int(where * len(content)), content.split(b"\n")
    row, raw = int(where * len(lines)), RAW[choice % len(RAW)]
    if kind == "flip":
        flipped = bytes([content[place] ^ 1 << choice % 8]) if content else b" "
        return content[:place] + flipped + content[place + 1 :]
    if kind == "cut":  # Short stretches are as likely as long ones.
        return content[:place] + content[place + 1 + int((len(content) - place) * extent**4) :]
    if kind == "end":
        return content[:place]
    if kind == "overwrite":
        return content[:place] + raw + content[place + len(raw) :]
    if kind == "nest":  # A key keeps its place, and its value is many.
        key, colon, _ = lines[row].partition(b":")
        lines[row] = key + colon + b" [" + NESTED + b"]"
    elif kind == "word":  # One word of one line becomes another, its separators stay.
        separator = b"," if b"," in lines[row] else b" "
        words = lines[row].split(separator)
        words[int(extent * len(words))] = WORDS[choice % len(WORDS)]
        lines[row] = separator.join(words)
    else:
        lines[row : row + 1] *= {"drop_line": 0, "double_line": 2}[kind]
    return b"\n".join(lines)


def _retyped(content: bytes, where: float, choice: int) -> bytes:
    """A Parquet file, one of whose columns has another type in each row; any other bytes as they are."""
    try:
        table = pl.read_parquet(io.BytesIO(content))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return content
    name, others = table.columns[int(where * table.width)], io.BytesIO()
    column = TYPES[choice % len(TYPES)].new_from_index(0, table.height).alias(name)
    table.with_columns(column).write_parquet(others)
    return others.getvalue()


def _change_tree(document: Any, kind: str, where: float, _: float, choice: int) -> None:
    """Drop, rename or replace one item of an object or a list, at any depth."""
    places = list(_places(document))
    if not places:
        return
    holder, key = places[int(where * len(places))]
    if kind == "drop":
        del holder[key]
    elif kind == "rename" and isinstance(holder, dict):
        holder[KEYS[choice % len(KEYS)]] = holder.pop(key)
    else:
        holder[key] = deepcopy(VALUES[choice % len(VALUES)])


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield value, key
        yield from _places(inner)


def _summarize(tables: str, out: str) -> None:
    make_summary(PlanTables.open(Path(tables)), load_experiment("refill_sweep"), Path(out))


def _run_cellsim(inputs: str, out: str) -> None:
    """``cellsim run`` on a copy of the damaged run: what it writes does not stand among the inputs."""
    work = Path(out).parents[1] / "work"
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(inputs, work)
    program = find_own_program("cellsim")
    assert program is not None, "cellsim is not built"
    code = subprocess.run([program, "run", work / RUN], check=False).returncode
    assert code != 2 or not (work / RUN / "provenance.json").exists(), "refused, and a whole run was left"
    sys.exit(code)


FUNCTIONS: dict[str, Callable[[str, str], object]] = {
    "collect": lambda run, out: collect([Path(run)], Path(out), network="tiny"),
    "summarize": _summarize,
    "other YAML": lambda file, _: parse_other_yaml(Path(file).read_bytes(), Path(file)),
    "unpack": lambda tarball, out: unpack_tarball(Path(tarball), Path(out)),
    "cellsim": _run_cellsim,
}
"""What is called in place of torsweep's command line."""


def _run(target: Target, place: Path, capfd: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Exit code of the command that reads ``target``, and what it says on standard error."""
    names = {"in": str(place / "in"), "out": str(place / "out" / "out")}
    words = [word.format(**names) for word in target.arguments]
    capfd.readouterr()
    with pytest.raises(SystemExit) as ended:
        if words[0] in FUNCTIONS:
            sys.exit(exit_code_of(lambda: FUNCTIONS[words[0]](*words[1:]), "torsweep"))
        main(words)
    code = ended.value.code
    assert isinstance(code, int)
    return code, capfd.readouterr().err.strip("\n")


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the documents stand."""
    return tmp_path_factory.mktemp("fuzz")


@functools.cache
def made(folder: Path, name: str, target: Target) -> tuple[Path, bytes]:
    """The folder with the whole documents of ``target``, of the format ``name``; the bytes of its own."""
    place = folder / name / target.name
    (place / "in").mkdir(parents=True)
    target.make(place / "in")
    return place, (place / "in" / target.file).read_bytes()


def contents(folder: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def check(folder: Path, name: str, target: Target, changes: list[Damage], capfd: Any) -> tuple[int, str]:
    """How the command ended that reads what ``changes`` damage; AssertionError where it may not end so."""
    place, whole = made(folder, name, target)
    shutil.rmtree(place / "out", ignore_errors=True)
    (place / "out").mkdir()
    (place / "in" / target.file).write_bytes(damaged(whole, changes))
    before = contents(place / "in")
    code, error = _run(target, place, capfd)
    assert code in (0, 2), f"exit code {code}: {error[-2000:]}"
    assert "panicked" not in error and "Traceback" not in error, error[-2000:]
    assert not code or (len(error.splitlines()) == 1 and len(error) < 2000), error[-2000:]
    assert contents(place / "in") == before, "inputs changed"
    held = os.listdir(place / "out")
    assert held == [] or (held == ["out"] and not code), f"refused, or left beside the output: {held}"
    assert not held or not target.marker or (place / "out" / "out" / target.marker).is_file()
    (place / "in" / target.file).write_bytes(whole)
    return code, error


@pytest.mark.parametrize("name", TARGETS)
def test_the_whole_documents_are_accepted(folder: Path, name: str, capfd: Any) -> None:
    for target in TARGETS[name]:
        code, error = check(folder, name, target, [], capfd)
        assert code == 0, f"{target.name}: {error}"


@pytest.mark.parametrize("name", TARGETS)
def test_no_damage_breaks_a_command(folder: Path, name: str, capfd: Any) -> None:
    @settings(
        max_examples=int(os.environ.get(MORE_EXAMPLES, 50)),
        derandomize=MORE_EXAMPLES not in os.environ,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(data=st.data())
    def damage(data: st.DataObject) -> None:
        target = data.draw(st.sampled_from(TARGETS[name]))
        check(folder, name, target, data.draw(damages(target.kinds)), capfd)

    damage()


@pytest.mark.parametrize("value", [{"a": 1}, [[None]], "x"])
def test_no_key_of_an_experiment_breaks_a_command_whatever_its_value(folder, capfd, value) -> None:
    (target,) = (each for each in TARGETS["YAML"] if each.name == "nagle")
    place, whole = made(folder, "YAML", target)
    document = json.loads(whole)
    at = {key if isinstance(key, str) else id(holder): (holder, key) for holder, key in _places(document)}
    for holder, key in at.values():
        before, holder[key] = holder[key], value
        (place / "in" / target.file).write_text(json.dumps(document))
        code, error = _run(target, place, capfd)
        assert code in (0, 2) and len(error.splitlines()) <= 1, f"{key}: {error[-2000:]}"
        holder[key] = before
    (place / "in" / target.file).write_bytes(whole)
