"""An import: runs that others made with tornettools and Shadow, as a folder of run folders.

In: folders of simulations and the folder for the import; or that folder. Out: :class:`Import`, a folder for
each simulation with its tables, and last ``import.json``, which says what each is. An import appears as a
whole.

Two simulations are of the same network when the hosts of their ``shadow.config.yaml`` have the same names,
places in the graph, addresses and rates: Shadow's seed, the programs and their options may differ.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from torsweep.config.reading import validate
from torsweep.config.tracing import PASSAGE_POINTS
from torsweep.engines.shadow.read.tornettools import read_logs, tables_of
from torsweep.engines.table_schema import (
    OUTCOMES,
    PASSAGES,
    SCHEMAS,
    STREAMS,
    WORDS,
    TableSchema,
    write_table,
)
from torsweep.errors import InputError
from torsweep.formats.files import of_version, text_lines, whole_text
from torsweep.formats.frames import read_metadata
from torsweep.formats.yaml_file import parse_other_yaml
from torsweep.network.tornet_folder import TORNET_FILE, require_unpacked, shadow_time_ns
from torsweep.provenance import sha256_of_file
from torsweep.runsets.plan_tables import IMPORT, METADATA_KEY, PlanTables
from torsweep.runsets.run import GIVEN, Run, read_table, with_paths
from torsweep.runsets.run_files import OF_RUNS, load_of_runs
from torsweep.storage import verify_folder, whole_directory, with_checksums, write_text
from torsweep.storage.folders import IMPORT_FOLDER
from torsweep.units import SECOND_NS, rounded_duration

HOSTS = "shadow.data/hosts"
_ACCEPTED = f"a folder that tornettools simulated, with {HOSTS}"

_HOST_KEYS = ("network_node_id", "ip_addr", "bandwidth_down", "bandwidth_up")
_GENERATE_SEED = re.compile(r"Seeded standard and numpy PRNGs with seed=(\d+)")
_SHADOW_SEED = re.compile(r"shadow_args='[^']*--seed[= ](\d+)")


@dataclass(frozen=True)
class Simulation:
    """A simulation in ``folder``, its logs in ``hosts``.

    ``network`` is a digest that two simulations share when their networks are the same. The seeds are
    tornettools' of the network, and Shadow's; ``stop_s`` is how long the simulation was to last. None: not
    told.
    """

    folder: Path
    hosts: Path
    network: str | None
    network_seed: int | None
    shadow_seed: int | None
    stop_s: float | None


def open_simulation(folder: Path) -> Simulation:
    """The simulation in ``folder``; InputError when there is none, its configuration cannot be read, or the
    folder's own logs name two seeds, so that nobody can say which of them its results are of."""
    if not folder.is_dir():
        raise InputError("is no folder", file=folder, accepted=_ACCEPTED)
    hosts = folder / HOSTS
    if not any(hosts.glob("*client*/*tgen*.stdout*")):
        require_unpacked(folder, "shadow.data")
        raise InputError("holds no results of a simulation", file=folder, accepted=_ACCEPTED)
    config = _packed_or_not(folder / TORNET_FILE)
    document = _read_config(config) if config else {}
    seed = _seed(folder, "simulate", _SHADOW_SEED)
    return Simulation(
        folder,
        hosts,
        _digest(document["hosts"]) if config else None,
        _seed(folder, "generate", _GENERATE_SEED),
        (document.get("general") or {}).get("seed") if seed is None else seed,
        _stop_s(document, config) if config else None,
    )


def _packed_or_not(file: Path) -> Path | None:
    return next((each for each in (file, file.with_name(f"{file.name}.xz")) if each.is_file()), None)


def _read_config(file: Path) -> dict[str, Any]:
    document = parse_other_yaml(whole_text(file), file)
    hosts = document.get("hosts") if isinstance(document, dict) else None
    if not isinstance(hosts, dict) or not all(isinstance(host, dict) for host in hosts.values()):
        accepted = "a configuration of Shadow 2 or later"
        raise InputError("has no hosts", file=file, key="hosts", accepted=accepted)
    general = document.get("general") or {}
    seed = general.get("seed") if isinstance(general, dict) else general
    if not isinstance(seed, int | None):
        raise InputError("is no seed", file=file, key="general.seed", value=seed, accepted="a whole number")
    return document


def _stop_s(document: dict[str, Any], file: Path) -> float | None:
    stop_time = (document.get("general") or {}).get("stop_time")
    return None if stop_time is None else shadow_time_ns(stop_time, file, "general.stop_time") / SECOND_NS


def _digest(hosts: dict[str, dict[str, Any]]) -> str:
    known = {name: [str(host.get(key)) for key in _HOST_KEYS] for name, host in hosts.items()}
    return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()


