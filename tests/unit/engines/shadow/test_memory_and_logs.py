"""Memory of processes, and what is left of a simulation's logs."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

from torsweep.engines.shadow.simulate import compress_logs
from torsweep.engines.tor_tables import group_pids, resident_bytes


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
