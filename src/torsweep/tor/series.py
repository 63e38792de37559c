"""The patch series: which patches, in which order, and applying them strictly.

In: a folder with a file ``series`` (one name a line, ``#`` for remarks) and the patches that it names, and
a source tree. Out: the tree patched, or an InputError that names the patch, the file and the reason.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from torsweep.errors import InputError, ToolMissing

SERIES = Path("patches/tor")
"""The project's own series, from the top of the repository."""


@dataclass(frozen=True)
class Series:
    """The patches in the order of application, and the SHA-256 over their names and contents."""

    patches: tuple[Path, ...]
    sha256: str

    @property
    def key(self) -> str:
        """What a build is named after, beside tor's version: twelve hexadecimal digits."""
        return self.sha256[:12]


def read_series(folder: Path = SERIES) -> Series:
    """The series in ``folder``; InputError when a patch is missing, named twice or not in the series."""
    listing = folder / "series"
    if not listing.is_file():
        raise InputError("no such file", file=listing, accepted="a list of patches, one name a line")
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


def apply_series(series: Series, tree: Path) -> None:
    """Apply every patch of ``series`` to the source ``tree``; every hunk must match its whole context (fuzz
    0).

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
                [*command, *step], capture_output=True, text=True, check=False, env={"LC_ALL": "C"}
            )
            if answer.returncode:
                file, reason = first_failure(answer.stdout + answer.stderr)
                raise InputError(f"does not apply: {f'{file}: ' if file else ''}{reason}", file=patch)


def first_failure(report: str) -> tuple[str, str]:
    """The file and the reason of the first failure in what ``patch`` printed; the file may be empty."""
    file = ""
    for line in report.splitlines():
        if (match := re.match(r"(?:checking|patching) file (.+)$", line)) is not None:
            file = match[1].strip("'")
        elif re.match(r"Hunk #\d+ FAILED", line):
            return file, line.rstrip(".") + ", other text stands there"
        elif "previously applied" in line:
            return file, "it is in the source already"
        elif (match := re.match(r"(?:can't find file to patch|.*No file to patch)", line)) is not None:
            return _wanted_file(report) or file, "the source has no such file"
        elif (match := re.match(r"(?:patch: )?\*{4} (.+)$", line)) is not None:
            return file, match[1]
    return file, (report.strip().splitlines() or ["patch said nothing"])[-1]


def _wanted_file(report: str) -> str:
    """The file in the header that ``patch`` quotes when it finds no such file."""
    quoted = re.search(r"^\|\+\+\+ (?:[^/\s]+/)?(\S+)", report, re.MULTILINE)
    return quoted[1] if quoted else ""
