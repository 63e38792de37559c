"""Zip files, in the one form in which torsweep writes them.

In: files by name. Out: a zip that is the same, byte for byte, wherever it is made: files are stored as they
are, in a given order, with one date and one set of rights. Or, the other way, a folder with what such a zip
holds; InputError when it is none, or leads out of the folder.

Nothing is compressed: what a compressor makes of the same bytes depends on its version. A stored file cannot
unpack to more than the zip has bytes.
"""

from __future__ import annotations

import re
import shutil
import struct
import zipfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from torsweep.errors import InputError
from torsweep.formats.files import reason, require_regular, size
from torsweep.formats.limits import MOST_BUNDLE_BYTES, MOST_BUNDLE_FILES

_DATE = (1980, 1, 1, 0, 0, 0)
_UNIX, _RIGHTS = 3, 0o100644 << 16
_NAME = re.compile(r"(?=.{1,200}$)(?!\.)[A-Za-z0-9_.,=-]+(/(?!\.)[A-Za-z0-9_.,=-]+)*")
_DAMAGE = (
    zipfile.BadZipFile,
    EOFError,
    ValueError,
    KeyError,
    NotImplementedError,
    RuntimeError,
    struct.error,
)


def write_zip(folder: Path, names: Sequence[str], zip_file: Path) -> None:
    """Write the files ``names`` of ``folder`` to ``zip_file``, in this order.

    Raises InputError when they are too large for a bundle.
    """
    if sum((folder / name).stat().st_size for name in names) > MOST_BUNDLE_BYTES:
        raise InputError(
            "is too large to be packed", file=folder, accepted=f"at most {size(MOST_BUNDLE_BYTES)}"
        )
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
    except _DAMAGE as error:
        raise InputError(f"is no whole zip: {reason(error)}", file=zip_file) from error
    except OSError as error:
        # A zip whose places lead nowhere is told by an OSError about no file.
        if error.filename is not None:
            raise
        raise InputError(f"is no whole zip: {reason(error)}", file=zip_file) from error


def _check(entries: Sequence[zipfile.ZipInfo], zip_file: Path) -> None:
    names = [entry.filename for entry in entries]
    for entry in entries:
        if not _NAME.fullmatch(entry.filename):
            accepted = "paths below the bundle, of at most 200 letters, digits and _ . , = -"
            raise InputError(
                "holds a file of another name", file=zip_file, value=entry.filename, accepted=accepted
            )
        if entry.compress_type != zipfile.ZIP_STORED or entry.compress_size != entry.file_size:
            accepted = "files stored as they are; unpack it, and verify the folder"
            raise InputError("was packed by another program", file=zip_file, accepted=accepted)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError("holds a file twice", file=zip_file, value=twice)
    folders = {str(folder) for name in names for folder in PurePosixPath(name).parents}
    if both := folders.intersection(names):
        raise InputError("holds a file and a folder of one name", file=zip_file, value=min(both))
    if len(names) > MOST_BUNDLE_FILES or sum(entry.file_size for entry in entries) > MOST_BUNDLE_BYTES:
        accepted = f"at most {MOST_BUNDLE_FILES} files and {size(MOST_BUNDLE_BYTES)}"
        raise InputError("holds too much", file=zip_file, accepted=accepted)
