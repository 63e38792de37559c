"""Tarballs of source unpack within their folder, and belong to whoever unpacks them."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest

from torsweep.errors import InputError
from torsweep.formats.archives import unpack_tarball

Change = dict[str, str | bytes | int]


@pytest.fixture(params=["as it is", "without filters"], autouse=True)
def python(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """This Python, and one before 3.11.4, which takes every member of a tarball as it is."""
    if request.param == "without filters":
        monkeypatch.delattr(tarfile, "data_filter", raising=False)


def tarball(folder: Path, *members: Change) -> Path:
    """A tarball of files ``tor/configure`` with these changes; a file has five bytes."""
    path = folder / "tor.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for changes in members:
            member = tarfile.TarInfo("tor/configure")
            member.mode, member.uid, member.gid, member.uname = 0o4777, 12345, 12345, "games"
            for name, value in changes.items():
                setattr(member, name, value)
            member.size = 5 if member.isreg() else 0
            archive.addfile(member, io.BytesIO(b"hello"))
    return path


def test_a_file_belongs_to_who_unpacks_it(tmp_path: Path) -> None:
    folder: Change = {"name": "tor", "type": tarfile.DIRTYPE, "mode": 0o2777}
    unpack_tarball(tarball(tmp_path, folder, {}), tmp_path / "out")
    file = tmp_path / "out/tor/configure"
    assert file.read_text() == "hello"
    for path in (file, file.parent):
        assert (path.stat().st_uid, path.stat().st_gid) == (os.getuid(), os.getgid())
        assert path.stat().st_mode & 0o7777 == 0o755


def test_links_within_the_folder_stay(tmp_path: Path) -> None:
    above: Change = {"name": "tor/m4/above", "type": tarfile.SYMTYPE, "linkname": "../configure"}
    same: Change = {"name": "tor/same", "type": tarfile.LNKTYPE, "linkname": "tor/configure"}
    unpack_tarball(tarball(tmp_path, {}, above, same), tmp_path / "out")
    assert {(tmp_path / "out/tor" / name).read_text() for name in ("m4/above", "same")} == {"hello"}


def symbolic(name: str, target: str) -> Change:
    return {"name": name, "type": tarfile.SYMTYPE, "linkname": target}


@pytest.mark.parametrize(
    "members",
    [
        [{"name": "../configure"}],
        [{"name": "/outside"}],
        [{"name": "tor/../../outside"}],
        [symbolic("tor/link", "/etc/passwd")],
        [symbolic("tor/link", "../../outside")],
        [symbolic("tor/a/link", "../.."), symbolic("tor/a/second", "link/../outside")],
        [symbolic("tor/here", "."), {"name": "tor/here/configure"}],
        [symbolic("tor/here", "."), {"name": "tor/here"}],
        [{"type": tarfile.LNKTYPE, "linkname": "../outside"}],
        [symbolic("tor/here", "."), {"type": tarfile.LNKTYPE, "linkname": "tor/here"}],
        [{"type": tarfile.CHRTYPE, "devmajor": 1, "devminor": 3}],
        [{"type": tarfile.FIFOTYPE}],
    ],
)
def test_what_may_reach_beyond_the_folder_is_refused(tmp_path: Path, members: list[Change]) -> None:
    (tmp_path / "outside").write_text("mine")
    with pytest.raises(InputError, match=r"cannot be unpacked"):
        unpack_tarball(tarball(tmp_path, *members), tmp_path / "out")
    assert {path.name for path in tmp_path.iterdir()} == {"outside", "tor.tar.gz"}
    assert (tmp_path / "outside").read_text() == "mine"
