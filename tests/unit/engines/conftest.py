"""A network directory as small as run preparation accepts, and the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from torsweep.cli import main
from torsweep.network.model import Authority, Client, Network, Position, Relay, Server, write_network

POSITIONS: tuple[Position, ...] = ("guard_exit", "exit", "guard", "guard", "middle")


def _relay(number: int, position: Position) -> Relay:
    return Relay(
        name=f"relay{number + 1}",
        node=number,
        position=position,
        rate_bytes_per_s=100_000,
        burst_bytes=200_000,
        capacity_bytes_per_s=1_000_000,
        consensus_weight=100,
        refill_phase=0.25,
        rate_floored=False,
    )


@pytest.fixture
def network(tmp_path: Path) -> Path:
    """A network of five relays, three of which can be guards, of seed 7, at a load of 1."""
    directory = tmp_path / "networks" / "tiny" / "7"
    rates = {"down_bytes_per_s": 10**6, "up_bytes_per_s": 10**6}
    made = Network(
        config={"relays": 5, "load": 1.0},
        config_sha256="0" * 64,
        inputs_sha256={},
        seed=7,
        bandwidth_weights={},
        latency_floor_us=2_000,
        relays=tuple(_relay(number, position) for number, position in enumerate(POSITIONS)),
        authorities=(Authority(name="authority1", node=5),),
        clients=(Client(name="web1", node=6, kind="web", **rates),),
        servers=(Server(name="server1", node=7, **rates),),
    )
    write_network(made, [np.full((8, 8), 50_000, dtype=np.int32)], directory)
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
