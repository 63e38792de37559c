"""Engines that run real programs: a network small enough for a test, and the tor that runs in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.prepared_runs import sampled_network
from torsweep.engines.emulation.rights import host_rights
from torsweep.engines.tools import find_own_program
from torsweep.errors import ToolMissing, TorsweepError
from torsweep.tor.builds import BuiltTor, find_build


@pytest.fixture(scope="session")
def built_tor() -> BuiltTor:
    """The tor with the patch series; a test that needs it is skipped by name where none is built."""
    try:
        return find_build()
    except TorsweepError as error:
        pytest.skip(f"needs the patched tor: {error}")


@pytest.fixture(scope="session")
def emulation(built_tor: BuiltTor) -> None:
    """The rights and the program that emulated hosts need; a test is skipped by name where they are not."""
    try:
        host_rights()
    except ToolMissing as missing:
        pytest.skip(f"needs hosts of its own: {missing}")
    if find_own_program("linkem") is None:
        pytest.skip("needs linkem: `make setup` builds it")


@pytest.fixture(scope="session")
def small_network(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten relays, eighteen web and two bulk clients, four servers; seed 1."""
    folder = tmp_path_factory.mktemp("networks") / "small"
    sampled_network(folder, "ci", web_clients=18, bulk_clients=2, servers=4)
    return folder
