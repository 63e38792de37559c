"""The check of a table against its schema."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tests.synthetic import Size, streams
from torsweep.engines import table_schema
from torsweep.engines.table_schema import SCHEMAS, STREAMS, TableSchema, validate, with_later_columns
from torsweep.errors import InputError

FILE = Path("run/streams.parquet")


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    return streams({}, 1, Size(5, 2))


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda schema: schema.name)
def test_a_declared_table_has_the_constant_of_its_name(schema: TableSchema) -> None:
    assert getattr(table_schema, schema.name.upper()) is schema


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: t.drop("outcome"), ["outcome", "no streams table"]),
        (lambda t: t.with_columns(pl.lit(1).alias("more")), ["more", "no streams table"]),
        (lambda t: t.select(reversed(t.columns)), ["no streams table"]),
        (lambda t: t.with_columns(pl.col("start_us").cast(pl.Float64)), ["start_us", "no streams table"]),
        (lambda t: t.with_columns(pl.lit(None, pl.String).alias("kind")), ["kind", "empty"]),
        (lambda t: t.with_columns(pl.lit("browser").alias("kind")), ["kind", "browser", "web, bulk"]),
        (lambda t: t.with_columns(pl.lit("lost").alias("outcome")), ["outcome", "lost", "timeout"]),
    ],
)
def test_a_table_that_does_not_fit_is_refused(table: pl.DataFrame, change, words: list[str]) -> None:
    with pytest.raises(InputError) as error:
        validate(change(table), STREAMS, FILE)
    assert str(FILE) in str(error.value)
    assert all(word in str(error.value) for word in words)


def test_a_table_from_before_a_later_column_is_read_with_nulls_in_it(table: pl.DataFrame) -> None:
    before = table.drop("latest_byte_us")
    read = with_later_columns(before, STREAMS)
    assert validate(read, STREAMS, FILE)["latest_byte_us"].null_count() == table.height
    assert read.drop("latest_byte_us").equals(before)
    with pytest.raises(InputError, match="no streams table"):
        validate(with_later_columns(before.drop("outcome"), STREAMS), STREAMS, FILE)
