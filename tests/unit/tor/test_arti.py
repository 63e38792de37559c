"""What a build of Arti is made of, what is no Arti, and what a client that runs it is told."""

from __future__ import annotations

import base64
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.stand_ins import executable
from torsweep.config.eras import tor_settings
from torsweep.config.tors import TorSource
from torsweep.errors import InputError, ToolMissing
from torsweep.tor import arti
from torsweep.tor.arti_client import arti_toml, ed25519_identity
from torsweep.tor.build import build_tor, planned_key
from torsweep.tor.builds import find_build

RUST = "rustc 1.95.0 (59807616e 2026-04-14)"


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of programs on PATH: a rustc, and a cargo that installs what says it is Arti."""
    folder = tmp_path / "tools"
    folder.mkdir()
    write(folder / "rustc", f"echo '{RUST}'")
    write(
        folder / "cargo",
        f"""
        [ "$1" = info ] && {{ echo "error: could not find \\`$3\\` in registry" >&2; exit 101; }}
        echo "$@" >>{folder}/asked
        while [ "$1" != --root ]; do shift; done
        mkdir -p "$2/bin"; printf '#!/bin/sh\\necho arti 2.7.0\\n' >"$2/bin/arti"; chmod +x "$2/bin/arti"
        """,
    )
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return folder


def write(file: Path, script: str) -> Path:
    """A program that runs ``script``."""
    return executable(file, f"#!/bin/sh\n{script}\n")


def test_a_version_is_built_once_and_its_build_says_how(tools: Path, tmp_path: Path) -> None:
    source, out = TorSource(arti="2.7.0"), tmp_path / "out"
    built = build_tor(source, out, stamp=out / f"built-{planned_key(source)}")
    assert built.is_arti and built.version == f"arti-2.7.0-{planned_key(source)}"
    assert built.facts["configure"] == ["--features", "flowctl-cc"] and built.facts["rust"] == RUST
    assert find_build(out, built.version) == built == build_tor(source, out)
    asked = (tools / "asked").read_text()
    assert asked.count("install arti --version =2.7.0 --locked") == asked.count("\n") == 1


def test_a_repository_and_a_program_are_told_by_their_content(tools: Path, tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    (repository / "crates/arti").mkdir(parents=True)
    (repository / arti.CARGO_MANIFEST).write_text("")
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    for words in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "begin"]):
        subprocess.run(["git", "-C", str(repository), *words], check=True)
    built = build_tor(TorSource(arti=str(repository)), tmp_path / "out")
    assert built.is_arti and built.facts["source_commit"]
    program = write(tmp_path / "own", "echo arti 2.6.0")
    assert build_tor(TorSource(arti=str(program)), tmp_path / "out").version.startswith("arti-2.6.0-")


def test_what_is_no_arti_is_refused_in_one_line(tools: Path, tmp_path: Path) -> None:
    other = write(tmp_path / "other", "echo Tor version 0.4.9.11.")
    refusals = {
        str(other): "is no Arti; its answer to --version is: Tor version",
        str(tmp_path / "nothing"): "is no Arti, got .*; accepted: a version such as 2.7.0",
        str(tmp_path): "is no git repository",
        "9.9.9": "no such version of Arti, got '9.9.9'",
    }
    for text, line in refusals.items():
        with pytest.raises(InputError, match=line) as raised:
            arti.require_arti(TorSource(arti=text))
        assert "\n" not in str(raised.value)


@pytest.mark.parametrize("text", ["2.7.0.1", "٢.٧.٠", "2.7", "v2.7.0", "2.7.0 "])
def test_what_cargo_takes_for_no_version_is_none(text: str) -> None:
    assert not arti.is_version(text)


def test_a_version_that_nobody_can_be_asked_for_is_planned_and_the_plan_says_so(
    tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tools / "cargo", "echo error: Could not resolve host >&2; exit 101")
    assert "not checked" in arti.require_arti(TorSource(arti="2.7.8"))
    assert arti.require_arti(TorSource(arti=arti.TRIED)) == ""
    monkeypatch.setenv("PATH", "/nowhere")
    assert "cargo is not on PATH" in arti.require_arti(TorSource(arti="2.7.9"))


def test_a_rust_that_is_too_old_is_said_before_anything_is_built(tools: Path, tmp_path: Path) -> None:
    write(tools / "rustc", "echo rustc 1.85.1")
    with pytest.raises(ToolMissing, match=r"rustc 1\.85\.1: too old to build Arti, which needs 1\.92"):
        build_tor(TorSource(arti="2.7.0"), tmp_path / "out")
    assert not (tools / "asked").exists()


def test_a_client_is_told_of_the_network_and_of_what_the_era_gives_clients(tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.mkdir()
    (keys / "ed25519_master_id_public_key").write_bytes(bytes(32) + bytes(range(32)))
    identity = ed25519_identity(keys)
    assert base64.b64decode(f"{identity}=") == bytes(range(32))
    settings = tor_settings("2012", {"guards": "2"})
    caches = {"11.0.0.1:9001": ("A" * 40, identity)}
    text = arti_toml(settings, caches, {"authority1": "B" * 40}, "/data", 9050, {"guard-n-primary-guards": 5})
    told = tomllib.loads(text)
    (cache,) = told["tor_network"]["fallback_caches"]
    assert cache == {"rsa_identity": "A" * 40, "ed_identity": identity, "orports": ["11.0.0.1:9001"]}
    assert told["tor_network"]["authorities"]["v3idents"] == ["B" * 40]
    assert told["circuit_timing"]["max_dirtiness"] == "600 seconds"
    parameters = told["override_net_params"]
    assert parameters["guard-n-primary-guards-to-use"] == 2
    assert "guard-n-primary-guards" not in parameters, "the consensus has it from the user"
