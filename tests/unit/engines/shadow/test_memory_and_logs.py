"""What a simulation takes of memory, and what is left of its logs."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from torsweep.engines.costs import group_pids, resident_bytes
from torsweep.engines.shadow import simulate as memory
from torsweep.engines.shadow.layout import compress_logs
from torsweep.engines.shadow.simulate import GraphHost, Process, ShadowSimulation
from torsweep.errors import TorsweepError


def _simulation(clients: int) -> ShadowSimulation:
    processes = [Process(f"/opt/{name}", [], 0) for name in ("tor", "tgen", "oniontrace")]
    hosts = {f"web{n}": GraphHost(n, "", processes) for n in range(clients)}
    return ShadowSimulation(hosts, stop_ns=1, seed=1)


def test_memory_grows_with_hosts_and_their_processes() -> None:
    one, two = (memory.projected_bytes(_simulation(clients)) for clients in (1, 2))
    assert two - one == memory.HOST_BYTES + sum(memory.PROGRAM_BYTES.values())


def test_a_network_that_does_not_fit_is_refused_before_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    simulation = _simulation(1000)
    needed = memory.projected_bytes(simulation)
    machine = SimpleNamespace(available_bytes=needed + memory.LEAST_AVAILABLE_BYTES)
    monkeypatch.setattr(memory, "read_machine", lambda: machine)
    memory.require_memory(simulation)
    machine.available_bytes = 10**9
    with pytest.raises(TorsweepError, match=r"1000 hosts need up to .* GB, 1\.0 GB are available"):
        memory.require_memory(simulation)


def test_memory_of_a_process_group_is_found() -> None:
    pids = group_pids(os.getpgrp())
    assert os.getpid() in pids
    assert resident_bytes([os.getpid()]) > 1_000_000
    assert resident_bytes([2**30]) == 0


def test_logs_are_compressed_and_what_can_be_made_again_goes(tmp_path: Path) -> None:
    host = tmp_path / "data/hosts/web1"
    (host / "keys").mkdir(parents=True)
    (host / "keys" / "secret").write_text("x")
    (host / "cached-certs").write_text("x")
    (host / "tor.1000.stdout").write_text("a line\n" * 100)
    (host / "tor.1000.stderr").write_text("")
    (host / "tgen.graphml").write_text("<graphml/>")
    (tmp_path / "template").mkdir()
    (tmp_path / "graph.gml").write_text("graph")
    compress_logs(tmp_path)
    assert sorted(path.name for path in host.iterdir()) == ["tgen.graphml.gz", "tor.1000.stdout.gz"]
    assert gzip.decompress((host / "tor.1000.stdout.gz").read_bytes()) == b"a line\n" * 100
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data"]


def test_compression_that_was_interrupted_goes_on_from_the_plain_log(tmp_path: Path) -> None:
    host = tmp_path / "data/hosts/web1"
    host.mkdir(parents=True)
    (host / "tor.1000.stdout").write_text("whole\n")
    (host / "tor.1000.stdout.gz").write_bytes(b"half")
    done = gzip.compress(b"done\n")
    (host / "tgen.1001.stdout.gz").write_bytes(done)
    compress_logs(tmp_path)
    assert gzip.decompress((host / "tor.1000.stdout.gz").read_bytes()) == b"whole\n"
    assert (host / "tgen.1001.stdout.gz").read_bytes() == done
