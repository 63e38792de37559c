"""A comparison as tables of documents.

    python -m bench.compare_rows results/compare/…/main docs/tables/findings_refill

In: the folder that ``torsweep results compare`` wrote. Out, where the comparison has the table:
``STEM_verdicts.csv`` with a row for each claim and ``STEM_contrasts.csv`` with one for each contrast, both
with a column for every source that documents know, and "–" where there is nothing, so that the columns of a
document's table stay when other sources have run; and ``STEM_distances.csv`` with a row for each variant and
network of the web clients: greatest gap (KS), medians and ninth deciles of first and last bytes of the second
source and of the reference, and whether the gap's mean over networks is within the aim; then one for each
repeat of the reference. `make docs-tables` writes them into the documents.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from plotting.drawing.palette import level_name
from torsweep.compare.comparison import Comparison, read_comparison
from torsweep.compare.distances import BEYOND, WITHIN
from torsweep.compare.sources import REPEATS, RUNS
from torsweep.compare.text import CONTRAST_KEYS, ratio_text
from torsweep.stats.text import SHOWN_METRICS
from torsweep.storage import write_text

COLUMNS: Mapping[str, str] = {
    "cellsim": "linux",
    "cellsim+tcp=linux_6_18": "linux_6_18",
    "emulation": "emulation",
    "shadow": "shadow",
    "shadow-no-rtt": "shadow_no_rtt",
}
NOTHING = "–"
TIMES = {"ttfb": "first", "ttlb": "last"}
NUMBERS = {"ks": "ks", "p50_s": "model_s", "p90_s": "model_p90_s"} | {
    "p50_against_s": "reference_s",
    "p90_against_s": "reference_p90_s",
}
_WITHIN = {WITHIN: "yes", BEYOND: "no"}


def verdict_rows(table: pl.DataFrame) -> pl.DataFrame:
    """A row for each claim: the verdict and the networks under each source, and what they say together."""
    rows = []
    for own in table.partition_by("claim", "setting", maintain_order=True):
        verdicts = {
            COLUMNS[row["source"]]: f"{row['verdict']} ({row['networks']})"
            for row in own.iter_rows(named=True)
            if row["source"] in COLUMNS and row["networks"]
        }
        name, said = own["claim"][0].replace("_", " "), own["together"][0]
        rows.append({"claim": name, **_all(verdicts), "together": said})
    return pl.DataFrame(rows)


def contrast_rows(table: pl.DataFrame) -> pl.DataFrame:
    """A row for each contrast: the time, the levels, the ratio under each source, and what they say
    together."""
    rows = []
    for own in table.partition_by(CONTRAST_KEYS, maintain_order=True):
        first = own.row(0, named=True)
        ratios = {
            COLUMNS[row["source"]]: ratio_text(row)
            for row in own.iter_rows(named=True)
            if row["source"] in COLUMNS
        }
        rows.append(
            {
                "kind": first["kind"],
                "time": f"{first['kind']}, {SHOWN_METRICS[first['metric']]}",
                "knob": first["knob"],
                "at": words(first["at"] or ""),
                "contrast": contrast_words(first),
                **_all(ratios),
                "together": first["together"],
            }
        )
    return pl.DataFrame(rows)


def distance_rows(comparison: Comparison) -> pl.DataFrame:
    """A row for each variant and network of the second source, then for each repeat of the reference:
    ``first_`` and ``last_`` columns for the two times of the web clients."""
    reference, second, knobs = *comparison.origin.sources[:2], comparison.origin.knobs
    web = {name: comparison.tables[name].filter(pl.col("kind") == "web") for name in ("distances", "gaps")}
    names = {
        f"{number}_{metric}": f"{time}_{number}"
        for metric, time in TIMES.items()
        for number in NUMBERS.values()
    }
    judged = web["gaps"].filter(pl.col("source") == second.label)
    within = judged.with_columns(pl.col("verdict").replace_strict(_WITHIN, default=NOTHING)).pivot(
        "metric", index=knobs, values="verdict"
    )
    frames = []
    for label, series, before in (
        (second.label, RUNS, ""),
        (reference.label, REPEATS, "the reference again: "),
    ):
        chosen = web["distances"].filter(pl.col("source") == label, pl.col("series") == series)
        if chosen.is_empty():
            continue
        wide = chosen.select(*knobs, "seed", "metric", *NUMBERS).rename(NUMBERS)
        wide = wide.pivot("metric", index=[*knobs, "seed"]).join(
            within, on=knobs, how="left", maintain_order="left"
        )
        variant = pl.concat_str(
            [pl.col(knob).map_elements(level_name, return_dtype=pl.String) for knob in knobs], separator=", "
        )
        judgement = (pl.col(metric) if series == RUNS else pl.lit(NOTHING) for metric in TIMES)
        frames.append(
            wide.sort("seed", maintain_order=True).select(
                (pl.lit(before) + variant).alias("variant"),
                pl.col("seed").alias("network"),
                *(pl.col(name).alias(column) for name, column in names.items()),
                *(one.alias(f"{time}_within") for one, time in zip(judgement, TIMES.values(), strict=True)),
            )
        )
    return pl.concat(frames)


def _all(known: Mapping[str, str]) -> dict[str, str]:
    return {column: known.get(column, NOTHING) for column in COLUMNS.values()}


def contrast_words(row: Mapping[str, Any]) -> str:
    """What a row of the contrasts is between: the two levels, and the levels of the other knobs."""
    at = words(row["at"] or "")
    return f"{level_name(row['from'])} → {level_name(row['to'])}" + (f", {at}" if at else "")


def words(levels: str) -> str:
    """Levels of knobs, between commas, as a reader would write them."""
    return ", ".join(map(level_name, levels.split(", "))) if levels else ""


def main(arguments: list[str] | None = None) -> None:
    """Write the tables that apply."""
    parser = argparse.ArgumentParser(prog="python -m bench.compare_rows")
    parser.add_argument("comparison", type=Path)
    parser.add_argument("stem", type=Path, help="of the CSV files, such as docs/tables/findings_refill")
    options = parser.parse_args(arguments)
    found = read_comparison(options.comparison)
    # The table of a document, what it is made from, and how.
    made = (
        ("verdicts", "verdicts", lambda: verdict_rows(found.tables["verdicts"])),
        ("contrasts", "contrasts", lambda: contrast_rows(found.tables["contrasts"])),
        ("distances", "gaps", lambda: distance_rows(found)),
    )
    for name, needed, rows in made:
        if needed in found.tables:
            write_text(options.stem.with_name(f"{options.stem.name}_{name}.csv"), rows().write_csv())


if __name__ == "__main__":
    main()