def _seed(folder: Path, command: str, pattern: re.Pattern[str]) -> int | None:
    """The seed that the folder's logs of ``tornettools COMMAND`` name; InputError where they name two."""
    files = sorted(folder.glob(f"tornettools.{command}.*.log*"))
    seeds = {int(match[1]) for file in files for match in map(pattern.search, text_lines(file)) if match}
    if len(seeds) > 1:
        listed = " and ".join(map(str, sorted(seeds)))
        problem = f"mixes seeds: its logs of `tornettools {command}` name {listed}"
        raise InputError(problem, file=folder, accepted="the log of the one that the results are of")
    return seeds.pop() if seeds else None


MANIFEST = "import.json"
IMPORT_FORMAT, IMPORT_VERSION = "torsweep-import", 1
IMPORTED = "imports"
"""Takes the place of an experiment."""
_NO_IMPORT = "no such file: `torsweep import tornettools` leaves it in the folder of an import"


def import_folder(value: str | Path) -> Path:
    """An import's folder: a name stands below results/imports; InputError for no name at all."""
    if not str(value).strip():
        raise InputError("is empty", key="--as", accepted="a name, or a folder")
    return Path("results/imports", value) if Path(value).name == str(value) else Path(value)


@dataclass(frozen=True)
class ImportedRun:
    """One simulation: the folder of its tables in the import, the name of its own folder, and what is known;
    ``tgen`` and ``oniontrace`` are versions."""

    folder: str
    name: str
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

    def open_runs(self, numbers: dict[str, int], warm_up_ns: int, duration_ns: int) -> list[Run]:
        """The simulations as runs without the first ``warm_up_ns``; ``numbers`` are those of networks."""
        versions = sorted({f"tgen {one}" for run in self.runs for one in run.tgen})
        versions += sorted({f"oniontrace {one}" for run in self.runs for one in run.oniontrace})
        return [
            Run(
                self.folder / run.folder,
                {IMPORT: self.name},
                numbers[self.network_of(run)],
                self.network_of(run),
                sha256_of_file(self.folder / run.folder / STREAMS.file),
                IMPORTED,
                "shadow",
                ", ".join(versions),
                "today",
                warm_up_ns,
                duration_ns,
                {GIVEN: self.network_of(run)},
            )
            for run in self.runs
        ]

    def network_of(self, run: ImportedRun) -> str:
        """A key of the network of ``run``; unknown networks count as one for each folder."""
        return run.network or f"{self.name}/{run.folder}"


def import_simulations(folders: Sequence[Path], out: Path) -> Import:
    """Write the import ``out`` of the simulations in ``folders``; InputError for a folder that holds none,
    whose logs cannot be read, whose simulation broke off, or that holds the same downloads as another one."""
    seen: dict[str, Path] = {}
    with whole_directory(out, IMPORT_FOLDER) as place:
        runs = [
            _import(folder, f"run-{number}", place, seen) for number, folder in enumerate(folders, start=1)
        ]
        tables = sorted(str(file.relative_to(place)) for file in place.glob("*/*.parquet"))
        document: dict[str, Any] = {"format": IMPORT_FORMAT, "format_version": IMPORT_VERSION}
        document = with_checksums({**document, "runs": [asdict(run) for run in runs]}, place, tables)
        write_text(place / MANIFEST, json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    return Import(out, runs)


def _import(folder: Path, name: str, place: Path, seen: dict[str, Path]) -> ImportedRun:
    simulation = open_simulation(folder)
    read = read_logs(simulation.hosts)
    frames, duration_s = tables_of(read)
    _require_whole(simulation, duration_s)
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
        simulation.network,
        simulation.network_seed,
        simulation.shadow_seed,
        duration_s,
        sorted(set(read.tgen.versions["version"])),
        sorted({version for each in events for version in each.versions["version"]}),
        outcomes,
    )


_SILENCE_S, _SILENCE_SHARE = 180, 0.1
"""The longest time without a download before the end: pauses of few perf clients are as long."""

_SILENCE_OF_FAILED_S = 60
"""The longest time without a download where the logs say that the simulation failed. They say so, too, where
it came to its end and one of its processes had failed."""

_FAILED = re.compile(r"shadow returned code '(?!0')|Shadow (simulation )?did not complete successfully")
_ENDED = re.compile(rf"{_FAILED.pattern}|shadow returned code '0'|Shadow (simulation )?completed success")


