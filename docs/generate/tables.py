"""The pages of tables of runs and of summaries: every file and every column.

In: :mod:`torsweep.engines.table_schema`, and each statistic below :mod:`torsweep.stats`. Out: the pages.
"""

from __future__ import annotations

import polars as pl

from docs.generate.markdown import code, prose, table
from torsweep.engines.table_schema import SCHEMAS, WORDS, TableSchema
from torsweep.stats.statistic import (
    CLAIMS_FILE,
    PLAN_FILE,
    SUMMARY_TABLES,
    SUMMARY_TEXT,
    Statistic,
    statistics,
)

HEADINGS = ("column", "meaning", "type")


def tables_page() -> list[str]:
    """The Parquet tables of a run and of a plan."""
    lines = ["# Tables of runs", ""]
    lines += [
        "An engine leaves these Parquet files in a run's folder. The tables of a plan are the same files with"
        " the rows of all runs; `seed` and a column for each knob come before the columns below. Empty cells"
        " stand only in columns that say so.",
        "",
    ]
    for schema in SCHEMAS:
        lines += [f"## {schema.name}", "", f"A row: {prose(schema.meaning)}.", "", *_columns(schema)]
    return lines


def summaries_page() -> list[str]:
    """The CSV files of a summary."""
    lines = ["# Files of summaries", ""]
    lines += [
        f"Beside these CSV files, a summary has `{CLAIMS_FILE}` (the verdicts), `{SUMMARY_TEXT}` (all of it"
        f" to read), `{SUMMARY_TABLES}` (the same for programs) and `{PLAN_FILE}` (what it was made from,"
        " with checksums). An empty cell is a number that is not there; a file without rows is left out.",
        "",
    ]
    for statistic in statistics().values():
        lines += statistic_lines(statistic)
    return lines


def statistic_lines(statistic: Statistic) -> list[str]:
    """One file of a summary."""
    return [f"## {statistic.name}", "", _of_statistic(statistic), "", *_statistic_columns(statistic)]


def _columns(schema: TableSchema) -> list[str]:
    rows = []
    for column in (*schema.columns, *schema.in_plans):
        words = WORDS.get(column.name, ())
        said = prose(column.meaning)
        if any(word not in said for word in words) and column.name != "kind":
            said += f": {', '.join(map(code, words))}"
        said += "; only of a plan's tables" * (column in schema.in_plans)
        rows.append((code(column.name), said, _type(column.dtype) + ", or empty" * column.nullable))
    return table(HEADINGS, rows)


def _of_statistic(statistic: Statistic) -> str:
    only = f" Only of runs that record {statistic.rests_on}." if statistic.rests_on else ""
    return f"A row: {prose(statistic.meaning)}.{only}"


def _statistic_columns(statistic: Statistic) -> list[str]:
    """The columns; neighbours with one type and meaning share a row."""
    rows: list[tuple[list[str], str, str]] = []
    for name, (dtype, meaning) in statistic.columns.items():
        shown = "each knob" if name == "KNOBS" else code(name)
        if rows and rows[-1][1:] == (prose(meaning), _type(dtype)):
            rows[-1][0].append(shown)
        else:
            rows.append(([shown], prose(meaning), _type(dtype)))
    return table(HEADINGS, [(", ".join(names), meaning, dtype) for names, meaning, dtype in rows])


def _type(dtype: type[pl.DataType] | pl.DataType) -> str:
    """The type in a word."""
    if dtype in (pl.String, pl.Categorical) or isinstance(dtype, pl.Enum):
        return "text"
    if dtype == pl.Boolean:
        return "true or false"
    return "number" if dtype.is_float() else "whole number"
