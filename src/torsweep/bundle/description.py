"""What a published folder says of itself: SHA256SUMS and CITATION.cff.

In: a folder with everything else in it, and what the user says of it. Out: the text of a Citation File Format
1.2.0 (https://citation-file-format.github.io); checksums as ``sha256sum`` writes them, in the order of paths.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import yaml

from torsweep.config.overrides import LICENCE
from torsweep.errors import InputError
from torsweep.formats.files import MIB, read_bytes
from torsweep.provenance import PROVENANCE_FILE, sha256_of_file
from torsweep.storage.folders import MARKER, SUMS_FILE

UNNAMED = "anonymous"
"""The author of a result whose publisher names none: the format asks for one."""


@dataclass(frozen=True)
class Credit:
    """Authors, the day of the result (ISO 8601, UTC) and its licence, an SPDX identifier or None."""

    authors: tuple[str, ...]
    day: str
    licence: str | None

    @classmethod
    def of(cls, authors: Sequence[str], licence: str | None, runs: Sequence[Path]) -> Credit:
        """The credit for the results of the run directories ``runs``.

        The day is that on which the last run was done, so that the same results always have the same. Raises
        InputError for a licence that is none.
        """
        if licence is not None and not re.match(LICENCE, licence):
            accepted = "an identifier of https://spdx.org/licenses, such as CC-BY-4.0"
            raise InputError("is no licence", key="licence", value=licence, accepted=accepted)
        return cls(tuple(authors) or (UNNAMED,), _day(runs), licence)


def _day(runs: Sequence[Path]) -> str:
    done = (run / PROVENANCE_FILE for run in runs)
    newest = max((file.stat().st_mtime for file in done if file.is_file()), default=0)
    return datetime.fromtimestamp(newest, UTC).date().isoformat()


def citation_text(title: str, question: str, version: str, credit: Credit) -> str:
    """The whole of CITATION.cff for a data set of this ``title``, made with ``version`` of torsweep."""
    document = {
        "cff-version": "1.2.0",
        "message": "Cite these results as below, with the report that they answer.",
        "type": "dataset",
        "title": title,
        "abstract": question,
        "authors": [{"name": name} for name in credit.authors],
        "date-released": credit.day,
        "version": version,
        "keywords": ["Tor", "network performance", "simulation"],
        **({"license": credit.licence} if credit.licence else {}),
    }
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=100)


_LINE = re.compile(r"([0-9a-f]{64})  ([^\n]+)\n")
_MOST_SUMS_BYTES = 8 * MIB


def bundle_files(folder: Path) -> list[str]:
    """The names of the files of the published result in ``folder``, in order, but for the folder's marker."""
    files = (file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file())
    return sorted(name for name in files if name != MARKER)


def sums_text(folder: Path) -> str:
    """A line for each file in ``folder``, but for SHA256SUMS itself."""
    names = (name for name in bundle_files(folder) if name != SUMS_FILE)
    return "".join(f"{sha256_of_file(folder / name)}  {name}\n" for name in names)


def read_sums(folder: Path) -> dict[str, str]:
    """The checksums that ``folder`` says its files have, by path.

    Raises InputError when there is no SHA256SUMS, or it is not as :func:`sums_text` writes it.
    """
    file = folder / SUMS_FILE
    content = read_bytes(file, _MOST_SUMS_BYTES, "no such file: this is no published result")
    text = content.decode("utf-8", errors="replace")
    sums = {name: sha256 for sha256, name in _LINE.findall(text)}
    if text != "".join(f"{sha256}  {name}\n" for name, sha256 in sorted(sums.items())):
        raise InputError("is damaged", file=file, accepted="a line each file, as torsweep writes them")
    return sums


def require_whole(folder: Path) -> None:
    """InputError, with the first difference, unless ``folder`` has the files of its SHA256SUMS, unchanged."""
    stated, names = read_sums(folder), set(bundle_files(folder)) - {SUMS_FILE}
    for name in sorted(stated.keys() | names):
        if name not in names:
            raise InputError("is missing", file=folder / name)
        if name not in stated:
            raise InputError(f"is not in {SUMS_FILE}", file=folder / name)
        if sha256_of_file(folder / name) != stated[name]:
            raise InputError(f"has changed: its SHA-256 is not the one in {SUMS_FILE}", file=folder / name)
