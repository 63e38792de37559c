"""Tarballs of source unpack within their folder, whether Python has ``tarfile.data_filter`` or not."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest

from torsweep.errors import InputError
from torsweep.formats.archives import unpack_tarball


@pytest.fixture(params=["with a filter", "without"], autouse=True)
def python(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Debian 12 has Python 3.11.2, whose tarfile has no filters."""
    if request.param == "without" and hasattr(tarfile, "data_filter"):
        monkeypatch.delattr(tarfile, "data_filter")


def tarball(folder: Path, **fields: object) -> Path:
    """A tarball with one executable file, or what ``fields`` of its TarInfo make of it."""
    member = tarfile.TarInfo("tor/configure")
    member.size, member.mode, member.uid = 5, 0o4777, 12345
    for name, value in fields.items():
        setattr(member, name, value)
    path = folder / "tor.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        archive.addfile(member, io.BytesIO(b"hello"))
    return path


def test_a_file_belongs_to_who_unpacks_it(tmp_path: Path) -> None:
    unpack_tarball(tarball(tmp_path), tmp_path / "out")
    found = tmp_path / "out/tor/configure"
    assert found.read_text() == "hello"
    assert (found.stat().st_uid, found.stat().st_mode & 0o7777) == (os.getuid(), 0o755)


def test_who_unpacks_a_file_may_read_it_whatever_its_mode(tmp_path: Path) -> None:
    unpack_tarball(tarball(tmp_path, mode=0), tmp_path / "out")
    assert (tmp_path / "out/tor/configure").stat().st_mode & 0o7777 == 0o600


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "../configure"},
        {"name": "tor/link", "type": tarfile.SYMTYPE, "linkname": "../../passwd", "size": 0},
        {"name": "tor/pipe", "type": tarfile.FIFOTYPE, "size": 0},
    ],
)
def test_what_leads_out_of_the_folder_is_refused(tmp_path: Path, fields: dict[str, object]) -> None:
    with pytest.raises(InputError, match=r"cannot be unpacked"):
        unpack_tarball(tarball(tmp_path, **fields), tmp_path / "out")
    assert not (tmp_path / "out").exists()
