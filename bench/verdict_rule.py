"""How often the verdict of `torsweep compare` is wrong, and what its four measures cost in power.

    python -m bench.verdict_rule [--out bench/results/verdict_rule.md]

In: made values of networks, of web and bulk clients: of times normal ones, a standard deviation each; of
clients without progress and failed downloads counts. Out: tables in Markdown. The rule of one measure is that
of :mod:`torsweep.stats.claims.change` with the whole error on the same download. The numbers depend on
nothing else.

A study shows something where the interval of any line excludes 0 at any of its looks; it makes no difference
where all lines of a kind lie within their bounds and every network within three times these.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy import stats

from bench.coverage import ROOT, t_statistics
from torsweep.stats.claims.change import (
    BESIDE,
    ERROR_SHARES,
    SHARE_MEASURES,
    TIME_MEASURES,
    WIDER,
    same_download_confidence,
)
from torsweep.stats.inference.interim import Design
from torsweep.stats.inference.intervals import CONFIDENCE, bonferroni, share_interval
from torsweep.stats.inference.planning import POWER, power
from torsweep.storage import write_text

SEED = 20_260_102
STUDIES, KINDS, BYTES = 4_000, 2, 2
SAME, OTHER_TIMES, SHARES = BYTES * KINDS, 2 * BYTES * KINDS, len(SHARE_MEASURES) * KINDS
CLIENTS, STUCK = 60, 0.01
"""Counted on each side of a network, and the share of them that gets nothing."""

LOOKS = ((8,), (8, 16), (8, 16, 24, 32, 40), (3, 6), (3, 6, 12, 24))
NETWORK_COUNTS = (3, 4, 6, 8, 12, 16, 24)
SPREADS = {"paired": (0.011, 0.014), "mean": (0.014, 0.026), "p90": (0.034, 0.086)}
"""First and last byte of web clients: of the same download in real tor (0025), else in the model."""

Numbers = npt.NDArray[np.float64]


def levels(design: Design, networks: int) -> tuple[float, float]:
    """The confidence of a line of the same download, and of one beside it."""
    beside = 1 - (1 - CONFIDENCE) * ERROR_SHARES[BESIDE] / (OTHER_TIMES + SHARES)
    same = same_download_confidence(SAME)
    return design.confidence_at(networks, same), design.confidence_at(networks, beside)


def times_shown(values: Numbers, level: float) -> npt.NDArray[np.bool_]:
    """Which studies, of shape (studies, lines, networks), have a line whose interval excludes 0."""
    bound = stats.t.ppf((1 + level) / 2, values.shape[-1] - 1)
    return (abs(t_statistics(values)) > bound).any(axis=1)


def shares_shown(counts: Numbers, level: float) -> npt.NDArray[np.bool_]:
    """Which studies show a difference in ``counts``, of shape (studies, lines, sides, networks)."""
    of = np.full(counts.shape[-1], CLIENTS)
    return np.array(
        [
            any(
                not interval.low <= 0 <= interval.high
                for line in study
                for interval in [share_interval(*(np.column_stack([side, of]) for side in line), level)]
            )
            for study in counts
        ]
    )


def alike_that_show(looks: Sequence[int], freedom: int | None) -> float:
    """The share of A/A studies that show anything, with normal values or Student's t of so many degrees."""
    draw = np.random.default_rng(SEED)
    shape = (STUDIES, SAME + OTHER_TIMES, looks[-1])
    values = draw.normal(size=shape) if freedom is None else draw.standard_t(freedom, shape)
    counts = draw.binomial(CLIENTS, STUCK, (STUDIES, SHARES, 2, looks[-1]))
    design, shown = Design(), np.zeros(STUDIES, dtype=bool)
    for networks in looks:
        design = design.look(networks)
        same, beside = levels(design, networks)
        shown |= times_shown(values[:, :SAME, :networks], same)
        shown |= times_shown(values[:, SAME:, :networks], beside)
        shown |= shares_shown(counts[..., :networks], beside)
    return float(shown.mean())


