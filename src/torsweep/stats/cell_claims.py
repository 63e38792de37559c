"""What a claim about cells inside a relay comes to.

In: the claim, and the times of the cells of each run (:mod:`torsweep.stats.cell_times`). Out: one question,
with a number for each network.

- ``cell_median``: the median time of RELAY cells in the relay, in ms. Shown: its interval lies on the
  claimed side of the bound. The opposite: it lies on the other.
- ``quiet_slower``: the median of quiet circuits' cells against that of busy ones', as a ratio in each
  network. Shown: above 0. The opposite: below. No difference: within ± the margin.
- ``cell_stage``: the share of the stage in the time of all cells together. Shown: above the claimed share.
  The opposite: below.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

from torsweep.config.claims import CellMedian, CellStage, QuietSlower
from torsweep.stats.cell_times import ANY, TOTAL
from torsweep.stats.questions import Question

AnyCellClaim = CellMedian | QuietSlower | CellStage


def cell_question(
    claim: AnyCellClaim, runs: pl.DataFrame, levels: Mapping[str, str], place: str, margin: float
) -> Question:
    """The question of ``claim`` at ``levels``, which ``place`` names; ``runs`` is of all networks and
    variants."""
    chosen = runs.filter(
        *(pl.col(knob) == level for knob, level in levels.items()), pl.col("host") == claim.host
    )
    seeds = runs["seed"].unique().sort()
    if isinstance(claim, CellMedian):
        return _median(claim, _values(chosen, seeds, "all", TOTAL, "median_ms"), place)
    if isinstance(claim, CellStage):
        part, whole = (_values(chosen, seeds, "all", stage, "mean_ms") for stage in (claim.stage, TOTAL))
        least = claim.least
        return Question(
            f"share of {claim.stage}, {place}",
            part / whole,
            f"> {least:g}",
            lambda i: i.low > least,
            lambda i: i.high < least,
        )
    quiet, busy = (_values(chosen, seeds, circuits, TOTAL, "median_ms") for circuits in ("quiet", "busy"))
    same = margin if claim.margin is None else claim.margin
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.log(quiet / busy)
    return Question(
        f"median of quiet against busy circuits, {place}",
        np.where(np.isfinite(ratio), ratio, np.nan),
        "> 0",
        lambda i: i.low > 0,
        lambda i: i.high < 0,
        lambda i: i.low > -same and i.high < same,
        logarithms=True,
    )


def _median(claim: CellMedian, values: NDArray[np.float64], place: str) -> Question:
    if claim.at_least is not None:
        least = claim.at_least / 1e6
        return Question(
            f"median in ms, {place}",
            values,
            f"≥ {least:g}",
            lambda i: i.low >= least,
            lambda i: i.high < least,
        )
    assert claim.at_most is not None, "a claim has one of the two bounds"
    most = claim.at_most / 1e6
    return Question(
        f"median in ms, {place}", values, f"≤ {most:g}", lambda i: i.high <= most, lambda i: i.low > most
    )


def _values(
    runs: pl.DataFrame, seeds: pl.Series, circuits: str, stage: str, column: str
) -> NDArray[np.float64]:
    """``column`` of the cells of ``circuits``, one a network; NaN where a network had none."""
    section = {"circuits": circuits, "direction": ANY, "command": ANY, "queue": ANY, "stage": stage}
    own = runs.filter(*(pl.col(name) == value for name, value in section.items()))
    paired = seeds.to_frame().join(own.select("seed", column), on="seed", how="left", maintain_order="left")
    return paired[column].fill_null(float("nan")).to_numpy()
