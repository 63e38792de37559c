"""Patches for tor: the project's series and those of a user, and how they are applied.

In: a folder with a ``series``, or files. Out: :class:`Series`; a source tree with every patch applied.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from torsweep.errors import InputError, ToolMissing
from torsweep.home import find
from torsweep.provenance import sha256_of_file

SERIES = Path("patches/tor")
"""The project's own series: that of the study if it has one, else of the checkout (:mod:`torsweep.home`)."""


@dataclass(frozen=True)
class Series:
    """The patches in the order of application, and the SHA-256 over their names and contents."""

    patches: tuple[Path, ...]
    sha256: str

    @property
    def options(self) -> frozenset[str]:
        """The options of a torrc that the patches add to tor."""
        texts = [patch.read_text(encoding="utf-8", errors="replace") for patch in self.patches]
        added = r"^\+\s*V(?:_IMMUTABLE)?\((\w+),"
        return frozenset(name for text in texts for name in re.findall(added, text, re.MULTILINE))


def read_series(folder: Path = SERIES) -> Series:
    """The series in ``folder``; InputError when a patch is missing, named twice or not in the series."""
    listing = find(folder / "series")
    folder = listing.parent
    if not listing.is_file():
        raise InputError("no such file", file=listing, accepted="a list of patches, one name per line")
    lines = (line.split("#", 1)[0].strip() for line in listing.read_text(encoding="utf-8").splitlines())
    names = [line for line in lines if line]
    for name in names:
        if names.count(name) > 1:
            raise InputError("names a patch twice", file=listing, value=name)
        if not (folder / name).is_file():
            raise InputError("names a patch that is not there", file=listing, value=name)
    for stray in sorted(file.name for file in folder.glob("*.patch") if file.name not in names):
        raise InputError("leaves out a patch of the folder", file=listing, value=stray)
    digest = hashlib.sha256()
    for name in names:
        content = (folder / name).read_bytes()
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return Series(tuple(folder / name for name in names), digest.hexdigest())


_PATCH = "a patch, as diff or git format-patch writes"
_CHANGE = rb"^(@@ |\*{3} |[0-9,]+[acd][0-9]|rename from |old mode |new file mode |deleted file mode )"
"""Begins a change in a patch: a hunk of one of diff's forms, or what git says of a file without hunks."""


def patches_of_user(files: Sequence[Path]) -> Series:
    """The patches that a user names, in order; InputError when one is no patch. Names make no other build."""
    digest = hashlib.sha256()
    for file in files:
        if not file.is_file():
            raise InputError("no such file", file=file, accepted=_PATCH)
        if not re.search(_CHANGE, file.read_bytes(), re.MULTILINE):
            raise InputError("changes nothing", file=file, accepted=_PATCH)
        digest.update(f"{sha256_of_file(file)}\n".encode())
    return Series(tuple(files), digest.hexdigest() if files else "")


def apply_series(series: Series, tree: Path) -> None:
    """Apply every patch of ``series`` to the source ``tree``; hunks must match their whole context (fuzz 0).

    Raises InputError naming the patch, the file and the hunk that does not apply; that patch has then
    changed nothing, and those before it are in the tree.
    """
    program = shutil.which("patch")
    if program is None:
        raise ToolMissing("patch: not on PATH; Debian's package of it: apt-get install patch")
    for patch in series.patches:
        options = ["--strip=1", "--fuzz=0", "--batch", "--forward", "--no-backup-if-mismatch"]
        command = [program, *options, f"--directory={tree}", f"--input={patch.resolve()}", "--reject-file=-"]
        for step in (["--dry-run"], []):
            answer = subprocess.run(
                [*command, *step],
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
                env={"LC_ALL": "C"},
            )
            if answer.returncode:
                file, reason = first_failure(answer.stdout + answer.stderr)
                raise InputError(f"does not apply: {f'{file}: ' if file else ''}{reason}", file=patch)


def first_failure(report: str) -> tuple[str, str]:
    """The file and the line of the first failure in what ``patch`` printed; the file may be empty."""
    file = ""
    for line in report.splitlines():
        if (match := re.match(r"(?:checking|patching) file (.+)$", line)) is not None:
            file = match[1].strip("'")
        elif re.search(r"FAILED|previously applied|can't find file|No file to patch|\*{4}", line):
            return file, line.rstrip(".")
    return file, (report.strip().splitlines() or ["patch said nothing"])[-1]