def no_difference(changes: Numbers, networks: int, one_measure: bool) -> float:
    """The share of studies of web clients whose times make no difference; ``changes`` are true logarithms of
    ratios of each study, network and measure, shape (studies, networks, 3)."""
    draw = np.random.default_rng(SEED + networks)
    same, beside = levels(Design().look(networks), networks)
    if one_measure:
        same = Design().look(networks).confidence_at(networks, bonferroni(CONFIDENCE, SAME))
    alike = np.ones(len(changes), dtype=bool)
    for number, (measure, spreads) in enumerate(SPREADS.items()):
        if one_measure and measure != "paired":
            continue
        level, bound = same if measure == "paired" else beside, np.log1p(TIME_MEASURES[measure])
        for spread in spreads:
            values = changes[:, :, number] + spread * draw.normal(size=changes.shape[:2])
            half = stats.t.ppf((1 + level) / 2, networks - 1) * values.std(axis=1, ddof=1) / np.sqrt(networks)
            alike &= abs(values.mean(axis=1)) + half < bound
            if not one_measure:
                alike &= (abs(values) < WIDER * bound).all(axis=1)
    return float(alike.mean())


def true_changes(what: str, networks: int) -> Numbers:
    """Logarithms of ratios for what happens to web clients: nothing, to a fifth of the downloads, or to one
    network of twenty."""
    changes = np.zeros((STUDIES, networks, len(SPREADS)))
    if what == "a fifth of the downloads twice as slow":
        changes[:] = np.log([1.053, 1.18, 1.39])
    elif what == "one network of twenty three times as slow":
        changes[np.random.default_rng(SEED).random((STUDIES, networks)) < 1 / 20] = np.log(3)
    elif what == "20 % of the clients cut off at any moment":
        changes[:] = np.log([1.004, 1.6, 1.29])
    elif what == "the mean at its bound":
        changes[..., 1] = np.log1p(TIME_MEASURES["mean"])
    return changes


HAPPENINGS = (
    "nothing",
    "the mean at its bound",
    "a fifth of the downloads twice as slow",
    "20 % of the clients cut off at any moment",
    "one network of twenty three times as slow",
)


def price(networks: int) -> tuple[float, float]:
    """How much wider an interval of the same download is than with the whole error, and with which chance it
    shows the change that the latter shows with 80 %."""
    design = Design().look(networks)
    before = design.confidence_at(networks, bonferroni(CONFIDENCE, SAME))
    after, _ = levels(design, networks)
    old, new = (float(stats.t.ppf((1 + level) / 2, networks - 1)) for level in (before, after))
    sizes = np.linspace(0, 40, 4_001)
    change = sizes[np.searchsorted([power(networks - 1, size, old) for size in sizes], POWER)]
    return new / old, power(networks - 1, float(change), new)


def page() -> str:
    """The tables."""
    lines = ["# The verdict of four measures", "", "By `python -m bench.verdict_rule`.", ""]
    lines += [f"Percent of {STUDIES:,} A/A studies of web and bulk clients that show anything on any of"]
    lines += [
        f"{SAME + OTHER_TIMES + SHARES} lines:",
        "",
        "| looks at | normal | t, 5 degrees |",
        "|---|---|---|",
    ]
    for looks in LOOKS:
        cells = (f"{100 * alike_that_show(looks, freedom):.1f}" for freedom in (None, 5))
        lines.append(f"| {', '.join(map(str, looks))} | {' | '.join(cells)} |")
    lines += ["", "The price on the same download, at a first look, against the whole error on it:", ""]
    lines += ["| networks | interval, times as wide | chance of what had 80 %, % |", "|---|---|---|"]
    for networks in NETWORK_COUNTS:
        wider, chance = price(networks)
        lines.append(f"| {networks} | {wider:.2f} | {100 * chance:.0f} |")
    lines += [
        "",
        "Percent of studies whose times of web clients end in *no difference*, by the same download",
    ]
    lines += [
        "alone, and by all measures:",
        "",
        "| what happens | 3 networks | 4 | 8 | 20 |",
        "|---|---|---|---|---|",
    ]
    for what in HAPPENINGS:
        cells = []
        for networks in (3, 4, 8, 20):
            changes = true_changes(what, networks)
            alone, together = (100 * no_difference(changes, networks, one) for one in (True, False))
            cells.append(f"{alone:.0f}, {together:.0f}")
        lines.append(f"| {what} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def main() -> None:
    """Simulate, and write the tables."""
    parser = argparse.ArgumentParser(description="How often verdicts are wrong, and what they cost.")
    parser.add_argument("--out", type=Path, default=ROOT / "bench/results/verdict_rule.md")
    write_text(parser.parse_args().out, page())


if __name__ == "__main__":
    main()
