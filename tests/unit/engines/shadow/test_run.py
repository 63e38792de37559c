"""A run from the command line, up to where real tools are needed."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from torsweep.engines.cost_tables import Cost, group_pids, resident_bytes
from torsweep.engines.shadow import run
from torsweep.engines.shadow import tools as shadow_tools
from torsweep.engines.shadow.run import read_starts
from torsweep.engines.shadow.simulate import Layout, ShadowSettings, compress_logs
from torsweep.engines.shadow.tools import RoundTrips, ShadowTools
from torsweep.engines.shadow.watch import CostWatch
from torsweep.engines.table_schema import COSTS, validate
from torsweep.errors import InputError, ToolMissing, TorsweepError
from torsweep.provenance import sha256_of_file
from torsweep.storage import write_text


def _say(_: str) -> None:
    pass


def test_a_folder_without_a_run_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"run\.json: no such file"):
        run.run_shadow(tmp_path, ShadowSettings(), _say)


def test_without_shadow_a_run_says_how_to_get_it(run_directory, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("TORSWEEP_SHADOW", raising=False)
    with pytest.raises(ToolMissing, match=r"^shadow: not on PATH.*how to install it: https://"):
        run.run_shadow(run_directory, ShadowSettings(), _say)


def test_a_network_that_has_changed_since_is_refused(run_directory, tools, tmp_path):
    file = tmp_path / "network" / "network.json"
    file.write_text(file.read_text().replace('"seed": 7', '"seed": 8'))
    said = r"network\.json: is not the network that run.json was .* prepare the run"
    with pytest.raises(InputError, match=said):
        run.write_run_directory(run_directory, ShadowSettings(), tools, _say)


def test_a_run_that_shadow_cannot_run_is_refused(run_directory):
    file = run_directory / "run.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "engine": "cellsim"}))
    with pytest.raises(InputError, match="engine: was prepared for another engine, got 'cellsim'"):
        run.run_shadow(run_directory, ShadowSettings(), _say)


def test_rates_that_are_mixed_up_are_refused(tools):
    right = {"down": 0.93 * shadow_tools.DOWN_BYTES_PER_S, "up": 0.97 * shadow_tools.UP_BYTES_PER_S}
    shadow_tools.check_rates(right, tools)
    mixed_up = {**right, "up": right["down"]}
    with pytest.raises(TorsweepError, match=r"wrong rates: 0\.25 MB/s up were asked for, 0\.930 MB/s"):
        shadow_tools.check_rates(mixed_up, tools)


def test_the_preflight_of_a_version_is_kept(tools, tmp_path, monkeypatch):
    measured = {"down": 0.95 * shadow_tools.DOWN_BYTES_PER_S, "up": 0.95 * shadow_tools.UP_BYTES_PER_S}
    measurements = iter([measured])
    monkeypatch.setattr(shadow_tools, "measure_rates", lambda _: next(measurements))
    for _ in range(2):
        assert shadow_tools.require_preflight(tools, _say, tmp_path / "kept") == measured


def test_the_version_that_figures_name_has_shadow_what_its_tcp_does_and_tor(tools):
    tor = tools.tors.usual.version
    assert tools.engine_version == f"3.3.0-199-gf1b, round trips measured, tor {tor}"
    as_released = replace(tools, round_trips=RoundTrips(100, 0))
    assert as_released.engine_version == f"3.3.0-199-gf1b, round trips not measured, tor {tor}"


def test_a_run_for_the_other_kind_of_shadow_is_refused(run_directory, tools, monkeypatch):
    as_released = replace(tools, round_trips=RoundTrips(100, 0))
    monkeypatch.setattr(run, "find_tools", lambda *_: as_released)
    message = r"round trips not measured, got 'shadow'; accepted: shadow-no-rtt; prepare the run again"
    with pytest.raises(InputError, match=message):
        run.run_shadow(run_directory, ShadowSettings(), _say)


@pytest.fixture
def simulated(
    run_directory: Path, tools: ShadowTools, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], list[str]]:
    """A run of which only the steps are noted; gives the steps so far."""
    steps: list[str] = []
    record = {
        "run_sha256": sha256_of_file(run_directory / "run.json"),
        "engine_version": tools.engine_version,
        "settings": ShadowSettings().as_provenance(),
    }

    def simulate(folder: Path, *_: object) -> dict[str, object]:
        steps.append("simulate")
        (folder / "shadow").mkdir(exist_ok=True)
        (folder / "shadow" / run.RECORD_FILE).write_text(json.dumps(record))
        watch = CostWatch([], {"web1": Cost(20_000, 5_000_000), "relay2": Cost(70_000, 9_000_000)})
        watch.write(folder / "shadow")
        Layout(0, 0, 0, {}, {}, {}, {}).write(folder / "shadow")
        return record

    def read(*_: object) -> dict[str, int]:
        steps.append("read")
        if steps == ["simulate", "read"]:
            raise InputError("is cut off", file="tgen.1000.stdout")
        return {"complete": 3}

    monkeypatch.setattr(run, "find_tools", lambda *_: tools)
    monkeypatch.setattr(run, "simulate_and_record", simulate)
    monkeypatch.setattr(run, "write_tables", read)
    monkeypatch.setattr(run, "simulated_programs", lambda *_: ())
    monkeypatch.setattr(run, "compress_logs", lambda _: 0)
    return lambda: steps


def test_a_simulation_that_lacks_only_its_tables_is_not_made_again(run_directory, simulated):
    with pytest.raises(InputError, match="is cut off"):
        run.run_shadow(run_directory, ShadowSettings(), _say)
    assert not (run_directory / "provenance.json").exists()
    run.run_shadow(run_directory, ShadowSettings(), _say)
    assert simulated() == ["simulate", "read", "read"]
    assert json.loads((run_directory / "provenance.json").read_text())["counters"] == {"complete": 3}
    costs = validate(pl.read_parquet(run_directory / "costs.parquet"), COSTS, run_directory)
    assert costs.drop("ready_us").rows() == [
        ("relay2", "relay", 70_000, 9_000_000),
        ("web1", "client", 20_000, 5_000_000),
    ]


def test_other_settings_are_simulated(run_directory, simulated):
    with pytest.raises(InputError):
        run.run_shadow(run_directory, ShadowSettings(), _say)
    run.run_shadow(run_directory, ShadowSettings(latency_floor_us=6_000), _say)
    assert simulated() == ["simulate", "read", "simulate", "read"]


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
        write_text(tmp_path / name, f"{text.rstrip()}\n")
    assert read_starts(tmp_path, ["web1", "web2", "web3", "web4"]) == {"web1": 2_250_000, "web2": 564_000}


def test_memory_of_a_process_group_is_found() -> None:
    pids = group_pids(os.getpgrp())
    assert os.getpid() in pids
    assert resident_bytes([os.getpid()]) > 1_000_000
    assert resident_bytes([2**30]) == 0


def test_logs_are_compressed_and_what_can_be_made_again_goes(tmp_path: Path) -> None:
    host = tmp_path / "data/hosts/web1"
    logs = {"tor.1000.stdout": "a line\n" * 100, "tor.1000.stderr": "", "tgen.graphml": "<graphml/>"}
    for name, text in {"keys/secret": "x", "cached-certs": "x", **logs}.items():
        write_text(host / name, text)
    (tmp_path / "template").mkdir()
    (tmp_path / "graph.gml").write_text("graph")
    compress_logs(tmp_path)
    assert sorted(path.name for path in host.iterdir()) == ["tgen.graphml.gz", "tor.1000.stdout.gz"]
    assert gzip.decompress((host / "tor.1000.stdout.gz").read_bytes()) == b"a line\n" * 100
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data"]


def test_compression_that_was_interrupted_goes_on_from_the_plain_log(tmp_path: Path) -> None:
    host = tmp_path / "data/hosts/web1"
    write_text(host / "tor.1000.stdout", "whole\n")
    (host / "tor.1000.stdout.gz").write_bytes(b"half")
    done = gzip.compress(b"done\n")
    (host / "tgen.1001.stdout.gz").write_bytes(done)
    compress_logs(tmp_path)
    assert gzip.decompress((host / "tor.1000.stdout.gz").read_bytes()) == b"whole\n"
    assert (host / "tgen.1001.stdout.gz").read_bytes() == done
