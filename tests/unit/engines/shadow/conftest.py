"""A small network, a run on it, and a program that stands in for Shadow."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.prepared_runs import prepared_run
from tests.small_network import equal_rtts, small_network
from tests.stand_ins import executable, stand_in_tor
from torsweep.engines.host_files import Identities
from torsweep.engines.host_tors import HostTors
from torsweep.engines.run_spec import RunSpec
from torsweep.engines.shadow.keys import Keys
from torsweep.engines.shadow.tools import RoundTrips, ShadowTools
from torsweep.network.model import Network, Position, write_network
from torsweep.storage.folders import RUN_FOLDER, own_folder

POSITIONS: tuple[Position, ...] = ("guard_exit", "exit", "guard", "guard", "middle")


@pytest.fixture
def network() -> Network:
    """Five relays, three authorities, two web clients, a bulk client and two servers, all apart."""
    return small_network(POSITIONS, ["web1", "web2", "bulk1"], authorities=3, servers=2)


@pytest.fixture
def rtt_us(network: Network) -> NDArray[np.int32]:
    """The same RTT between any two places; each host is at one of its own."""
    return equal_rtts(network)


@pytest.fixture
def run_directory(tmp_path: Path, network: Network, rtt_us: NDArray[np.int32]) -> Path:
    """A prepared run of the refill sweep's baseline on the network."""
    folder = tmp_path / "run"
    write_network(network, rtt_us, tmp_path / "network")
    own_folder(folder, RUN_FOLDER)
    prepared_run(tmp_path / "network", folder, engine="shadow").write(folder)
    return folder


@pytest.fixture
def run(run_directory: Path) -> RunSpec:
    return RunSpec.model_validate_json((run_directory / "run.json").read_text())


@pytest.fixture
def tools(tmp_path: Path) -> ShadowTools:
    """Programs that are nowhere but tor: what is written names them, and nothing runs them."""
    return ShadowTools(
        shadow=tmp_path / "bin/shadow",
        tgen=tmp_path / "bin/tgen",
        oniontrace=tmp_path / "bin/oniontrace",
        tors=HostTors(stand_in_tor(tmp_path / "tors")),
        version_lines={"shadow": "Shadow 3.3.0 — v3.3.0-199-gf1b 2026-08-19", "tgen": "TGen v1.1.2"},
        round_trips=RoundTrips(100, 100),
    )


@pytest.fixture
def keys(tmp_path: Path, network: Network) -> Keys:
    """Keys in name only: a fingerprint a host, and folders with one file each."""
    names = [host.name for host in (*network.relays, *network.authorities)]
    for name in names:
        (tmp_path / "keys" / name / "keys").mkdir(parents=True)
        (tmp_path / "keys" / name / "keys" / "secret_id_key").write_text(f"of {name}\n")
    fingerprints = {name: f"{number:040X}" for number, name in enumerate(names)}
    identities = {host.name: f"{100 + network.node_of[host.name]:040X}" for host in network.authorities}
    return Keys(tmp_path / "keys", Identities(fingerprints, identities))


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str], Path]:
    """Write a shell script and give its path."""

    def write(script: str) -> Path:
        return executable(tmp_path / "bin" / "shadow", f"#!/bin/sh\n{script}\n")

    return write
