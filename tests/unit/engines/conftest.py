"""A network directory as small as run preparation needs, and the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from torsweep.cli import main


@pytest.fixture
def network(tmp_path: Path) -> Path:
    """A network of four relays, of seed 7, at a load of 1."""
    directory = tmp_path / "networks" / "tiny" / "7"
    directory.mkdir(parents=True)
    document = {
        "format": "torsweep-network",
        "format_version": 1,
        "seed": 7,
        "config": {"relays": 4, "load": 1.0},
        "relays": [{"name": f"relay{number}"} for number in range(1, 5)],
    }
    (directory / "network.json").write_text(json.dumps(document))
    (directory / "latency.npy").write_bytes(b"")
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
