"""Releases: what is verified against what, and what is said when it does not match."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

import pytest

from tests.stand_ins import executable
from torsweep.errors import InputError, ToolMissing
from torsweep.tor import release
from torsweep.tor.release import PACKAGE, as_sources, find_release, unpack


def test_a_tarball_is_checked_against_the_checksum_given(tarball, tmp_path):
    good = hashlib.sha256(tarball.read_bytes()).hexdigest()
    assert find_release(tarball, tmp_path, good.upper()).verified_by == "the checksum given"
    assert find_release(tarball, tmp_path).verified_by.startswith("nothing: ")
    with pytest.raises(InputError, match=f"wrong checksum: SHA-256 is {good}; accepted: 000"):
        find_release(tarball, tmp_path, "0" * 64)


def test_a_tarball_of_another_program_is_refused(tree, tarball, tmp_path):
    assert unpack(find_release(tarball, tmp_path), tmp_path / "tor") == "0.4.9.11"
    (tree / "configure").write_text("PACKAGE_NAME='vidalia'\nPACKAGE_VERSION='1'\n")
    subprocess.run(["tar", "czf", tarball, "-C", tmp_path, tree.name], check=True)
    with pytest.raises(InputError, match="is no source of tor"):
        unpack(find_release(tarball, tmp_path), tmp_path / "copy")


def test_a_broken_tarball_is_named(tarball, tmp_path):
    tarball.write_bytes(tarball.read_bytes()[:100])
    with pytest.raises(InputError, match="cannot be unpacked"):
        unpack(find_release(tarball, tmp_path), tmp_path / "copy")


@pytest.mark.parametrize("name", ["missing.tar.gz", "folder"])
def test_a_source_that_is_none_is_named(tmp_path, name):
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match=f"{name}: no such file; accepted: a tarball"):
        find_release(tmp_path / name, tmp_path)


def test_without_apt_the_message_names_the_other_ways(monkeypatch, tmp_path):
    monkeypatch.setattr(release.shutil, "which", lambda program: None)
    with pytest.raises(ToolMissing, match=r"--source PATH, or --config tor_source=PATH") as raised:
        find_release(None, tmp_path / "tools" / "downloads")
    assert raised.value.exit_code == 3


LIST = """# the archive
deb [signed-by=/usr/share/keyrings/a.gpg] http://archive.example/debian stable main # comment
deb-src http://archive.example/debian stable main
#deb http://off.example/ s main
"""
STANZAS = "Enabled: no\nTypes: deb deb-src\nURIs: http://a.example/\nSuites: s\nSigned-By:\n .\n abc\n"


def test_archives_of_programs_become_archives_of_sources():
    assert as_sources(LIST).splitlines()[1:] == [
        "deb-src [signed-by=/usr/share/keyrings/a.gpg] http://archive.example/debian stable main # comment",
        "deb-src http://archive.example/debian stable main",
        "#deb http://off.example/ s main",
    ]
    assert as_sources(STANZAS) == STANZAS.replace("deb deb-src", "deb-src")


def _apt(folder: Path, source: str) -> None:
    """Stand-ins for apt's programs, in a shell; ``source`` is what `apt-get source` does."""
    get = f'case "$*" in *--download-only*) {source};; esac'
    for name, script in {"apt-get": get, "apt-config": ":"}.items():
        executable(folder / name, f"#!/bin/sh\n{script}\n")


def test_debians_tarball_is_fetched_once_and_appears_as_a_whole(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    _apt(tmp_path, "echo half > tor_0.4.9.11.orig.tar.gz; echo 'E: no route' >&2; exit 100")
    downloads = tmp_path / "tools/downloads"
    with pytest.raises(ToolMissing, match=r"apt gives no source of tor \(no route\); name a tarball"):
        find_release(None, downloads)
    assert not (downloads / PACKAGE).exists()
    _apt(tmp_path, "echo whole > tor_0.4.9.11.orig.tar.gz; touch tor_0.4.9.11.orig.tar.gz.asc")
    found = find_release(None, downloads)
    assert (found.path, found.path.read_text()) == (
        downloads / PACKAGE / "tor_0.4.9.11.orig.tar.gz",
        "whole\n",
    )
    _apt(tmp_path, "exit 100")
    assert find_release(None, downloads) == found
