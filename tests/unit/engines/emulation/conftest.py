"""A run directory as small as the engine accepts, and programs that stand in for tor."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.prepared_runs import run_traffic
from tests.small_network import equal_rtts, small_network
from tests.stand_ins import executable, known_options
from torsweep.config.eras import tor_settings
from torsweep.engines.emulation.process_layout import ProcessLayout
from torsweep.engines.emulation.rights import EmulationTools
from torsweep.engines.host_tors import HostTors
from torsweep.engines.run_spec import RunSpec, RunTables, RunTraffic
from torsweep.network.model import Network, Position, write_network
from torsweep.provenance import sha256_of_file
from torsweep.storage.folders import RUN_FOLDER, own_folder
from torsweep.tor.builds import BuiltTor

POSITIONS: tuple[Position, ...] = ("guard", "middle", "exit")
PATH = ("relay1", "relay2", "relay3")


def network(*positions: Position, **changes: object) -> Network:
    """Relays at ``positions``, an authority, a bulk client, a server; ``changes`` apply to each relay."""
    return small_network(positions, ["bulk1"], **changes)


def traffic(**changes: object) -> RunTraffic:
    return run_traffic(**{"request_bytes": 100, "response_bytes": 50_000, **changes})


def run_spec(**changes: object) -> RunSpec:
    fields: dict = {
        "experiment": "test",
        "engine": "emulation",
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
        write_network(made, equal_rtts(made), tmp_path / "network")
        folder = tmp_path / "run"
        own_folder(folder, RUN_FOLDER)
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

FINGERPRINT = (
    f"OPTIONS = {sorted(known_options())}\n"
    + """
import pathlib, re, sys
if "--list-torrc-options" in sys.argv:
    print(*OPTIONS, sep="\\n")
    raise SystemExit
torrc = pathlib.Path(sys.argv[sys.argv.index("-f") + 1]).read_text()
def option(name):
    found = re.search(rf"^{name} (.*)$", torrc, re.MULTILINE)
    return found and found[1]
if "--list-fingerprint" in sys.argv:
    pathlib.Path(option("DataDirectory"), "fingerprint").write_text(option("Nickname") + " " + "0123" * 10)
    raise SystemExit
print("this is", option("Nickname") or "a client", flush=True)
"""
)

LINKEM = """
import json, sys, time
document = json.load(open(sys.argv[2]))
hosts = {host["name"]: "/proc/self/ns/net" for host in document["hosts"]}
print(json.dumps({"hosts": hosts, "tally": "/dev/null"}), flush=True)
time.sleep(60)
"""


@pytest.fixture
def layout(tmp_path: Path) -> ProcessLayout:
    """Guard, middle, exit, an authority, a client with a path, a server."""
    return ProcessLayout(run_spec(), network(*POSITIONS), tmp_path / "processes", tmp_path / "sockets")


@pytest.fixture
def fake_tools(tmp_path: Path, fake_tor: Callable[[str], BuiltTor]) -> Callable[..., EmulationTools]:
    """A tor that does what the given lines of Python say, and a link emulator whose hosts are this
    machine."""

    def make(body: str, linkem: str = LINKEM) -> EmulationTools:
        tor = fake_tor(body)
        program = executable(tor.program.with_name("linkem"), f"#!{sys.executable}\n{linkem}")
        return EmulationTools(HostTors(tor), program)

    return make


@pytest.fixture
def fake_tor(tmp_path: Path) -> Callable[[str], BuiltTor]:
    """A build whose tor makes fingerprints, and does what the given lines of Python say when started."""

    def make(body: str) -> BuiltTor:
        programs = tmp_path / "build" / "bin"
        programs.mkdir(parents=True)
        for name, text in (("tor", FINGERPRINT + body), ("tor-gencert", GENCERT)):
            executable(programs / name, f"#!{sys.executable}\n{text}")
        hashes = {"series_sha256": "0" * 64, "source_sha256": "1" * 64}
        return BuiltTor(tmp_path / "build", {"version": "0.0.0", "configure": [], **hashes})

    return make
