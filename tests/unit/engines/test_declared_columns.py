"""Python and cellsim each declare the columns of the tables once, and both say the same.

Python's declaration is what every engine's tables are checked against; cellsim makes its files from its own,
which ``cellsim schema`` prints.
"""

from __future__ import annotations

import json
import subprocess

import polars as pl
import pytest

from torsweep.engines.table_schema import (
    BREAKDOWN,
    CELLS,
    CIRCUITS,
    PROGRESS,
    RECEIVED,
    RELAYS,
    ROUND_TRIPS,
    STREAMS,
    WIRE,
)

SCHEMAS = (STREAMS, RELAYS, PROGRESS, CIRCUITS, RECEIVED, WIRE, ROUND_TRIPS, CELLS, BREAKDOWN)

TYPES = {"int32": pl.Int32, "int64": pl.Int64, "string": pl.String, "bool": pl.Boolean}


CONFLUX = {"conflux_set", "round_trip_us", "bytes_read"}


@pytest.fixture(scope="module")
def stated() -> dict[str, list[dict[str, object]]]:
    """Table to its columns, as cellsim states them."""
    done = subprocess.run(["cellsim", "schema"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_cellsim_has_the_tables_of_every_engine(stated):
    assert set(stated) == {schema.name for schema in SCHEMAS}


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda schema: schema.name)
def test_columns_are_the_same_in_both(schema, stated):
    columns = stated[schema.name]
    # What Python reads as one of few words, cellsim writes as a text.
    declared = {
        name: pl.String if kind in (pl.Categorical, pl.Enum) else kind for name, kind in schema.polars.items()
    }
    # The model has no Conflux, and its tables no columns about it.
    written = {column["name"] for column in columns}
    declared = {name: kind for name, kind in declared.items() if name in written or name not in CONFLUX}
    assert [(column["name"], TYPES[column["type"]]) for column in columns] == list(declared.items())
    may_be_missing = {column["name"] for column in columns if column["nullable"]}
    assert may_be_missing <= {column.name for column in schema.columns if column.nullable}
