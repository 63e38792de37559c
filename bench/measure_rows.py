"""The measures of one variant in several engines, side by side, as a table of a document.

    python -m bench.measure_rows docs/tables/measures_engines.csv SUMMARY_DIR…

In: summaries of one plan, each of another engine. Out: a CSV file with a row for each measure of all, of
web or bulk clients, or of the tors of relays or clients: its unit, and for each engine the mean over networks
in the plan's baseline. An engine without the measure has an empty cell. What all processes cost together is
left out, as it grows with the length of a run.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from bench.writing import csv_text
from torsweep.stats.files import read_plan
from torsweep.stats.measures.summary import MEASURE_MEANS, MEASURES
from torsweep.storage import write_text

GROUPS = ("all", "web", "bulk", "relay", "client")
NAMES = {name: f"{measure.topic}: {measure.label}" for name, measure in MEASURES.items()}
LEFT_OUT = ("processor_time_total", "peak_memory_total")


def of_engine(summary: Path) -> tuple[str, pl.DataFrame]:
    """The engine of ``summary``; measure, group, unit and mean of its baseline, named after the engine."""
    plan = read_plan(summary)
    chosen = [pl.col(knob).cast(pl.String) == level for knob, level in plan["baseline"].items()]
    frame = MEASURE_MEANS.read(summary).filter(pl.col("group").is_in(GROUPS), *chosen)
    engine = str(plan["engine"])
    return engine, frame.select("measure", "group", "unit", pl.col("mean").alias(engine))


def rows(summaries: Sequence[Path]) -> pl.DataFrame:
    """A row for each measure and group that any of the ``summaries`` has, in the order of the measures."""
    keys = ["measure", "group", "unit"]
    first, *others = (frame for _, frame in map(of_engine, summaries))
    for other in others:
        first = first.join(other, on=keys, how="full", coalesce=True)
    order = {name: place for place, name in enumerate(MEASURES)}
    places = {group: place for place, group in enumerate(GROUPS)}
    return (
        first.filter(~pl.col("measure").is_in(LEFT_OUT))
        .sort(pl.col("measure").replace_strict(order), pl.col("group").replace_strict(places))
        .with_columns(name=pl.col("measure").replace_strict(NAMES))
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("summaries", type=Path, nargs="+")
    given = parser.parse_args(arguments)
    table = rows(given.summaries).with_columns(pl.col(pl.Float64).round_sig_figs(3))
    write_text(given.out, csv_text(table.columns, table.to_dicts()))


if __name__ == "__main__":
    main()
