"""How often the verdict of `torsweep compare` is wrong, and what it shows: lines by themselves, and whole
pages.

    python -m bench.verdict_rule [--out bench/results/verdict_rule.csv]

In: made values of networks, normal or with heavy tails, whose standard deviation differs between studies as
:data:`torsweep.stats.inference.moderation.BETWEEN_STUDIES` says and is known from an earlier study of a few
networks. Out: two CSV files: of a line at 1 % by a t-interval and by the moderated one, and beside it
(``_pages``) of pages with the lines of a comparison of web clients and large downloads. The numbers depend on
nothing else.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy import special

from bench.coverage import ROOT
from bench.writing import end_with, write_rows
from torsweep.stats.claims.change import (
    BESIDE,
    ERROR_SHARES,
    same_download_confidence,
)
from torsweep.stats.inference.interim import Design
from torsweep.stats.inference.intervals import CONFIDENCE
from torsweep.stats.inference.moderation import BETWEEN_STUDIES, EFFECT_VARIES, freedom

SEED = 20_260_102
STUDIES, PAGES = 40_000, 10_000
KNOWN = 4
"""Networks of the study from which the spread is known."""
SAME, SLOW = 4, 12
"""Lines of the same download of web clients and large downloads, and lines beside them."""
LOOKS = ((3,), (4,), (8,), (8, 16), (3, 6))

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """What happens: a mean ``change`` in standard deviations of chance, which ``varies`` over networks by a
    part of it; chance with Student's t of ``tail`` degrees, ``wider`` than is known; spreads of studies apart
    by e^±``apart``."""

    words: str
    change: float = 0.0
    varies: float = EFFECT_VARIES
    tail: float | None = None
    apart: float = BETWEEN_STUDIES**0.5 / 2
    wider: float = 1.0


CASES = (
    Case("nothing"),
    Case("nothing; Student's t of 5 degrees", tail=5),
    Case("nothing; studies apart by e^±0.5", apart=0.5),
    Case("nothing; twice the spread that is known", wider=2),
    Case("2.5, varies by 0.3 of its mean", 2.5),
    Case("5, varies by 0.3", 5),
    Case("5, varies by 0.6", 5, 0.6),
)


def chance(draw: np.random.Generator, shape: tuple[int, ...], tail: float | None) -> Numbers:
    """Values with a standard deviation of 1."""
    if tail is None:
        return draw.standard_normal(shape)
    return draw.standard_t(tail, shape) / np.sqrt(tail / (tail - 2))


def drawn(case: Case, studies: int, networks: int, known: int) -> tuple[Numbers, Numbers]:
    """Values, shape (studies, networks), and the spread that an earlier study of ``known`` networks had."""
    draw = np.random.default_rng(SEED + networks)
    spread = case.wider * np.exp(draw.normal(0, case.apart, (studies, 1)))
    effect = case.change * (1 + case.varies * draw.standard_normal((studies, networks)))
    before = np.sqrt(np.mean(chance(draw, (studies, known), case.tail) ** 2, axis=1))
    return effect + spread * chance(draw, (studies, networks), case.tail), before


def bounds(
    values: Numbers, level: float, known: Numbers | None, networks: int = 0
) -> tuple[Numbers, Numbers]:
    """The t-interval of each study, or the moderated one where the spread is ``known`` from so many
    networks."""
    many, mean = values.shape[1], values.mean(axis=1)
    own, prior = values.var(axis=1, ddof=1), freedom(networks) if known is not None else 0.0
    total = many - 1 + prior
    square = float(special.stdtrit(total, 0.5 + level / 2)) ** 2 / many
    variance = ((many - 1) * own + (prior * known**2 if known is not None else 0.0)) / total
    curvature = 1 - square * prior / total * EFFECT_VARIES**2
    if known is not None and curvature <= 0:
        return bounds(values, level, None)
    reach = np.sqrt(mean**2 - curvature * (mean**2 - square * variance))
    return (mean - reach) / curvature, (mean + reach) / curvature


def shown(low: Numbers, high: Numbers) -> npt.NDArray[np.bool_]:
    """Which intervals exclude 0."""
    return (low > 0) | (high < 0)


def lines() -> Iterator[dict[str, object]]:
    """A row for each number of networks and case of a single line at 1 %.

    The change of a case is in standard deviations of chance."""
    for networks, case in product((3, 4, 5, 8), CASES):
        values, before = drawn(case, STUDIES, networks, KNOWN)
        plain, low_high = bounds(values, 0.99, None), bounds(values, 0.99, before, KNOWN)
        covered = (low_high[0] <= case.change) & (case.change <= low_high[1])
        yield {
            "networks": networks,
            "case": case.words,
            "t_shown_percent": f"{100 * np.mean(shown(*plain)):.1f}",
            "moderated_shown_percent": f"{100 * np.mean(shown(*low_high)):.1f}",
            "moderated_covers_percent": f"{100 * np.mean(covered):.1f}",
        }


def pages_that_show(looks: tuple[int, ...], case: Case, known: int) -> float:
    """The share of A/A pages that show anything on any line of times at any look; shares add at most
    theirs."""
    design, found = Design(), np.zeros(PAGES, dtype=bool)
    values, before = drawn(case, PAGES * (SAME + SLOW), looks[-1], known)
    for networks in looks:
        design = design.look(networks)
        same = design.confidence_at(networks, same_download_confidence(SAME))
        slow = design.confidence_at(networks, 1 - (1 - CONFIDENCE) * ERROR_SHARES[BESIDE] / SLOW)
        cut = PAGES * SAME
        for part, level in ((slice(0, cut), same), (slice(cut, None), slow)):
            each = shown(*bounds(values[part, :networks], level, before[part], known))
            found |= each.reshape(-1, PAGES).any(axis=0)
    return float(found.mean())


def pages() -> Iterator[dict[str, object]]:
    """A row for each sequence of looks: percent of A/A pages that show anything."""
    for looks in LOOKS:
        normal, tail, twice = (100 * pages_that_show(looks, CASES[number], KNOWN) for number in (0, 1, 3))
        yield {
            "looks": " ".join(map(str, looks)),
            "normal": f"{normal:.1f}",
            "t_of_5_degrees": f"{tail:.1f}",
            "twice_the_spread": f"{twice:.1f}",
        }


def main() -> None:
    """Simulate, and write the files."""
    parser = argparse.ArgumentParser(description="How often verdicts are wrong, and what they show.")
    parser.add_argument("--out", type=Path, default=ROOT / "bench/results/verdict_rule.csv")
    out = parser.parse_args().out
    write_rows(out, lines())
    write_rows(out.with_stem(f"{out.stem}_pages"), pages())


if __name__ == "__main__":
    end_with(main)
