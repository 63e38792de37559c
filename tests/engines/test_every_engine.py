"""The same scenario in every engine: what must come out whichever it was."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import sys
from pathlib import Path

import polars as pl
import pytest

from tests.engines import chain_scenario
from torsweep.config.tracing import Tracing
from torsweep.engines.contract import engine_names
from torsweep.engines.registry import ENGINES, find_engine
from torsweep.engines.run_spec import UserLines, UserOptions, read_run, write_run
from torsweep.engines.selection import lacking
from torsweep.engines.tools import find_own_program
from torsweep.provenance import sha256_of_file
from torsweep.tor.builds import BuiltTor, read_build

MARKS = {"shadow": pytest.mark.shadow, "emulation": pytest.mark.real_time}


def require_engine(request: pytest.FixtureRequest, engine: str) -> str:
    """The engine's name as its runs have it; a test that needs it is skipped where it is not."""
    if engine != "cellsim":
        request.getfixturevalue("built_tor")
    if engine == "emulation":
        request.getfixturevalue("emulation")
    elif lack := lacking(engine):
        pytest.skip(f"needs {engine}: {lack}")
    return find_engine(engine).here()


def command_of(engine: str) -> list[str]:
    """The command that runs a folder in ``engine``."""
    program, *rest = find_engine(engine).command.split()
    if program == "torsweep":
        return [sys.executable, "-m", "torsweep", *rest, "run"]
    return [str(find_own_program("cellsim")), "run"]


@pytest.mark.parametrize(
    ("engine", "era"),
    [
        pytest.param(name, era, marks=MARKS.get(name, ()))
        for name in engine_names()
        for era in ("2012", "today")
        # The emulation of 2012 runs in test_emulation.
        if (name, era) != ("emulation", "2012")
    ],
)
def test_three_streams_on_one_circuit(request, tmp_path, engine, era):
    kind = require_engine(request, engine)
    folder = chain_scenario.prepare(tmp_path, kind, era, traced=True)
    chain_scenario.play(command_of(engine), folder)
    provenance = chain_scenario.check(folder)
    # cellsim's provenance names no engine: run.json does.
    assert provenance.get("engine", kind) == kind
    chain_scenario.check_cells(folder)
    chain_scenario.check_breakdown(folder)


@pytest.mark.parametrize(
    "engine", [pytest.param(name, marks=MARKS[name]) for name in engine_names() if name in MARKS]
)
@pytest.mark.parametrize("size", [900, 99_600])
def test_a_download_has_the_cells_that_it_has_in_the_model(request, tmp_path, engine, size):
    """BEGIN, CONNECTED, request, answer. Today's tor has room for 488 bytes in a cell, the model for 498, and
    SENDMEs stand a little earlier or later among the cells of a long answer. TGen's request has six cells."""
    found = []
    for name in (engine, "cellsim"):
        kind = require_engine(request, name)
        folder = chain_scenario.prepare(tmp_path / name, kind, "today", traced=True, streams=1, size=size)
        chain_scenario.play(command_of(name), folder)
        found.append(re.sub("^oio+", "oio", chain_scenario.directions(folder)))
    real, model = found
    assert real[:4] == model[:4] == "oioi"
    assert real.count("o") == model.count("o")
    if size < 976:
        assert real == model == "oioii"
    assert real.count("i") == pytest.approx(model.count("i"), rel=0.05)


def _two_builds(built: BuiltTor, tools: Path) -> tuple[BuiltTor, BuiltTor]:
    """Copies of ``built`` and, with another version in its program, of a tor that is otherwise the same."""
    version = built.provenance["version"]
    other = f"{version[:-1]}{(int(version[-1]) + 1) % 10}"
    found = []
    for name in (version, other):
        folder = tools / name
        shutil.copytree(built.folder / "bin", folder / "bin")
        program = folder / "bin" / "tor"
        program.write_bytes(program.read_bytes().replace(version.encode(), name.encode()))
        provenance = {**built.provenance, "version": name, "program_sha256": sha256_of_file(program)}
        (folder / "provenance.json").write_text(json.dumps(provenance))
        whole = read_build(folder.rename(tools / BuiltTor(folder, provenance).version))
        assert whole is not None
        found.append(whole)
    return found[0], found[1]


def _log(run: Path, host: str) -> str:
    """What tor said on ``host``, in either engine of real tor."""
    shadows = [*run.glob(f"shadow/data/hosts/{host}/tor.*.stdout.gz")]
    return (
        gzip.decompress(shadows[0].read_bytes()).decode()
        if shadows
        else (run / "processes" / host / "log").read_text()
    )


@pytest.mark.parametrize(
    "engine",
    [pytest.param(name, marks=MARKS.get(name, ())) for name, one in ENGINES.items() if one.runs_tor],
)
def test_hosts_run_builds_of_their_own_are_told_what_the_user_gives_and_have_their_packets_kept(
    request, tmp_path, monkeypatch, engine
):
    kind = require_engine(request, engine)
    built: BuiltTor = request.getfixturevalue("built_tor")
    usual, other = _two_builds(built, tmp_path / "results" / "tools" / "tor")
    folder = chain_scenario.prepare(tmp_path, kind, "today")
    given = UserOptions(
        torrc=(UserLines(lines={"KISTSchedRunInterval": "5 msec"}, hosts=("relay3",)),),
        consensus={"cc_alg": 0, "of_mine": 77},
    )
    update: dict[str, object] = {
        "tor_build": usual.version,
        "other_builds": {other.version: ("relay2",)},
        "given": given,
    }
    # A minimal Debian has no tcpdump, which the emulation takes packets with.
    packets = ("relay2",) if kind != "emulation" or shutil.which("tcpdump") else ()
    if packets:
        update["tracing"] = Tracing(packets=packets)
    write_run(read_run(folder).model_copy(update=update), folder)
    monkeypatch.chdir(tmp_path)
    rest = find_engine(engine).command.split()[1:]
    chain_scenario.play([sys.executable, "-m", "torsweep", *rest, "run"], folder)
    provenance = chain_scenario.check(folder)
    assert provenance["tor"]["build"] == usual.version
    assert [(one["build"], one["hosts"]) for one in provenance["other_tors"]] == [(other.version, ["relay2"])]
    assert provenance["engine_version"].endswith(f"tor {usual.version} and {other.version}")
    assert provenance["consensus_params"].items() >= {"cc_alg": 0, "of_mine": 77, "cfx_enabled": 0}.items()
    settings = pl.read_parquet(folder / "settings.parquet").filter(pl.col("wanted").is_not_null())
    assert settings.filter(pl.col("setting") != "program", pl.col("wanted") != pl.col("found")).is_empty()
    told = {(role, name, wanted): hosts for role, _, name, wanted, _, hosts in settings.rows()}
    assert told["relay", "KISTSchedRunInterval", "5"] == 1
    assert told["client", "cc_alg", "0"] == 1
    assert told["relay", "of_mine", "77"] == 3
    assert told["relay", "tor", other.version] == 1
    versions = {host: _log(folder, host) for host in chain_scenario.HOSTS}
    assert f"Tor {other.provenance['version']} " in versions.pop("relay2")
    assert all(f"Tor {usual.provenance['version']} " in log for log in versions.values())
    for host in packets:
        assert list(provenance["programs"]) == [f"{host}/eth0.pcap"]
        capture = (folder / "programs" / host / "eth0.pcap").read_bytes()
        assert capture[:4] == bytes.fromhex("d4c3b2a1")
        assert len(capture) > 50_000
