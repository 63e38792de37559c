"""A small network directory, the command line, and a PATH that a test fills itself."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.several_sources import MakeRun, leave_run
from tests.small_network import equal_rtts, small_network
from tests.stand_ins import executable
from torsweep.cli import main
from torsweep.engines import tools
from torsweep.engines.emulation import entry
from torsweep.engines.shadow.tools import round_trips
from torsweep.engines.tools import TOOL_KINDS
from torsweep.errors import ToolMissing
from torsweep.network.model import Position, write_network
from torsweep.tor.builds import BuiltTor

POSITIONS: tuple[Position, ...] = ("guard_exit", "exit", "guard", "guard", "middle")


@pytest.fixture
def network(tmp_path: Path) -> Path:
    """A network of five relays, three of which can be guards, of seed 7, at a load of 1."""
    directory = tmp_path / "networks" / "tiny" / "7"
    made = small_network(
        POSITIONS,
        ["web1"],
        config={"relays": 5, "web_clients": 1, "bulk_clients": 0, "servers": 1, "load": 1.0},
    )
    write_network(made, equal_rtts(made), directory)
    return directory


@pytest.fixture
def torsweep(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[object, str, str]]:
    """Run the command line; gives its exit code, standard output and standard error."""

    def run(*arguments: object) -> tuple[object, str, str]:
        with pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return stop.value.code, captured.out, captured.err

    return run


@pytest.fixture
def no_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing on PATH, no variable set, no tor built, no answer remembered."""
    (tmp_path / "bin").mkdir(exist_ok=True)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    for kind in TOOL_KINDS.values():
        monkeypatch.delenv(kind.variable, raising=False)

    def nothing_built() -> BuiltTor:
        raise ToolMissing("no tor is built")

    monkeypatch.setattr(tools, "find_build", nothing_built)
    # Hosts can be made, and the program that links them is there: not every machine of a test can say so.
    monkeypatch.setattr(entry, "host_rights", lambda: "root")
    monkeypatch.setattr(entry, "require_linkem", lambda: tmp_path / "linkem")
    tools.told_version.cache_clear()
    round_trips.cache_clear()


@pytest.fixture
def install(no_tools: None, tmp_path: Path) -> Callable[..., Path]:
    """``install(name, text, code=0)`` puts a program on PATH that prints ``text`` and ends with ``code``."""

    def make(name: str, text: str, code: int = 0, after: str = "", folder: Path | None = None) -> Path:
        path = (folder or tmp_path / "bin") / name
        return executable(
            path, f"#!/bin/sh\nPATH=/usr/bin:/bin\nprintf '%s\\n' {shlex.quote(text)}\n{after}\nexit {code}\n"
        )

    return make


@pytest.fixture
def patched_tor(no_tools: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A build of tor with the series; the folder of its programs."""
    provenance: dict[str, Any] = {
        "version": "0.4.9.11",
        "series_sha256": "a" * 64,
        "source_sha256": "b" * 64,
        "configure": [],
    }
    built = BuiltTor(tmp_path / "0.4.9.11-aaaaaaaaaaaa", provenance)
    monkeypatch.setattr(tools, "find_build", lambda: built)
    return built.program.parent


@pytest.fixture
def make_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MakeRun:
    """:func:`~tests.several_sources.leave_run` in the working directory."""
    monkeypatch.chdir(tmp_path)
    return functools.partial(leave_run, tmp_path)
