"""How long a client took to start, by what its tor or its Arti says."""

from __future__ import annotations

from pathlib import Path

from torsweep.engines.shadow.run import read_starts

TOR = """Jan 01 00:00:45.000 [notice] Tor 0.4.9.11 running on Linux
Jan 01 00:00:47.250 [notice] Bootstrapped 75% (enough_dirinfo): Loaded enough directory info to build circuits
Jan 01 00:00:48.000 [notice] Bootstrapped 100% (done): Done
"""
ARTI = """2000-01-01T00:01:15.000Z  INFO arti::subcommands::proxy: Starting Arti 2.7.0 in proxy mode
2000-01-01T00:01:15.564Z  INFO tor_dirmgr: We have enough information to build circuits.
"""


def test_a_start_ends_when_the_client_can_build_circuits(tmp_path: Path) -> None:
    logs = {"web1/tor.1000.stdout": TOR, "web2/arti.1000.stderr": ARTI, "web3/tor.1000.stdout": TOR[:60]}
    for name, text in logs.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(f"{text.rstrip()}\n")
    assert read_starts(tmp_path, ["web1", "web2", "web3", "web4"]) == {"web1": 2_250_000, "web2": 564_000}
