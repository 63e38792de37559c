"""A source tree of a few lines that calls itself tor, a patch for it, and the tarball it comes in."""

from __future__ import annotations

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
def series_folder(tmp_path: Path) -> Path:
    """A series of the one patch."""
    folder = tmp_path / "patches/tor"
    folder.mkdir(parents=True)
    (folder / "series").write_text("# in order\nclock.patch\n")
    (folder / "clock.patch").write_text(PATCH)
    return folder
