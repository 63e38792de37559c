"""A network directory as small as run preparation accepts, and the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.small_network import equal_rtts, small_network
from torsweep.cli import main
from torsweep.network.model import Position, write_network

POSITIONS: tuple[Position, ...] = ("guard_exit", "exit", "guard", "guard", "middle")


@pytest.fixture
def network(tmp_path: Path) -> Path:
    """A network of five relays, three of which can be guards, of seed 7, at a load of 1."""
    directory = tmp_path / "networks" / "tiny" / "7"
    made = small_network(POSITIONS, ["web1"], config={"relays": 5, "load": 1.0})
    write_network(made, [equal_rtts(made)], directory)
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
