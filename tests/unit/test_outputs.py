"""Whatever a command is told to write to, nothing of a user's is touched.

The commands come from the command line's own tree, so that a new one is covered.
"""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from torsweep.cli import app, main
from torsweep.errors import OutputError
from torsweep.storage.folders import (
    FIGURES_FOLDER,
    MARKER,
    TOR_BUILD_FOLDER,
    OutputFolder,
    own_folder,
)


def _commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, (*path, name))
        else:
            yield " ".join((*path, name)), command


COMMANDS = dict(_commands(typer.main.get_command(app)))


def _outputs(command: Any) -> list[tuple[Any, OutputFolder]]:
    """The parameters of ``command`` that say where it writes, and what they accept."""
    parsers = ((parameter, getattr(parameter.type, "func", None)) for parameter in command.params)
    return [(one, parser) for one, parser in parsers if isinstance(parser, OutputFolder)]


WRITING = [(name, parameter, kind) for name in COMMANDS for parameter, kind in _outputs(COMMANDS[name])]


def _arguments(name: str, output: Any, target: Path) -> list[str]:
    """A command line of ``name`` that writes to ``target``; everything else in it is there and no more."""
    words = name.split()
    for parameter in COMMANDS[name].params:
        if parameter is output:
            value = str(target)
        elif not parameter.required:
            continue
        else:
            choices = getattr(parameter.type, "choices", None)
            value = str(next(iter(choices))) if choices else "1"
            value = getattr(value, "value", value)
        words += [value] if parameter.param_type_name == "argument" else [parameter.opts[0], value]
    return words


def _link_to(name: str) -> Callable[[Path], None]:
    """A link to ``name`` beside the target, which is a file if it has a suffix."""

    def make(target: Path) -> None:
        elsewhere = target.parent / name
        if elsewhere.suffix:
            elsewhere.write_text("years of work")
        elif name != "nowhere":
            elsewhere.mkdir()
        target.symlink_to(name)

    return make


def _folder_with(*names: str) -> Callable[[Path], None]:
    def make(target: Path) -> None:
        target.mkdir()
        for name in names:
            (target / name).write_text("years of work")

    return make


def _another_kind(target: Path) -> None:
    # No command has a build of tor for its output: `tor build` is given the folder above it.
    own_folder(target, TOR_BUILD_FOLDER)
    (target / "table.txt").write_text("measured")


HOSTILE: dict[str, Callable[[Path], object]] = {
    "file": lambda target: target.write_text("years of work"),
    "foreign folder": _folder_with("notes.txt"),
    "link to a file": _link_to("thesis.tex"),
    "link to a folder": _link_to("elsewhere"),
    "dangling link": _link_to("nowhere"),
    "names of results": _folder_with("network.json", "run.json", "streams.parquet", "SHA256SUMS"),
    "another kind": _another_kind,
}


def _state(folder: Path) -> dict[str, tuple[object, ...]]:
    """Everything about ``folder`` that could have been touched, by path."""
    found: dict[str, tuple[object, ...]] = {}
    for path in [folder, *folder.rglob("*")]:
        state = path.lstat()
        content = path.read_bytes() if stat.S_ISREG(state.st_mode) else b""
        found[str(path)] = (state.st_ino, state.st_mode, state.st_mtime_ns, content)
    return found


def _refused(run: Callable[[], object], folder: Path, target: Path, capfd: Any) -> None:
    before = _state(folder)
    with pytest.raises(SystemExit) as stopped:
        run()
    said = capfd.readouterr().err
    assert stopped.value.code == 2, said
    assert said.count("\n") == 1, said
    assert str(target) in said
    assert "accepted: a new" in said
    assert _state(folder) == before


def _cases() -> Iterator[Any]:
    """Each command with a file and with a folder in its place; all else that can stand there once a kind."""
    kinds: set[type] = set()
    for name, output, kind in WRITING:
        for what in HOSTILE if type(kind) not in kinds else ("file", "foreign folder"):
            yield pytest.param(name, output, HOSTILE[what], id=f"{name}-{what}")
        kinds.add(type(kind))


@pytest.mark.parametrize(("name", "output", "make"), [*_cases()])
def test_what_is_there_already_is_refused_and_untouched(tmp_path, capfd, name, output, make):
    target = tmp_path / "place" / "out"
    target.parent.mkdir()
    make(target)
    _refused(lambda: main(_arguments(name, output, target)), tmp_path, target, capfd)


def test_a_marker_is_no_licence_for_links(tmp_path, capfd):
    own_folder(tmp_path / "figures", FIGURES_FOLDER)
    assert (tmp_path / "figures" / MARKER).is_file()
    (tmp_path / "link").symlink_to("figures")
    with pytest.raises(OutputError, match="is a symbolic link"):
        own_folder(tmp_path / "link", FIGURES_FOLDER)
