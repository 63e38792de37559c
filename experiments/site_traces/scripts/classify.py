"""How often a simple classifier names the page of a trace.

    pip install scikit-learn
    python -m experiments.site_traces.scripts.classify results/tables/site_traces/ENGINE

In: the tables of a plan whose runs have traced cells. Out: the share of pages that are named rightly, each by
a classifier that has seen other clients alone; and how often the most frequent site is right.
"""

from __future__ import annotations

import sys

import numpy as np
import polars as pl
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GroupKFold, cross_val_predict

import torsweep

PAGE, WARM_UP_NS, RELAY_COMMANDS = 1_000_000, 30_000_000_000, (3, 9)


def features(directions: np.ndarray) -> np.ndarray:
    """Cells out and in, and the sum of directions at 50 places of the trace (CUMUL, Panchenko 2016)."""
    total = np.cumsum(directions)
    places = np.linspace(0, len(total) - 1, 50)
    return np.array(
        [(directions > 0).sum(), (directions < 0).sum(), *np.interp(places, np.arange(len(total)), total)]
    )


def traces(cells: pl.DataFrame) -> pl.DataFrame:
    """A row for each page that began and ended in the measured time: site, directions of its cells."""
    cells = cells.filter(pl.col("command").is_in(RELAY_COMMANDS), pl.col("label") != "bulk")
    own = ["seed", "client"]
    pages = cells.with_columns(page=pl.col("download") // PAGE).sort("time_ns")
    pages = pages.group_by(*own, "page", "label", maintain_order=True).agg(
        pl.col("time_ns").min(), directions=pl.when("outward").then(1).otherwise(-1)
    )
    last = pl.col("page") == pl.col("page").max().over(own)
    return pages.filter(pl.col("time_ns") >= WARM_UP_NS, ~last)


def main(source: str) -> None:
    """Print how many pages are named rightly."""
    pages = traces(torsweep.load(source, "cells"))
    labels = pages["label"].to_numpy()
    inputs = np.stack([features(np.array(one)) for one in pages["directions"].to_list()])
    groups = pages.select(pl.concat_str("seed", "client", separator=" ")).to_series().to_numpy()
    forest = RandomForestClassifier(100, random_state=1)
    right = cross_val_predict(forest, inputs, labels, groups=groups, cv=GroupKFold(5)) == labels
    most = np.unique(labels, return_counts=True)[1].max() / len(labels)
    sites = len(set(labels))
    print(f"{right.sum()} of {len(right)} pages of {sites} sites ({right.mean():.1%}); chance {most:.1%}")


if __name__ == "__main__":
    main(sys.argv[1])
