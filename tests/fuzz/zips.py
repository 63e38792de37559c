"""Zips that hold something else than their maker put there.

In: the bytes of a whole zip, and which of its files is to be what. Out: the bytes of a zip that any program
can read and that leads out of its folder, has a file twice, lacks one, or unpacks to more than it has.
"""

from __future__ import annotations

import io
import warnings
import zipfile
from collections.abc import Callable

NAMES = (
    *("../outside", "/outside", "a/../../outside", "..", ".", "a\\..\\b", "C:\\outside", "a//b", "./a"),
    *("figures/", ".torsweep", "README.md/x", "readme.MD", "é", "a b", "a\nb", "x" * 300, "a/" * 2000 + "x"),
)
"""Names that are none of a bundle's, or of a bundle's other files."""

BOMB_BYTES = 20_000_000
"""What a file of a few kilobytes says that it unpacks to."""

_LINK = 0o120777 << 16

Files = list[tuple[zipfile.ZipInfo, bytes]]


def damaged_zip(content: bytes, kind: str, where: float, choice: int) -> bytes:
    """``content`` with one file of it changed by ``kind``, one of :data:`ZIP_KINDS`.

    ``where`` is a fraction of the files, ``choice`` says with what.
    """
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        files = [(entry, archive.read(entry)) for entry in archive.infolist()]
    if files:
        _CHANGES[kind](files, int(where * len(files)), choice)
    made = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(made, "w") as archive:
        warnings.simplefilter("ignore", UserWarning)
        for entry, data in files:
            archive.writestr(entry, data)
    return made.getvalue()


def _entry(name: str, kind: int = zipfile.ZIP_STORED, rights: int = 0o100644 << 16) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name)
    entry.compress_type, entry.external_attr = kind, rights
    return entry


def _rename(files: Files, place: int, choice: int) -> None:
    files[place] = (_entry(NAMES[choice % len(NAMES)]), files[place][1])


def _add(files: Files, place: int, choice: int) -> None:
    files.insert(place, (_entry(f"{choice}.txt"), b"and one more"))


def _double(files: Files, place: int, choice: int) -> None:
    name, content = files[place][0].filename, files[place][1]
    files.insert(choice % (len(files) + 1), (_entry(name), content if choice % 2 else b"another"))


def _drop(files: Files, place: int, _choice: int) -> None:
    del files[place]


def _swap(files: Files, place: int, choice: int) -> None:
    other = choice % len(files)
    (one, first), (two, second) = files[place], files[other]
    files[place], files[other] = (one, second), (two, first)


def _move(files: Files, place: int, choice: int) -> None:
    files.insert(choice % len(files), files.pop(place))


def _compress(files: Files, place: int, _choice: int) -> None:
    files[place] = (_entry(files[place][0].filename, zipfile.ZIP_DEFLATED), files[place][1])


def _bomb(files: Files, place: int, _choice: int) -> None:
    files[place] = (_entry(files[place][0].filename, zipfile.ZIP_DEFLATED), bytes(BOMB_BYTES))


def _link(files: Files, place: int, choice: int) -> None:
    target = ("/etc/passwd", "../..", "README.md")[choice % 3].encode()
    files[place] = (_entry(files[place][0].filename, rights=_LINK), target)


_CHANGES: dict[str, Callable[[Files, int, int], None]] = {
    "rename_file": _rename,
    "add_file": _add,
    "double_file": _double,
    "drop_file": _drop,
    "swap_files": _swap,
    "move_file": _move,
    "compress_file": _compress,
    "bomb_file": _bomb,
    "link_file": _link,
}
ZIP_KINDS = tuple(_CHANGES)
