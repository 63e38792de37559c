"""SHA256SUMS: the checksum of each file of a published result.

In: a folder. Out: the text of its SHA256SUMS, in the format of ``sha256sum``, in the order of the paths; or
what a SHA256SUMS says.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from torsweep.errors import InputError
from torsweep.formats.archives import MOST_BUNDLE_FILES
from torsweep.formats.files import MIB, read_bytes
from torsweep.provenance import sha256_of_file
from torsweep.storage.folders import MARKER
from torsweep.storage.published import README_FILE, SUMS_FILE

_LINE = re.compile(r"([0-9a-f]{64})  ([^\n]+)\n")
_MOST_BYTES = 8 * MIB


def bundle_files(folder: Path) -> Iterator[Path]:
    """Every file of the published result in ``folder``, in order, but for the marker of the folder.

    Raises InputError when something in it is neither a folder nor a regular file, or there are too many.
    """
    found = []
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(place, name)
            if path.is_symlink() or not (path.is_dir() or path.is_file()):
                raise InputError("is a link or a device", file=path, accepted="folders and files")
        found += [Path(place, name) for name in files if Path(place, name) != folder / MARKER]
        if len(found) > MOST_BUNDLE_FILES:
            raise InputError("holds too many files", file=folder, accepted=f"at most {MOST_BUNDLE_FILES}")
    yield from sorted(found, key=lambda path: path.relative_to(folder).as_posix())


def packing_order(names: Iterable[str]) -> list[str]:
    """``names`` in the order of a bundle: what to read first comes first."""
    return sorted(names, key=lambda name: (name != README_FILE, name))


def sums_text(folder: Path) -> str:
    """A line for each file in ``folder``, but for SHA256SUMS itself."""
    names = ((file, file.relative_to(folder).as_posix()) for file in bundle_files(folder))
    return "".join(f"{sha256_of_file(file)}  {name}\n" for file, name in names if name != SUMS_FILE)


def sums_size(names: Iterable[str]) -> int:
    """How many bytes the SHA256SUMS of files with ``names`` has."""
    return sum(len(f"{'':64}  {name}\n".encode()) for name in names)


def read_sums(folder: Path) -> dict[str, str]:
    """The checksums that ``folder`` says its files have, by path.

    Raises InputError when there is no SHA256SUMS, or it is not as :func:`sums_text` writes it.
    """
    file = folder / SUMS_FILE
    content = read_bytes(file, _MOST_BYTES, "no such file: this is no published result")
    text = content.decode("utf-8", errors="replace")
    found = {name: sha256 for sha256, name in _LINE.findall(text)}
    if text != "".join(f"{sha256}  {name}\n" for name, sha256 in sorted(found.items())):
        raise InputError("is damaged", file=file, accepted="a line each file, as torsweep writes them")
    return found
