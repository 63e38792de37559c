"""What a published folder says of itself: SHA256SUMS, CITATION.cff and ro-crate-metadata.json.

In: a folder with everything else in it, and what the user says of it. Out: the text of a Citation File Format
1.2.0 (https://citation-file-format.github.io), an RO-Crate 1.2 (https://w3id.org/ro/crate/1.2), and checksums
as ``sha256sum`` writes them, in the order of the paths.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml
from rocrate.model.contextentity import ContextEntity
from rocrate.rocrate import ROCrate

from torsweep import __version__
from torsweep.config.experiment import Experiment
from torsweep.config.overrides import LICENCE
from torsweep.engines.table_schema import SCHEMAS
from torsweep.errors import InputError
from torsweep.formats.files import MIB, read_bytes
from torsweep.provenance import PROVENANCE_FILE, sha256_of_file
from torsweep.runsets.reading import Provenance
from torsweep.storage.folders import (
    CITATION_FILE,
    CRATE_FILE,
    EXPERIMENT_FILE,
    MARKER,
    PAGE_FILE,
    README_FILE,
    SUMS_FILE,
)

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


_SOFTWARE = "CreativeWork"
"""Programs are not described as SoftwareApplication: that type requires the address of a page, which not
every program has."""

_FORMATS: Mapping[str, str] = {
    ".cff": "application/yaml",
    ".csv": "text/csv",
    ".html": "text/html",
    ".json": "application/json",
    ".md": "text/markdown",
    ".parquet": "application/vnd.apache.parquet",
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".yaml": "application/yaml",
}
_DESCRIPTIONS: Mapping[str, str] = {
    README_FILE: "What is here, and how to make it again",
    CITATION_FILE: "How to cite these results",
    SUMS_FILE: "The SHA-256 of every other file",
    EXPERIMENT_FILE: "The question, the knobs and the claims",
    PROVENANCE_FILE: "Versions, networks, and what each run says about itself",
    PAGE_FILE: "The results as a page to read",
    "summaries/claims.json": "The verdict on each claim, with the numbers that it rests on",
    "summaries/summary.json": "The text of summary.md, in parts",
    "summaries/summary.md": "Medians, differences, outcomes and verdicts, to read",
    **{f"tables/{schema.file}": f"A row for each: {schema.meaning}" for schema in SCHEMAS},
}
_FOLDERS: Mapping[str, str] = {
    "figures": "Figure, or the points that it plots",
    "summaries": "Summary of the plan",
    "tables": "Table of the plan's runs",
}


def write_crate(folder: Path, title: str, experiment: Experiment, origin: Provenance, credit: Credit) -> None:
    """Write ro-crate-metadata.json into ``folder``, which has everything else but SHA256SUMS."""
    crate = ROCrate(version="1.2")
    crate.name, crate.description = title, experiment.question
    crate.datePublished = credit.day
    report = experiment.report
    source = {} if report.address else {"description": report.source}
    crate.root_dataset["citation"] = _add(
        crate, report.address or "#report", "CreativeWork", name=report.title, **source
    )
    crate.root_dataset["keywords"] = "Tor, network performance, simulation"
    crate.root_dataset["license"] = _licence(crate, credit.licence)
    crate.root_dataset["author"] = [
        _add(crate, f"#author-{number}", "Person", name=name)
        for number, name in enumerate(credit.authors, start=1)
    ]
    tools = [
        _add(crate, "#torsweep", _SOFTWARE, name="torsweep", version=__version__),
        _add(crate, "#engine", _SOFTWARE, name=origin.engine, version=origin.engine_version),
    ]
    name = f"Runs in {origin.engine}, tables, summaries and figures"
    made = _add(crate, "#made", "CreateAction", name=name)
    made["instrument"], made["result"] = tools, crate.root_dataset
    crate.root_dataset["mentions"] = made
    names = bundle_files(folder)
    # SHA256SUMS comes last and covers this file, too; how long it will be is known.
    sums_bytes = sum(len(f"{'':64}  {name}\n".encode()) for name in (*names, CRATE_FILE))
    for name in names:
        _add_file(crate, name, (folder / name).stat().st_size, folder / name)
    _add_file(crate, SUMS_FILE, sums_bytes, None)
    crate.metadata.write(folder)


def _add(crate: ROCrate, identifier: str, kind: str, **properties: object) -> Any:
    return crate.add(ContextEntity(crate, identifier, properties={"@type": kind, **properties}))


def _licence(crate: ROCrate, licence: str | None) -> Any:
    if licence is not None:
        return _add(crate, f"https://spdx.org/licenses/{licence}", "CreativeWork", name=licence)
    properties = {
        "name": "No licence is stated",
        "description": "Those who made these results have not said how they may be used.",
    }
    return _add(crate, "#licence", "CreativeWork", **properties)


def _add_file(crate: ROCrate, name: str, size_bytes: int, source: Path | None) -> None:
    path = Path(name)
    what = _DESCRIPTIONS.get(name) or f"{_FOLDERS.get(path.parts[0], 'File')}: {path.stem}"
    properties = {
        "name": path.name,
        "description": what,
        "encodingFormat": _FORMATS.get(path.suffix, "text/plain"),
        "contentSize": str(size_bytes),
    }
    crate.add_file(source, name, properties=properties)
