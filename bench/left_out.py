"""Whether the spread of one A/A study serves another: on the studies that stand.

    python -m bench.left_out [--out bench/results/left_out.csv]

In: ``bench/results/alike.csv``, a row for each network of A/A studies: engine, study, kind, measure, and the
logarithm of the ratio. Out: of each engine, and of 3, 4, 5 and 8 networks, how often an interval of 99 %
excludes 0, though nothing differs, as a t-interval and as a moderated one: of each choice of so many networks
of one study, the spread known from each other study.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import combinations, permutations
from pathlib import Path

import numpy as np
import polars as pl

from bench.coverage import ROOT
from bench.verdict_rule import bounds, shown
from bench.writing import write_rows

ALIKE = ROOT / "bench/results/alike.csv"
CONFIDENCE = 0.99


def left_out(rows: pl.DataFrame) -> Iterator[dict[str, object]]:
    """A row for each engine and number of networks; measures that a network lacks are left out."""
    for (engine,), of_engine in rows.group_by("engine", maintain_order=True):
        for networks in (3, 4, 5, 8):
            found = []
            for _, of_measure in of_engine.group_by("kind", "measure", maintain_order=True):
                studies = [
                    one["log_ratio"].to_numpy()
                    for _, one in of_measure.group_by("study", maintain_order=True)
                    if one["log_ratio"].is_not_null().all()
                ]
                for study, other in permutations(studies, 2):
                    values = np.array(list(combinations(study, networks)))
                    known = np.full(len(values), np.sqrt(np.mean(other**2)))
                    plain = shown(*bounds(values, CONFIDENCE, None)).mean()
                    found.append((plain, shown(*bounds(values, CONFIDENCE, known, len(other))).mean()))
            if found:
                plain, moderated = np.mean(found, axis=0)
                yield {
                    "engine": engine,
                    "networks": networks,
                    "pairs_of_studies_and_measures": len(found),
                    "plain_shown": round(float(plain), 4),
                    "moderated_shown": round(float(moderated), 4),
                }


def main() -> None:
    """Write the rows."""
    parser = argparse.ArgumentParser(prog="python -m bench.left_out")
    parser.add_argument("--out", type=Path, default=ROOT / "bench/results/left_out.csv")
    write_rows(parser.parse_args().out, left_out(pl.read_csv(ALIKE)))


if __name__ == "__main__":
    main()
