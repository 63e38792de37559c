"""Every bit of a small bundle, and some of the bits of a larger one: is each that is changed found?

In: nothing, or how far apart the bits of the larger bundle are. Out: :class:`Flips`, one each for a zip and
for a folder: how many bits were changed, and the places of those that were not found.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from torsweep.bundle.description import sums_text
from torsweep.bundle.publish import pack
from torsweep.bundle.verify import check_files, opened
from torsweep.errors import InputError
from torsweep.storage.folders import SUMS_FILE

SMALL = {
    "README.md": "# A bundle\n",
    "experiment.yaml": "question: Is each changed bit found?\n",
    "provenance.json": '{"experiment": "pair"}\n',
    "summaries/claims.json": "{}\n",
    "tables/streams.parquet": "PAR1\n",
}
"""The checks of bytes do not read what is in the files."""


@dataclass(frozen=True)
class Flips:
    """Bits that were changed, one at a time, in so many bytes of ``what``."""

    what: str
    size: int
    changed: int
    missed: tuple[int, ...]


def small_bundle(scratch: Path) -> tuple[Path, Path]:
    """A published folder of a few hundred bytes in ``scratch``, and the zip of it."""
    folder = scratch / "small"
    for name, text in SMALL.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    (folder / SUMS_FILE).write_text(sums_text(folder), encoding="utf-8")
    pack(folder, scratch / "small.zip")
    return folder, scratch / "small.zip"


def found(bundle: Path) -> bool:
    """Whether the checks of bytes of ``torsweep verify`` find something in ``bundle``."""
    try:
        with opened(bundle) as (folder, packing):
            return bool(packing.problems or check_files(folder).problems)
    except InputError:
        return True


def flip_zip(zip_file: Path, bits: Iterable[int], what: str) -> Flips:
    """Change ``bits`` of a zip, one at a time."""
    whole = zip_file.read_bytes()
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch, zip_file.name)
        missed, changed = _flip(copy, whole, copy, bits)
    return Flips(what, len(whole), changed, missed)


def flip_folder(folder: Path, what: str) -> Flips:
    """Change every bit of every file in ``folder``, one at a time; each is as it was afterwards."""
    missed: tuple[int, ...] = ()
    size = changed = 0
    for file in sorted(file for file in folder.rglob("*") if file.is_file()):
        whole = file.read_bytes()
        more, tried = _flip(file, whole, folder, range(8 * len(whole)))
        missed, size, changed = missed + more, size + len(whole), changed + tried
    return Flips(what, size, changed, missed)


def _flip(file: Path, whole: bytes, bundle: Path, bits: Iterable[int]) -> tuple[tuple[int, ...], int]:
    missed, changed = [], 0
    try:
        for bit in bits:
            content = bytearray(whole)
            content[bit // 8] ^= 1 << bit % 8
            file.write_bytes(content)
            changed += 1
            if not found(bundle):
                missed.append(bit)
    finally:
        file.write_bytes(whole)
    return tuple(missed), changed


def all_flips(large: Path, apart: int) -> list[Flips]:
    """Every bit of a small bundle, as a zip and as a folder; each ``apart``-th bit of the zip ``large``."""
    with tempfile.TemporaryDirectory() as scratch:
        folder, zip_file = small_bundle(Path(scratch))
        small = range(8 * zip_file.stat().st_size)
        return [
            flip_zip(zip_file, small, "a small zip, every bit"),
            flip_folder(folder, "the same as a folder, every bit"),
            flip_zip(large, range(0, 8 * large.stat().st_size, apart), f"a plan's zip, each {apart:,}th bit"),
        ]
