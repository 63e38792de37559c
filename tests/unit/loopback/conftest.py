"""A run directory as small as the engine accepts, and programs that stand in for tor."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from torsweep.config.eras import tor_settings
from torsweep.engines.run_spec import RunSpec, RunTables, RunTraffic
from torsweep.network.model import Authority, Client, Network, Position, Relay, Server, write_network
from torsweep.provenance import sha256_of_file
from torsweep.tor.build import BuiltTor

POSITIONS: tuple[Position, ...] = ("guard", "middle", "exit")
RATES = {"down_bytes_per_s": 10**6, "up_bytes_per_s": 10**6}
PATH = ("relay1", "relay2", "relay3")


def relay(number: int, position: Position, **changes: object) -> Relay:
    fields = {
        "name": f"relay{number + 1}",
        "node": number,
        "position": position,
        "rate_bytes_per_s": 200_000,
        "burst_bytes": 200_000,
        "capacity_bytes_per_s": 1_000_000,
        "consensus_weight": 100,
        "refill_phase": 0.25,
        "rate_floored": False,
    }
    return Relay.model_validate(fields | changes)


def network(*positions: Position, **changes: object) -> Network:
    """Relays at ``positions``, an authority, a bulk client, a server; ``changes`` apply to each relay."""
    count = len(positions)
    return Network(
        config={},
        config_sha256="0" * 64,
        inputs_sha256={},
        seed=7,
        bandwidth_weights={},
        latency_floor_us=2_000,
        relays=tuple(relay(number, position, **changes) for number, position in enumerate(positions)),
        authorities=(Authority(name="authority1", node=count),),
        clients=(Client(name="bulk1", node=count + 1, kind="bulk", **RATES),),
        servers=(Server(name="server1", node=count + 2, **RATES),),
    )


def traffic(**changes: object) -> RunTraffic:
    fields = {
        "request_bytes": 100,
        "response_bytes": 50_000,
        "think_min_ns": 0,
        "think_max_ns": 0,
        "streams_per_circuit_isolation": False,
        "parallel_streams": 1,
        "timeout_ns": None,
    }
    return RunTraffic.model_validate(fields | changes)


def run_spec(**changes: object) -> RunSpec:
    fields: dict = {
        "experiment": "test",
        "engine": "loopback",
        "era": "2012",
        "variant": {},
        "warm_up_ns": 0,
        "duration_ns": 10**9,
        "client_start_window_ns": 0,
        "tor": tor_settings("2012", {}),
        "traffic": {"bulk": traffic()},
        "paths": {"bulk1": (PATH,)},
        "tables": RunTables(progress=True),
        "network": "../network",
        "network_sha256": "0" * 64,
        "seed": 7,
    }
    return RunSpec(**(fields | changes))


@pytest.fixture
def run_directory(tmp_path: Path) -> Callable[..., Path]:
    """Make a run directory; ``relays`` are changes to each relay, the rest to run.json."""

    def make(relays: dict | None = None, **changes: object) -> Path:
        made = network(*POSITIONS, **(relays or {}))
        write_network(made, [np.full((6, 6), 50_000, dtype=np.int32)], tmp_path / "network")
        folder = tmp_path / "run"
        folder.mkdir()
        digest = sha256_of_file(tmp_path / "network" / "network.json")
        run_spec(**{"network_sha256": digest, **changes}).write(folder)
        return folder

    return make


GENCERT = """
import pathlib, sys
arguments = sys.argv[1:]
certificate = pathlib.Path(arguments[arguments.index("-c") + 1])
certificate.write_text("fingerprint " + "A" * 40 + "\\n")
"""

FINGERPRINT = """
import pathlib, re, sys
torrc = pathlib.Path(sys.argv[sys.argv.index("-f") + 1]).read_text()
def option(name):
    found = re.search(rf"^{name} (.*)$", torrc, re.MULTILINE)
    return found and found[1]
if "--list-fingerprint" in sys.argv:
    print(option("Nickname"), "0123 " * 10)
    raise SystemExit
print("this is", option("Nickname") or "a client", flush=True)
"""


@pytest.fixture
def fake_tor(tmp_path: Path) -> Callable[[str], BuiltTor]:
    """A build whose tor makes fingerprints, and does what the given lines of Python say when started."""

    def make(body: str) -> BuiltTor:
        programs = tmp_path / "build" / "bin"
        programs.mkdir(parents=True)
        for name, text in (("tor", FINGERPRINT + body), ("tor-gencert", GENCERT)):
            (programs / name).write_text(f"#!{sys.executable}\n{text}")
            (programs / name).chmod(0o755)
        return BuiltTor(tmp_path / "build", {"version": "0.0.0", "series_sha256": "0" * 64})

    return make
