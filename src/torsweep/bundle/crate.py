"""ro-crate-metadata.json: the description of a published result for programs.

In: a folder with everything else in it, and the facts. Out: the metadata of an RO-Crate 1.2
(https://w3id.org/ro/crate/1.2), with every file of the folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rocrate.model.contextentity import ContextEntity
from rocrate.rocrate import ROCrate

from torsweep import __version__
from torsweep.bundle.citation import Credit
from torsweep.bundle.sums import bundle_files, sums_size
from torsweep.config.experiment import Report
from torsweep.engines.table_files import (
    BREAKDOWN_FILE,
    PASSAGES_FILE,
    PROGRESS_FILE,
    RELAYS_FILE,
    STREAMS_FILE,
)
from torsweep.provenance import PROVENANCE_FILE
from torsweep.storage.published import (
    CITATION_FILE,
    CRATE_FILE,
    EXPERIMENT_FILE,
    PAGE_FILE,
    README_FILE,
    SUMS_FILE,
)

CRATE_VERSION = "1.2"

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
_WHAT: Mapping[str, str] = {
    README_FILE: "What is here, and how to make it again",
    CITATION_FILE: "How to cite these results",
    SUMS_FILE: "The SHA-256 of every other file",
    EXPERIMENT_FILE: "The question, the knobs and the claims",
    PROVENANCE_FILE: "Versions, networks, and what each run says about itself",
    PAGE_FILE: "The results as a page to read",
    "summaries/claims.json": "The verdict on each claim, with the numbers that it rests on",
    "summaries/summary.md": "Medians, differences, outcomes and verdicts, to read",
    f"tables/{BREAKDOWN_FILE}": "What followed downloads waited for, where downloads were followed",
    f"tables/{PASSAGES_FILE}": "How long each cell stayed in a traced relay, where cells were traced",
    f"tables/{PROGRESS_FILE}": "How far each download was at what time, where the runs were asked for it",
    f"tables/{RELAYS_FILE}": "What each relay did, second by second",
    f"tables/{STREAMS_FILE}": "Every download of every run, a row each",
}
_FOLDERS: Mapping[str, str] = {
    "figures": "Figure, or the points that it plots",
    "summaries": "Summary of the plan",
    "tables": "Table of the plan's runs",
}


@dataclass(frozen=True)
class CrateFacts:
    """What the crate says of the result as a whole."""

    title: str
    question: str
    report: Report
    engine: str
    engine_version: str
    credit: Credit


def write_crate(folder: Path, facts: CrateFacts) -> None:
    """Write ro-crate-metadata.json into ``folder``, which has everything else but SHA256SUMS."""
    crate = ROCrate(version=CRATE_VERSION)
    crate.name, crate.description = facts.title, facts.question
    crate.datePublished = facts.credit.day
    source = {} if facts.report.address else {"description": facts.report.source}
    crate.root_dataset["citation"] = _add(
        crate, facts.report.address or "#report", "CreativeWork", name=facts.report.title, **source
    )
    crate.root_dataset["keywords"] = "Tor, network performance, simulation"
    crate.root_dataset["license"] = _licence(crate, facts.credit.licence)
    crate.root_dataset["author"] = [
        _add(crate, f"#author-{number}", "Person", name=name)
        for number, name in enumerate(facts.credit.authors, start=1)
    ]
    tools = [
        _add(crate, "#torsweep", _SOFTWARE, name="torsweep", version=__version__),
        _add(crate, "#engine", _SOFTWARE, name=facts.engine, version=facts.engine_version),
    ]
    made = _add(crate, "#made", "CreateAction", name=f"Runs in {facts.engine}, tables, summaries and figures")
    made["instrument"], made["result"] = tools, crate.root_dataset
    crate.root_dataset["mentions"] = made
    names = sorted(file.relative_to(folder).as_posix() for file in bundle_files(folder))
    # SHA256SUMS comes last and covers this file, too; how long it will be is known.
    sums_bytes = sums_size([*names, CRATE_FILE])
    for name in names:
        _add_file(crate, name, (folder / name).stat().st_size, folder / name)
    _add_file(crate, SUMS_FILE, sums_bytes, None)
    crate.metadata.write(folder)


def _add(crate: ROCrate, identifier: str, kind: str, **properties: object) -> Any:
    return crate.add(ContextEntity(crate, identifier, properties={"@type": kind, **properties}))


def _licence(crate: ROCrate, licence: str | None) -> Any:
    if licence is not None:
        return _add(crate, f"https://spdx.org/licenses/{licence}", "CreativeWork", name=licence)
    return _add(
        crate,
        "#licence",
        "CreativeWork",
        name="No licence is stated",
        description="Those who made these results have not said how they may be used.",
    )


def _add_file(crate: ROCrate, name: str, size_bytes: int, source: Path | None) -> None:
    path = Path(name)
    what = _WHAT.get(name) or f"{_FOLDERS.get(path.parts[0], 'File')}: {path.stem}"
    properties = {
        "name": path.name,
        "description": what,
        "encodingFormat": _FORMATS.get(path.suffix, "text/plain"),
        "contentSize": str(size_bytes),
    }
    crate.add_file(source, name, properties=properties)
