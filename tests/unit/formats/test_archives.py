"""Tarballs of source unpack within their folder, and belong to whoever unpacks them."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest

from torsweep.errors import InputError
from torsweep.formats.archives import unpack_tarball


def tarball(folder: Path, name: str = "tor/configure") -> Path:
    """A tarball with one executable file of this name."""
    member = tarfile.TarInfo(name)
    member.size, member.mode, member.uid = 5, 0o4777, 12345
    path = folder / "tor.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        archive.addfile(member, io.BytesIO(b"hello"))
    return path


def test_a_file_belongs_to_who_unpacks_it(tmp_path: Path) -> None:
    unpack_tarball(tarball(tmp_path), tmp_path / "out")
    file = tmp_path / "out/tor/configure"
    assert file.read_text() == "hello"
    assert (file.stat().st_uid, file.stat().st_mode & 0o7777) == (os.getuid(), 0o755)


def test_what_leads_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot be unpacked"):
        unpack_tarball(tarball(tmp_path, "../configure"), tmp_path / "out")
    assert not (tmp_path / "out").exists()
