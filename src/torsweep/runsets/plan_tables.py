"""Open the tables of a plan.

In: a directory that :mod:`torsweep.runsets.collect` wrote. Out: :class:`PlanTables`, with
:class:`Provenance`, which says where the rows come from.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import polars as pl

from torsweep.config.reading import validate
from torsweep.config.tracing import Record
from torsweep.config.traffic import KINDS
from torsweep.engines import table_schema
from torsweep.errors import InputError
from torsweep.formats.files import of_version, parse_json
from torsweep.formats.frames import read_metadata, scan_frame
from torsweep.provenance import PROVENANCE_FILE
from torsweep.storage import verify_folder

METADATA_KEY = "torsweep"
"""Key of the Parquet key-value metadata that holds the :class:`Provenance` as JSON."""

FORMAT_VERSION = 3

Dimension = Literal["source", "import"]
SOURCE: Dimension = "source"
IMPORT: Dimension = "import"
DIMENSIONS = (SOURCE, IMPORT)
"""What runs of one set may differ in beside knobs: what made them, and the import that they are in."""

REPEAT = "+repeat"
"""How the levels of :data:`SOURCE` end that are the runs of another level with another seed."""

SOURCES_JOINED_BY = "_vs_"
"""Stands between sources where several take the place of an engine."""


@dataclass(frozen=True)
class SourceRecord:
    """The engine and version of the runs of one level of ``source``; ``transport`` is the model's TCP and
    queue."""

    label: str
    engine: str
    engine_version: str
    transport: str = ""


@dataclass(frozen=True)
class Provenance:
    """Where the tables of a plan come from.

    ``knobs`` maps each knob to its levels, both in the order of the experiment. ``records`` is what the runs
    recorded beside downloads and relays. ``runs`` holds, for each run, its variant, its seed, the hashes of
    its network and of its run.json, and what became of its cells (``cells``) and of the downloads that it
    followed (``checks``). ``builds`` are those of tor at each level of the knob ``tor``, ``sources`` what
    made the runs, where that is a dimension of the plan. ``given_networks`` is how many networks of
    tornettools the runs were on; 0: networks were sampled. What a run measured of its machine is not here, so
    that the same runs made elsewhere give the same bytes.
    """

    experiment: str
    engine: str
    engine_version: str
    era: str
    network: str
    plan: str
    knobs: dict[str, list[str]]
    seeds: list[int]
    warm_up_ns: int
    duration_ns: int
    records: list[Record]
    runs: list[dict[str, Any]]
    builds: dict[str, list[str]] = field(default_factory=dict)
    given_networks: int = 0
    sources: list[SourceRecord] = field(default_factory=list)

    def to_json(self) -> str:
        """The text that :func:`read_provenance` reads back."""
        document = {"format": "torsweep-tables", "format_version": FORMAT_VERSION, **asdict(self)}
        for key in ("builds", "given_networks", "sources"):
            if not document[key]:
                del document[key]
        return json.dumps(document, ensure_ascii=False)

    def variants(self) -> Iterator[dict[str, str]]:
        """Each variant that was run, in the order of the knobs and their levels."""
        found = {tuple(run["variant"][knob] for knob in self.knobs) for run in self.runs}
        order = list(self.knobs.values())
        for levels in sorted(found, key=lambda one: [*map(list.index, order, one)]):
            yield dict(zip(self.knobs, levels, strict=True))

    def seeds_at(self, levels: Mapping[str, str]) -> list[int]:
        """The seeds of the networks that variants with ``levels`` ran on, in order."""
        of_runs = {run["seed"] for run in self.runs if levels.items() <= run["variant"].items()}
        return sorted(of_runs)


def read_provenance(file: Path) -> Provenance:
    """The provenance in the metadata of the Parquet file ``file``; InputError when it is missing, is no
    Parquet, or comes from another version."""
    text = read_metadata(file).get(METADATA_KEY, "{}")
    return parse_provenance(parse_json(text, file), file)


def parse_provenance(document: Mapping[str, Any], file: Path) -> Provenance:
    """The provenance in ``document``, which ``file`` holds; InputError when it is of another version."""
    fields = of_version(dict(document), file, "torsweep-tables", FORMAT_VERSION)
    del fields["format"], fields["format_version"]
    provenance = validate(Provenance, fields, file)
    _check_runs(provenance, file)
    return provenance


def _check_runs(provenance: Provenance, file: Path) -> None:
    """InputError unless every run has a level of each knob and the seed of one of the networks."""
    for number, run in enumerate(provenance.runs):
        variant = run.get("variant")
        levels = variant if isinstance(variant, dict) else {}
        of_knobs = levels.keys() == provenance.knobs.keys()
        if not of_knobs or any(level not in provenance.knobs[knob] for knob, level in levels.items()):
            key, accepted = f"runs[{number}].variant", "a level of each knob"
            raise InputError("is not of this version", file=file, key=key, value=variant, accepted=accepted)
        if run.get("seed") not in provenance.seeds:
            raise InputError("is not of this version", file=file, key=f"runs[{number}].seed")


@dataclass(frozen=True)
class PlanTables:
    """The tables of one plan; rows keep the order runs, then clients' downloads as the engine wrote them.

    Rows with a ``kind`` of client are those of ``kinds``: perf clients are no clients of the experiment's.
    ``levels`` limit the rows to some runs.
    """

    directory: Path
    provenance: Provenance
    kinds: tuple[str, ...] = KINDS
    levels: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def open(cls, directory: Path) -> PlanTables:
        """The tables in ``directory``, all of which are read once for their checksums; InputError when they
        are not there, not ours, or damaged."""
        verify_folder(directory, PROVENANCE_FILE, "no such file: no tables are there")
        return cls(directory, read_provenance(directory / table_schema.STREAMS.file))

    def at(self, levels: Mapping[str, str], seeds: Sequence[int]) -> PlanTables:
        """The tables of the runs at ``levels`` on the networks of ``seeds`` alone."""
        runs = [
            run
            for run in self.provenance.runs
            if levels.items() <= run["variant"].items() and run["seed"] in seeds
        ]
        provenance = replace(self.provenance, seeds=list(seeds), runs=runs)
        return replace(self, provenance=provenance, levels={**self.levels, **levels})

    @property
    def knobs(self) -> list[str]:
        """Names of the knobs, in the order of the experiment."""
        return list(self.provenance.knobs)

    def streams(self, columns: Iterable[str]) -> pl.DataFrame:
        """Seed, knobs and ``columns`` of every download that was under way after the warm-up, with ``kind``
        among them only those of :attr:`kinds`. ``entry_us`` is how long it had been when the warm-up ended,
        µs; 0 where it began later."""
        stored = [name for name in dict.fromkeys((*columns, "start_us")) if name != "entry_us"]
        frame = self._read(table_schema.STREAMS.file, stored).with_columns(entry_us=self._entry_us())
        return frame.select("seed", *self.knobs, *columns)

    def _entry_us(self) -> pl.Expr:
        return (self.provenance.warm_up_ns // 1000 - pl.col("start_us")).clip(0)

    def whole(self, name: str) -> pl.DataFrame:
        """Every column of the table in the file ``name``; of downloads also ``entry_us``."""
        read_provenance(self.directory / name)
        stored = pl.read_parquet_schema(self.directory / name)
        frame = self._read(name, [column for column in stored if column not in ("seed", *self.knobs)])
        return frame.with_columns(entry_us=self._entry_us()) if name == table_schema.STREAMS.file else frame

    def clients(self) -> pl.DataFrame:
        """Seed, knobs and what is known of every client, whether or not it downloaded anything."""
        columns = ("client", "kind", "last_us", "latest_byte_us", "latest_known", "country", "continent")
        return self._read(table_schema.CLIENTS.file, columns)

    def relays(self, columns: Iterable[str]) -> pl.DataFrame:
        """Seed, knobs and ``columns`` of every relay and second after the warm-up."""
        return self._read(table_schema.RELAYS.file, columns)

    def progress(self, columns: Iterable[str]) -> pl.DataFrame:
        """Seed, knobs and ``columns`` of the progress of every download that started after the warm-up; empty
        if the experiment does not ask for progress."""
        return self._read(table_schema.PROGRESS.file, columns)

    def relay_rates(self) -> pl.DataFrame:
        """Seed, knobs, name, position and usable rate of every relay; without rows for unknown networks."""
        columns = ("relay", "position", "usable_bytes_per_s", "most_bytes")
        return self._read(table_schema.RELAY_RATES.file, columns)

    def circuits(self, columns: Iterable[str]) -> pl.DataFrame:
        """Seed, knobs and ``columns`` of every circuit that was launched after the warm-up."""
        return self._read(table_schema.CIRCUITS.file, columns)

    def received(self, columns: Iterable[str]) -> pl.DataFrame:
        """Seed, knobs and ``columns`` of what clients of a kind received in each second after the warm-up."""
        return self._read(table_schema.RECEIVED.file, columns)

    def wire(self, columns: Iterable[str]) -> pl.DataFrame:
        """Seed, knobs and ``columns`` of what all hosts sent in each second after the warm-up."""
        return self._read(table_schema.WIRE.file, columns)

    def round_trips(self, columns: Iterable[str]) -> pl.LazyFrame:
        """Seed, knobs and ``columns`` of every round trip that an exit measured after the warm-up: large
        plans have a hundred million, which are read when they are collected."""
        return self._scan(table_schema.ROUND_TRIPS.file, columns)

    def costs(self, columns: Iterable[str]) -> pl.DataFrame:
        """Seed, knobs and ``columns`` of every process of tor, over the whole run."""
        return self._read(table_schema.COSTS.file, columns)

    def settings(self, columns: Iterable[str]) -> pl.DataFrame:
        """Seed, knobs and ``columns`` of what the tors of each run have; no rows in tables from before."""
        if not (self.directory / table_schema.SETTINGS.file).is_file():
            return pl.DataFrame(schema=["seed", *self.knobs, *columns])
        return self._read(table_schema.SETTINGS.file, columns)

    def passages(self, keys: Mapping[str, object], columns: Sequence[str]) -> pl.DataFrame:
        """``columns`` of the cells that traced relays sent on in one run, of the seed and levels ``keys``."""
        file = self.directory / table_schema.PASSAGES.file
        read_provenance(file)
        chosen = [pl.col(name) == value for name, value in keys.items()]
        return pl.scan_parquet(file).filter(*chosen).select(columns).collect()

    def breakdown(self, columns: Iterable[str]) -> pl.DataFrame:
        """Seed, knobs and ``columns`` of the ways of followed downloads that started after the warm-up."""
        return self._read(table_schema.BREAKDOWN.file, columns)

    def _read(self, name: str, columns: Iterable[str]) -> pl.DataFrame:
        # Piece by piece: the texts of all rows at once would take several times as much as their levels.
        return self._scan(name, columns).collect(engine="streaming")

    def _scan(self, name: str, columns: Iterable[str]) -> pl.LazyFrame:
        file = self.directory / name
        read_provenance(file)
        order: dict[str, Sequence[str]] = dict(self.provenance.knobs)
        columns = list(columns)
        # Tables from before a column was added have nulls in it.
        added = {each: dtype for each, dtype in table_schema.later_columns(name).items() if each in columns}
        lacking = added.keys() - pl.read_parquet_schema(file).keys() if added else set()
        frame = scan_frame(file, ["seed", *self.knobs, *(each for each in columns if each not in lacking)])
        if lacking:
            frame = frame.with_columns(pl.lit(None, added[each]).alias(each) for each in sorted(lacking))
            frame = frame.select("seed", *self.knobs, *columns)
        if self.levels:
            chosen = [pl.col(name) == level for name, level in self.levels.items()]
            frame = frame.filter(pl.col("seed").is_in(self.provenance.seeds), *chosen)
        if "kind" in columns:
            order["kind"] = self.kinds
            frame = frame.filter(pl.col("kind").is_in(self.kinds))
        return frame.with_columns(level_order(order))


def at_levels(frame: pl.DataFrame, levels: Mapping[str, object]) -> pl.DataFrame:
    """The rows of ``frame`` at ``levels`` of knobs, or with other words in columns of these names."""
    return frame.filter(*(pl.col(name).cast(pl.String) == level for name, level in levels.items()))


def level_order(knobs: Mapping[str, Sequence[str]]) -> Sequence[pl.Expr]:
    """Expressions that make columns sort by the order of their levels here, not by the alphabet."""
    return [pl.col(knob).cast(pl.Enum(levels)) for knob, levels in knobs.items()]
