"""Who made a result, when, and under which licence: CITATION.cff and the same facts for the RO-Crate.

In: what the user says of authors and licence, and the runs. Out: :class:`Credit`, and the text of the file,
in version 1.2.0 of the Citation File Format (https://citation-file-format.github.io).
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import yaml

from torsweep.ending import DATE_VARIABLE
from torsweep.errors import InputError
from torsweep.provenance import PROVENANCE_FILE

UNNAMED = "anonymous"
"""The author of a result whose publisher names none: the format asks for one."""

_LICENCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+-]{0,63}")


@dataclass(frozen=True)
class Credit:
    """Authors, the day of the result (ISO 8601, UTC) and its licence (SPDX identifier), None where none "
    "is."""

    authors: tuple[str, ...]
    day: str
    licence: str | None

    @classmethod
    def of(cls, authors: Sequence[str], licence: str | None, runs: Sequence[Path]) -> Credit:
        """The credit for the results of the run directories ``runs``.

        The day is that on which the last run was done, so that the same results always have the same; where
        :data:`DATE_VARIABLE` is set, it is that day. Raises InputError for a licence that is none.
        """
        if licence is not None and not _LICENCE.fullmatch(licence):
            accepted = "an identifier of https://spdx.org/licenses, such as CC-BY-4.0"
            raise InputError("is no licence", key="licence", value=licence, accepted=accepted)
        return cls(tuple(authors) or (UNNAMED,), _day(runs), licence)


def _day(runs: Sequence[Path]) -> str:
    stated = os.environ.get(DATE_VARIABLE)
    done = (run / PROVENANCE_FILE for run in runs)
    newest = max((file.stat().st_mtime for file in done if file.is_file()), default=0)
    return datetime.fromtimestamp(newest if stated is None else int(stated), UTC).date().isoformat()


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
