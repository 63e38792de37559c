"""Results as one data frame, for an analysis of one's own.

In: the folder of a plan's tables, a study, a bundle or an import, a folder that holds one of them, or the
name of an experiment or an import. Out: one of its tables.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl

from torsweep.engines.contract import STREAMS_FILE
from torsweep.engines.table_schema import SCHEMAS, STREAMS, WORDS, TableSchema
from torsweep.errors import InputError
from torsweep.formats.frames import read_metadata
from torsweep.runsets.imported import MANIFEST, open_import
from torsweep.runsets.reading import IMPORT, METADATA_KEY, PlanTables
from torsweep.runsets.run import read_table, with_paths

_PLACES = ("results/tables", "tables", "")
"""Where a folder has the tables of plans: a study, results or a bundle, and a folder among tables."""


def load_table(source: str | Path, table: str) -> pl.DataFrame:
    """See :func:`torsweep.load`."""
    schemas = {schema.name: schema for schema in SCHEMAS}
    if table not in schemas:
        raise InputError("is no table", key="table", value=table, accepted=", ".join(schemas))
    named = [Path("results", stage, source) for stage in ("imports", "tables")]
    folder = next((each for each in (Path(source), *named) if each.is_dir()), None)
    if folder is None:
        accepted = "a folder of results, or the name of an experiment or an import"
        raise InputError("no such results", value=str(source), accepted=accepted)
    if (folder / MANIFEST).is_file():
        return _of_import(folder, schemas[table])
    plans = next((plans for place in _PLACES if (plans := _plans(folder / place))), [])
    if len(plans) != 1:
        problem = f"holds the tables of {len(plans)} plans"
        raise InputError(problem, file=folder, accepted=f"one of {', '.join(map(str, plans))}" * bool(plans))
    tables = replace(PlanTables.open(plans[0]), kinds=WORDS["kind"])
    return tables.whole(schemas[table].file)


def _plans(folder: Path) -> list[Path]:
    """The folders of tables of plans in ``folder``; tables of runs say nothing of a plan."""
    files = sorted(folder.rglob(STREAMS_FILE)) if folder.is_dir() else []
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
