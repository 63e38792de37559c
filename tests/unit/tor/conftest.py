"""A source tree of a few lines that calls itself tor, a patch for it, and the package it comes in."""

from __future__ import annotations

import hashlib
import tarfile
from pathlib import Path

import pytest

CONFIGURE = "#!/bin/sh\nPACKAGE_NAME='tor'\nPACKAGE_VERSION='0.4.9.11'\n"
CLOCK = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n"
PATCH = """Count differently

--- a/src/clock.c
+++ b/src/clock.c
@@ -2,7 +2,7 @@
 two
 three
 four
-five
+5
 six
 seven
 eight
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The source tree."""
    folder = tmp_path / "tor-0.4.9.11"
    (folder / "src").mkdir(parents=True)
    (folder / "configure").write_text(CONFIGURE)
    (folder / "src" / "clock.c").write_text(CLOCK)
    return folder


@pytest.fixture
def tarball(tree: Path, tmp_path: Path) -> Path:
    """The source tree as a release tarball."""
    file = tmp_path / "tor_0.4.9.11.orig.tar.gz"
    with tarfile.open(file, "w:gz") as archive:
        archive.add(tree, arcname=tree.name)
    return file


@pytest.fixture
def package(tarball: Path, tmp_path: Path) -> Path:
    """The .dsc of a source package of the tarball and a second file."""
    second = tmp_path / "tor_0.4.9.11-1.diff.gz"
    second.write_bytes(b"debian's files")
    lines = "".join(
        f" {hashlib.sha256(file.read_bytes()).hexdigest()} {file.stat().st_size} {file.name}\n"
        for file in (tarball, second)
    )
    description = tmp_path / "tor_0.4.9.11-1.dsc"
    description.write_text(
        "Format: 1.0\nSource: tor\nVersion: 0.4.9.11-1\n"
        "Checksums-Sha1:\n 00 1 tor_0.4.9.11.orig.tar.gz\n"
        f"Checksums-Sha256:\n{lines}Files:\n 11 1 tor_0.4.9.11.orig.tar.gz\n"
    )
    return description


@pytest.fixture
def series_folder(tmp_path: Path) -> Path:
    """A series of the one patch."""
    folder = tmp_path / "patches"
    folder.mkdir()
    (folder / "series").write_text("# in order\nclock.patch\n")
    (folder / "clock.patch").write_text(PATCH)
    return folder
