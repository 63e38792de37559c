"""What an engine could run follows from the network's size and the machine's limits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from torsweep.config.network import NetworkConfig, load_network_config
from torsweep.doctor import known_networks, outlook, shortfalls
from torsweep.engines.cellsim import entry as cellsim
from torsweep.engines.shadow import entry as shadow
from torsweep.engines.shadow.simulate import HOST_BYTES, PROGRAM_BYTES, SHADOW_BYTES
from torsweep.machine import Machine

NETWORKS = Path(__file__).parents[2] / "configs/networks"

ROOMY = Machine(
    cores=2,
    memory_bytes=24 * 10**9,
    available_bytes=20 * 10**9,
    shared_memory_bytes=10**9,
    shared_memory_free_bytes=10**9,
    shared_memory_executable=True,
    open_files=10**6,
    processes=10**5,
    pid_max=10**5,
    threads_max=10**5,
    map_count_max=65_530,
    overcommit=0,
    autogroup=False,
    kernel="6.1.0-18-amd64",
    architecture="x86_64",
)


@pytest.fixture
def paper() -> NetworkConfig:
    return load_network_config(NETWORKS / "paper.yaml")


def test_the_full_network_takes_what_is_projected_before_a_run(paper: NetworkConfig) -> None:
    demand = shadow.demand(paper)
    programs = 1053 * PROGRAM_BYTES["tor"] + 1200 * PROGRAM_BYTES["tgen"] + 1050 * PROGRAM_BYTES["oniontrace"]
    assert demand.memory_bytes == SHADOW_BYTES + 1253 * HOST_BYTES + programs
    assert demand.threads == 3 * 1053 + 1200 + 1050
    assert cellsim.demand(paper).memory_bytes == pytest.approx(40e6, rel=0.1)


@pytest.mark.parametrize(
    ("limit", "here"),
    [
        ({"available_bytes": 6 * 10**9}, "5.6 GiB of memory"),
        ({"shared_memory_free_bytes": 10**6}, "0.0 GiB of /dev/shm"),
        ({"processes": 1024}, "1,024 threads"),
        ({"pid_max": 1024}, "1,024 threads"),
        ({"threads_max": 1024}, "1,024 threads"),
        ({"open_files": 4096}, "4,096 open files"),
    ],
)
def test_whatever_is_too_small_is_named(paper: NetworkConfig, limit: dict[str, int], here: str) -> None:
    assert shortfalls(shadow.demand(paper), ROOMY) == []
    ((_, has, _),) = shortfalls(shadow.demand(paper), replace(ROOMY, **limit))
    assert has == here
    unknown = replace(ROOMY, processes=None, pid_max=None, threads_max=None, open_files=None)
    assert shortfalls(shadow.demand(paper), unknown) == []


def test_an_outlook_says_which_configurations_do_not_fit(paper: NetworkConfig) -> None:
    found = outlook("shadow", replace(ROOMY, available_bytes=2 * 10**9), known_networks(NETWORKS))
    assert found.networks["ci"] == ""
    needed = shadow.demand(paper).memory_bytes / 2**30
    assert f"{needed:.1f} GiB of memory needed, 1.9 GiB of memory here" in found.networks["paper"]
