"""Archives: tarballs of source, and zips of published results.

In: a tarball or a zip, and a folder for what it holds; or a folder, for a zip of files in it.
"""

from __future__ import annotations

import errno
import io
import itertools
import lzma
import os
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from torsweep.errors import InputError
from torsweep.formats.files import reason, require_regular

_TAR_DAMAGE = (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError, ValueError, KeyError, OSError)
_ZIP_DAMAGE = (zipfile.BadZipFile, EOFError, zlib.error, ValueError, KeyError, NotImplementedError, OSError)


def unpack_tarball(tarball: Path, folder: Path) -> None:
    """Unpack ``tarball`` into ``folder``; what an archive that is refused has left there is removed. An
    OSError means that ``folder`` cannot take the files."""
    require_regular(tarball)
    try:
        with tarfile.open(tarball) as archive:
            # Python's own rules come on top, from 3.11.4 on: Debian 12's has none.
            archive.extraction_filter = getattr(tarfile, "data_filter", lambda member, path: member)
            archive.extractall(folder, _contained(archive))
    except _TAR_DAMAGE as error:
        # gzip and bzip2 tell of damaged content with an OSError that has no number of the system's.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        shutil.rmtree(folder, ignore_errors=True)
        accepted = "a tarball, plain or packed with gzip, bzip2 or xz"
        raise InputError(f"cannot be unpacked: {reason(error)}", file=tarball, accepted=accepted) from error


def _contained(archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """The members of ``archive``, which belong to whoever unpacks them and get no set-user-ID bits;
    tarfile.TarError for a device, for what leads out of the folder, and for what goes through a link."""
    links: set[PurePosixPath] = set()
    for member in archive:
        path, target = PurePosixPath(member.name), PurePosixPath(member.linkname)
        if not (member.isreg() or member.isdir() or member.issym() or member.islnk()):
            raise tarfile.TarError(f"{member.name!r} is neither a file, nor a folder, nor a link")
        if _leaves(path) or links.intersection([path, *path.parents]):
            raise tarfile.TarError(f"{member.name!r} leads out of the folder or through a link")
        if member.islnk() and (_leaves(target) or links.intersection([target, *target.parents])):
            raise tarfile.TarError(f"the link {member.name!r} leads out of the folder or through a link")
        if member.issym():
            # What only begins with its steps upwards cannot take them from where another link leads.
            upwards = len(list(itertools.takewhile("..".__eq__, target.parts)))
            if upwards >= len(path.parts) or _leaves(PurePosixPath(*target.parts[upwards:])):
                raise tarfile.TarError(f"the link {member.name!r} leads out of the folder")
            links.add(path)
        member.uid, member.gid, member.uname, member.gname = os.geteuid(), os.getegid(), "", ""
        member.mode = 0o755 if member.isdir() else member.mode & 0o755 | 0o600
        yield member


def _leaves(path: PurePosixPath) -> bool:
    """Whether ``path``, from a folder on, may lead out of it."""
    return path.is_absolute() or ".." in path.parts


def members(opened: IO[bytes]) -> Iterator[IO[bytes]]:
    """The files of the tarball ``opened``, in order, or ``opened`` itself if it is not a tarball."""
    head = opened.peek(tarfile.BLOCKSIZE)[: tarfile.BLOCKSIZE]  # type: ignore[attr-defined]
    if head[257:262] != b"ustar":
        yield opened
        return
    with tarfile.open(fileobj=opened, mode="r|") as archive:
        while member := archive.next():
            content = archive.extractfile(member)
            if content is not None:
                yield io.BytesIO(content.read())
            # What has been read is forgotten: a month of descriptors has half a million files.
            archive.members.clear()  # type: ignore[attr-defined]


def write_zip(folder: Path, names: Iterable[str], zip_file: Path) -> None:
    """Write the files ``names`` of ``folder`` to ``zip_file``, in this order."""
    with zipfile.ZipFile(zip_file, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as archive:
        for name in names:
            archive.write(folder / name, name)


def unpack_zip(zip_file: Path, folder: Path) -> None:
    """Unpack ``zip_file`` into ``folder``; InputError when it is no zip or is damaged."""
    require_regular(zip_file)
    try:
        with zipfile.ZipFile(zip_file) as archive:
            archive.extractall(folder)
    except _ZIP_DAMAGE as error:
        # A zip whose places lead nowhere raises EINVAL, about no file. A full disk is no fault of the zip's.
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise
        raise InputError(f"is no whole zip: {reason(error)}", file=zip_file) from error
