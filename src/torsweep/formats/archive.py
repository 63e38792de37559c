"""Tarballs of source.

In: a tarball, a folder that is not there yet. Out: the folder with what the tarball holds; InputError when
it is none, is damaged, leads out of the folder, or unpacks to more than any release of tor.
"""

from __future__ import annotations

import lzma
import shutil
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from torsweep.errors import InputError
from torsweep.formats.files import reason, require_regular, size
from torsweep.formats.limits import MOST_SOURCE_BYTES, MOST_SOURCE_FILES

_DAMAGE = (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError, ValueError, KeyError)
_ACCEPTED = "a tarball, plain or packed with gzip, bzip2 or xz"


def unpack_tarball(tarball: Path, folder: Path) -> None:
    """Unpack ``tarball`` into ``folder``; what an archive that is refused has left there is removed.

    An OSError means that ``folder`` cannot take the files.
    """
    require_regular(tarball, MOST_SOURCE_BYTES)
    try:
        with tarfile.open(tarball) as archive:
            archive.extraction_filter = tarfile.data_filter
            members = list(_bounded(archive, tarball))
            archive.extractall(folder, members=members)
    except (*_DAMAGE, OSError) as error:
        # gzip and bzip2 tell of damaged content with an OSError that has no number of the system's.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        shutil.rmtree(folder, ignore_errors=True)
        raise InputError(f"cannot be unpacked: {reason(error)}", file=tarball, accepted=_ACCEPTED) from error
    except InputError:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _bounded(archive: tarfile.TarFile, tarball: Path) -> Iterator[tarfile.TarInfo]:
    unpacked = 0
    for files, member in enumerate(archive, start=1):
        unpacked += max(member.size, 0)
        if files > MOST_SOURCE_FILES or unpacked > MOST_SOURCE_BYTES:
            accepted = f"at most {MOST_SOURCE_FILES} files and {size(MOST_SOURCE_BYTES)}"
            raise InputError("unpacks to too much", file=tarball, accepted=accepted)
        yield member
