"""Archives: tarballs of source, and zips of published results.

In: a tarball or a zip, and a folder for what it holds; or files by name, for a zip that is the same, byte for
byte, wherever it is made. Files in a zip are not compressed: the output of a compressor depends on its
version, and a stored file cannot unpack to more than the zip has bytes.
"""

from __future__ import annotations

import lzma
import os
import re
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from torsweep.errors import InputError
from torsweep.formats.files import GIB, reason, require_regular, too_large

MOST_BUNDLE_BYTES, MOST_BUNDLE_FILES = 2 * GIB, 10_000
"""A published result: refill_sweep's has about 60 files and 30 MiB."""

MOST_SOURCE_BYTES, MOST_SOURCE_FILES = 2 * GIB, 50_000
"""What a tarball of source may unpack to; tor 0.4.9 has 40 MiB in 2,200 files."""

_TAR_DAMAGE = (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError, ValueError, KeyError)
_DATE = (1980, 1, 1, 0, 0, 0)
_UNIX, _RIGHTS = 3, 0o100644 << 16
_NAME = re.compile(r"(?=.{1,200}$)(?!\.)[A-Za-z0-9_.,=+-]+(/(?!\.)[A-Za-z0-9_.,=+-]+)*")


def unpack_tarball(tarball: Path, folder: Path) -> None:
    """Unpack ``tarball`` into ``folder``; what an archive that is refused has left there is removed.

    An OSError means that ``folder`` cannot take the files.
    """
    require_regular(tarball, MOST_SOURCE_BYTES)
    try:
        with tarfile.open(tarball) as archive:
            members = list(_bounded(archive, tarball))
            if hasattr(tarfile, "data_filter"):
                archive.extraction_filter = tarfile.data_filter
            else:  # Python before 3.11.4, such as that of Debian 12
                members = [_within_folder(member) for member in members]
            archive.extractall(folder, members=members)
    except (*_TAR_DAMAGE, OSError, InputError) as error:
        # gzip and bzip2 tell of damaged content with an OSError that has no number of the system's.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, InputError):
            raise
        accepted = "a tarball, plain or packed with gzip, bzip2 or xz"
        raise InputError(f"cannot be unpacked: {reason(error)}", file=tarball, accepted=accepted) from error


def _within_folder(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """``member``, owned by this user, as ``tarfile.data_filter`` has it; or a ValueError."""
    names = [member.name] + ([member.linkname] if member.issym() or member.islnk() else [])
    if any(PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts for name in names):
        raise ValueError(f"{member.name!r} leads out of the folder")
    if member.ischr() or member.isblk() or member.isfifo():
        raise ValueError(f"{member.name!r} is a special file")
    member.uid, member.gid, member.uname, member.gname = os.getuid(), os.getgid(), "", ""
    member.mode = member.mode & 0o755 | (0o700 if member.isdir() else 0o600)
    return member


def _bounded(archive: tarfile.TarFile, tarball: Path) -> Iterator[tarfile.TarInfo]:
    unpacked = 0
    for files, member in enumerate(archive, start=1):
        unpacked += max(member.size, 0)
        if files > MOST_SOURCE_FILES or unpacked > MOST_SOURCE_BYTES:
            raise too_large(tarball, MOST_SOURCE_BYTES, "unpacks to too much")
        yield member


def write_zip(folder: Path, names: Sequence[str], zip_file: Path) -> None:
    """Write the files ``names`` of ``folder`` to ``zip_file``, in this order.

    Raises InputError when they are too large for a bundle.
    """
    if sum((folder / name).stat().st_size for name in names) > MOST_BUNDLE_BYTES:
        raise too_large(folder, MOST_BUNDLE_BYTES)
    with zipfile.ZipFile(zip_file, "w", zipfile.ZIP_STORED) as archive:
        for name in names:
            entry = zipfile.ZipInfo(name, _DATE)
            entry.create_system, entry.external_attr = _UNIX, _RIGHTS
            entry.file_size = (folder / name).stat().st_size
            with (folder / name).open("rb") as source, archive.open(entry, "w") as target:
                shutil.copyfileobj(source, target)


def unpack_zip(zip_file: Path, folder: Path) -> list[str]:
    """Unpack ``zip_file`` into ``folder``; the names of its files, in their order.

    Raises InputError when it is no zip, is damaged, is packed in another way, or has a name that is none of a
    bundle's.
    """
    require_regular(zip_file, MOST_BUNDLE_BYTES)
    try:
        with zipfile.ZipFile(zip_file) as archive:
            entries = archive.infolist()
            _check(entries, zip_file)
            for entry in entries:
                archive.extract(entry, folder)
            return [entry.filename for entry in entries]
    except Exception as error:
        # zipfile raises many kinds for damage; a zip whose places lead nowhere, an OSError about no file.
        if isinstance(error, InputError) or getattr(error, "filename", None) is not None:
            raise
        raise InputError(f"is no whole zip: {reason(error)}", file=zip_file) from error


def _check(entries: Sequence[zipfile.ZipInfo], zip_file: Path) -> None:
    names = [entry.filename for entry in entries]
    folders = {str(folder) for name in names for folder in PurePosixPath(name).parents}
    wrong = [name for name in names if not _NAME.fullmatch(name) or name in folders]
    if wrong or len(set(names)) < len(names):
        accepted = "each path once, below the bundle, of at most 200 letters, digits and _ . , = + -"
        value = wrong[0] if wrong else max(names, key=names.count)
        raise InputError("holds no file of a bundle", file=zip_file, value=value, accepted=accepted)
    if any(one.compress_type != zipfile.ZIP_STORED or one.compress_size != one.file_size for one in entries):
        accepted = "files stored as they are; unpack it, and verify the folder"
        raise InputError("was packed by another program", file=zip_file, accepted=accepted)
    if len(names) > MOST_BUNDLE_FILES or sum(entry.file_size for entry in entries) > MOST_BUNDLE_BYTES:
        raise too_large(zip_file, MOST_BUNDLE_BYTES, f"holds more than {MOST_BUNDLE_FILES} files, or")