def _require_whole(simulation: Simulation, duration_s: int) -> None:
    """InputError for a simulation of which nothing is known well before its ``stop_time``. One that ended
    well by its logs may have had another ``stop_time`` on the command line."""
    stop_s = simulation.stop_s
    missing_s = 0 if stop_s is None else stop_s - duration_s
    if stop_s is None or missing_s <= _SILENCE_OF_FAILED_S:
        return
    ending = read_ending(simulation.folder)
    if ending.well or (ending.log is None and missing_s <= max(_SILENCE_S, _SILENCE_SHARE * stop_s)):
        return
    reason = "" if ending.log is None else f" ({ending.log.name} says that Shadow failed)"
    raise InputError(
        f"broke off: its results end after {rounded_duration(duration_s)}{reason}",
        file=simulation.folder,
        key="general.stop_time",
        value=rounded_duration(stop_s),
        accepted=f"simulations that came to their end; or, in {TORNET_FILE}, the time when it ended",
    )


@dataclass(frozen=True)
class Ending:
    """How a simulation ended, by ``log``; None: no log says it."""

    log: Path | None = None
    well: bool = False


def read_ending(folder: Path) -> Ending:
    """How the simulation ended, by the newest log of tornettools or Shadow that says so."""
    for file in [*sorted(folder.glob("tornettools.simulate.*.log*"), reverse=True), folder / "shadow.log"]:
        file = _packed_or_not(file) or file
        ends = [line for line in text_lines(file) if _ENDED.search(line)] if file.exists() else []
        if ends:
            return Ending(file, _FAILED.search(ends[-1]) is None)
    return Ending()


def open_import(folder: Path) -> Import:
    """The import in ``folder``; InputError where there is none, or it is damaged or of another version."""
    file = folder / MANIFEST
    document = of_version(verify_folder(folder, MANIFEST, _NO_IMPORT), file, IMPORT_FORMAT, IMPORT_VERSION)
    fields = {key: value for key, value in document.items() if key not in ("format", "format_version")}
    return validate(Import, {"folder": folder, **fields}, file)


_PLACES = ("results/tables", "tables", "")
"""Where a folder has the tables of plans: a study, results or a bundle, and a folder among tables."""


def load_table(source: str | Path, table: str) -> pl.DataFrame:
    """See :func:`torsweep.load`."""
    schemas = {schema.name: schema for schema in SCHEMAS}
    if table not in schemas and table not in OF_RUNS:
        accepted = ", ".join((*schemas, *OF_RUNS))
        raise InputError("is no table", key="table", value=table, accepted=accepted)
    named = [Path("results", stage, source) for stage in ("imports", "tables")]
    folder = next((each for each in (Path(source), *named) if each.is_dir()), None)
    if folder is None:
        accepted = "a folder of results, or the name of an experiment or an import"
        raise InputError("no such results", value=str(source), accepted=accepted)
    if (folder / MANIFEST).is_file():
        if table not in schemas:
            raise InputError("an import has no such table", file=folder, key="table", value=table)
        return _of_import(folder, schemas[table])
    plans = next((plans for place in _PLACES if (plans := _plans(folder / place))), [])
    if len(plans) != 1:
        problem = f"holds the tables of {len(plans)} plans"
        raise InputError(problem, file=folder, accepted=f"one of {', '.join(map(str, plans))}" * bool(plans))
    if table in OF_RUNS:
        return load_of_runs(plans[0], table)
    tables = replace(PlanTables.open(plans[0]), kinds=WORDS["kind"])
    frame = tables.whole(schemas[table].file)
    if schemas[table] is PASSAGES and frame.is_empty():
        problem = "no cell was recorded at all places"
        accepted = f"runs with tracing of hosts, at the points {', '.join(PASSAGE_POINTS)}"
        raise InputError(problem, file=plans[0], key="table", value=table, accepted=accepted)
    return frame


def _plans(folder: Path) -> list[Path]:
    """The folders below ``folder`` with the tables of a plan (those of single runs are left out)."""
    files = sorted(folder.rglob(STREAMS.file)) if folder.is_dir() else []
    return [file.parent for file in files if METADATA_KEY in read_metadata(file)]


def _of_import(folder: Path, schema: TableSchema) -> pl.DataFrame:
    """The table of each simulation, from Shadow's start; ``seed`` numbers the networks from 1."""
    opened = open_import(folder)
    networks = list(dict.fromkeys(opened.network_of(run) for run in opened.runs))
    frames = []
    for run in opened.runs:
        place = folder / run.folder
        if not (place / schema.file).is_file():
            raise InputError("has no such table", file=place, key="table", value=schema.name)
        frame = read_table(place, schema)
        frame = with_paths(frame, place) if schema is STREAMS else frame
        seed = pl.lit(networks.index(opened.network_of(run)) + 1, pl.Int64)
        frames.append(frame.select(seed.alias("seed"), pl.lit(opened.name).alias(IMPORT), pl.all()))
    return pl.concat(frames)
