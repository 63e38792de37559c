"""What every column of a table means, and a check that a frame fits.

Whichever engine ran, its tables have these columns in this order. A time that a download never reached is
null.

``tables.json`` declares them; cellsim is compiled with it. A table has ``row`` (what a row is), ``columns``,
``in_plans`` (those that only the tables of a plan have) and ``model`` (the model writes it). A column has
``name``, ``type``, ``meaning``, and where they hold ``empty`` (cells may be null), ``later`` (tables written
before it was added are read with nulls in it) and ``model``: ``none``, the model leaves it out, or ``full``,
the model leaves no cell empty.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from torsweep.config.tracing import BYTES, LEGS, PARTS, PLACES, POINTS
from torsweep.config.traffic import MARKOV, MEASURED_KINDS
from torsweep.errors import InputError
from torsweep.storage import whole_file

OUTCOMES = ("complete", "failed", "timeout", "unfinished")
"""How a download ended; ``unfinished`` was cut off by the end of the run."""


ROLES = ("authority", "relay", "client")
"""What a tor is in the network."""


@dataclass(frozen=True)
class Column:
    """One column: its polars type, its meaning with the unit, whether it may be null or came later."""

    name: str
    dtype: type[pl.DataType] | pl.DataType
    meaning: str
    nullable: bool = False
    later: bool = False


@dataclass(frozen=True)
class TableSchema:
    """The table ``name``: what a row is, its columns in order, and those that only tables of a plan have."""

    name: str
    meaning: str
    columns: tuple[Column, ...]
    in_plans: tuple[Column, ...] = ()

    @property
    def file(self) -> str:
        """The file of the table."""
        return f"{self.name}.parquet"

    @property
    def polars(self) -> dict[str, type[pl.DataType] | pl.DataType]:
        """Column name to polars type, in order."""
        return {column.name: column.dtype for column in self.columns}


_TYPES: dict[str, type[pl.DataType] | pl.DataType] = {
    "string": pl.String,
    "int64": pl.Int64,
    "int32": pl.Int32,
    "uint8": pl.UInt8,
    "bool": pl.Boolean,
    "name": pl.Categorical,
    "point": pl.Enum(POINTS),
}


def _column(declared: dict[str, Any]) -> Column:
    return Column(
        declared["name"],
        _TYPES[declared["type"]],
        declared["meaning"],
        nullable=declared.get("empty", False),
        later=declared.get("later", False),
    )


def _schemas() -> tuple[TableSchema, ...]:
    declared = json.loads(Path(__file__).with_name("tables.json").read_text(encoding="utf-8"))
    return tuple(
        TableSchema(
            name,
            table["row"],
            tuple(map(_column, table["columns"])),
            tuple(map(_column, table.get("in_plans", ()))),
        )
        for name, table in declared.items()
    )


SCHEMAS = _schemas()
"""Every table, in the order of ``tables.json``."""

_BY_NAME = {schema.name: schema for schema in SCHEMAS}
STREAMS = _BY_NAME["streams"]
RELAYS = _BY_NAME["relays"]
PROGRESS = _BY_NAME["progress"]
CIRCUITS = _BY_NAME["circuits"]
RECEIVED = _BY_NAME["received"]
WIRE = _BY_NAME["wire"]
ROUND_TRIPS = _BY_NAME["round_trips"]
COSTS = _BY_NAME["costs"]
SETTINGS = _BY_NAME["settings"]
RELAY_RATES = _BY_NAME["relay_rates"]
CLIENTS = _BY_NAME["clients"]
CELLS = _BY_NAME["cells"]
PASSAGES = _BY_NAME["passages"]
BREAKDOWN = _BY_NAME["breakdown"]

DEFAULT = "default"
"""In :data:`SETTINGS`, the value of an option or parameter that nothing has set."""

NOT_KNOWN = "not known"
"""In :data:`SETTINGS`, the value of an option of a tor that did not say its options."""

WORDS: dict[str, tuple[str, ...]] = {
    "kind": (*MEASURED_KINDS, MARKOV),
    "outcome": OUTCOMES,
    "byte": BYTES,
    "leg": LEGS,
    "place": PLACES,
    "part": PARTS,
    "role": ROLES,
}
"""What columns of words may hold, in whichever table."""


def write_table(
    run_directory: Path, schema: TableSchema, frame: pl.DataFrame, compression_level: int | None = None
) -> None:
    """Write ``frame`` as the table of ``schema``, as a whole; InputError when it does not fit."""
    file = run_directory / schema.file
    with whole_file(file) as temporary:
        whole = validate(frame, schema, file)
        whole.write_parquet(temporary, compression="zstd", compression_level=compression_level)


def with_later_columns(frame: pl.DataFrame, schema: TableSchema) -> pl.DataFrame:
    """``frame`` with nulls for the columns of ``schema`` that were added after it was written."""
    for place, column in enumerate(schema.columns):
        if column.later and column.name not in frame.columns:
            nulls = pl.Series(column.name, [None] * frame.height, column.dtype)
            frame = frame.clone().insert_column(min(place, frame.width), nulls)
    return frame


def later_columns(file: str) -> dict[str, type[pl.DataType] | pl.DataType]:
    """Name and type of the columns that were added to the table in ``file`` since its first version."""
    schema = next(schema for schema in SCHEMAS if schema.file == file)
    return {column.name: column.dtype for column in schema.columns if column.later}


def validate(frame: pl.DataFrame, schema: TableSchema, file: Path) -> pl.DataFrame:
    """``frame``, read from ``file``; InputError for other columns, types or order than those of ``schema``, a
    null where none may be, or a word that is none."""
    if list(frame.schema.items()) != list(schema.polars.items()):
        names = (*schema.polars, *frame.columns)
        first = next((name for name in names if frame.schema.get(name) != schema.polars.get(name)), None)
        problem = f"is no {schema.name} table of this version"
        raise InputError(problem, file=file, key=first, accepted=", ".join(schema.polars))
    for column in schema.columns:
        name, values = column.name, frame[column.name]
        if not column.nullable and values.null_count():
            raise InputError("holds empty cells", file=file, key=name, accepted="a value in every row")
        if others := set(values.unique()) - set(WORDS[name]) if name in WORDS else ():
            problem, accepted = "holds an unknown word", ", ".join(WORDS[name])
            raise InputError(problem, file=file, key=name, value=min(others), accepted=accepted)
    return frame
