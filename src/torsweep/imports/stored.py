"""An import on disk: a folder for each simulation with its tables, and last ``import.json``.

In: folders of simulations and the folder for the import; or that folder. Out: :class:`Import`, whose rows say
of each simulation its network, its seeds and where it stands. An import appears as a whole.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import polars as pl

from torsweep.config.reading import validate
from torsweep.engines.shadow.read.tornettools import HostLogs, read_logs, tables_of
from torsweep.engines.table_schema import OUTCOMES, STREAMS, TableSchema, with_later_columns, write_table
from torsweep.errors import InputError
from torsweep.formats.frames import read_frame
from torsweep.imports.parsed import read_parsed
from torsweep.imports.simulation import Simulation, open_simulation
from torsweep.storage import whole_directory, write_text
from torsweep.storage.folders import IMPORT_FOLDER
from torsweep.storage.manifest import verify_folder, with_checksums

MANIFEST = "import.json"
FORMAT, FORMAT_VERSION = "torsweep-import", 1
_NO_IMPORT = "no such file: `torsweep import tornettools` leaves it in the folder of an import"


@dataclass(frozen=True)
class ImportedRun:
    """One simulation: the folder of its tables in the import, the name of its own folder, and what is known.

    ``read`` is ``logs`` or ``parsed``; ``network`` and the seeds are those of
    :class:`~torsweep.imports.simulation.Simulation`. ``tgen`` and ``oniontrace`` are versions.
    """

    folder: str
    name: str
    read: str
    network: str | None
    network_seed: int | None
    shadow_seed: int | None
    duration_s: int
    tgen: list[str]
    oniontrace: list[str]
    downloads: dict[str, int]


@dataclass(frozen=True)
class Import:
    """The simulations in ``folder``."""

    folder: Path
    runs: list[ImportedRun]

    @property
    def name(self) -> str:
        """What figures and tables call it."""
        return self.folder.resolve().name

    def table(self, run: ImportedRun, schema: TableSchema) -> pl.DataFrame:
        """A table of ``run``, whose checksum has been compared."""
        frame = read_frame(self.folder / run.folder / schema.file)
        return with_later_columns(frame, schema)


def import_simulations(folders: Sequence[Path], out: Path) -> Import:
    """Write the import ``out`` of the simulations in ``folders``.

    Raises InputError for a folder that holds none, whose logs cannot be read, or that holds the same
    downloads as another one.
    """
    seen: dict[str, Path] = {}
    with whole_directory(out, IMPORT_FOLDER) as place:
        runs = [
            _import(folder, f"run-{number}", place, seen) for number, folder in enumerate(folders, start=1)
        ]
        tables = sorted(str(file.relative_to(place)) for file in place.glob("*/*.parquet"))
        document = {"format": FORMAT, "format_version": FORMAT_VERSION, "runs": [asdict(run) for run in runs]}
        document = with_checksums(document, place, tables)
        write_text(place / MANIFEST, json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    return Import(out, runs)


def _import(folder: Path, name: str, place: Path, seen: dict[str, Path]) -> ImportedRun:
    simulation = open_simulation(folder)
    read = read_simulation(simulation)
    frames, duration_s = tables_of(read)
    streams = frames[STREAMS]
    digest = str(streams.hash_rows().to_list())
    if digest in seen:
        problem = f"holds the same downloads as {seen[digest]}: one simulation, given twice"
        raise InputError(problem, file=folder, accepted="each simulation once")
    seen[digest] = folder
    for schema, frame in frames.items():
        write_table(place / name, schema, frame)
    outcomes = {outcome: streams.filter(pl.col("outcome") == outcome).height for outcome in OUTCOMES}
    events = (read.circuits, read.bandwidth)
    return ImportedRun(
        name,
        folder.resolve().name,
        simulation.source,
        simulation.network,
        simulation.network_seed,
        simulation.shadow_seed,
        duration_s,
        sorted(set(read.tgen.versions["version"])),
        sorted({version for each in events for version in each.versions["version"]}),
        outcomes,
    )


def read_simulation(simulation: Simulation) -> HostLogs:
    """What the logs of ``simulation`` tell, or without them their parsed files; InputError as the readers."""
    if simulation.hosts is not None:
        return read_logs(simulation.hosts)
    assert simulation.tgen is not None, "open_simulation has found one of both"
    return read_parsed(simulation.tgen, simulation.oniontrace)


def open_import(folder: Path) -> Import:
    """The import in ``folder``; InputError where there is none, or it is damaged or of another version."""
    document = verify_folder(folder, MANIFEST, _NO_IMPORT)
    found = document.pop("format", None), document.pop("format_version", None)
    if found != (FORMAT, FORMAT_VERSION):
        raise InputError("is no import of this version", file=folder / MANIFEST, value=found, accepted=FORMAT)
    return validate(Import, {"folder": folder, **document}, folder / MANIFEST)
