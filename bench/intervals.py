"""How often intervals cover, and how wide they are: of a fixed number of networks, and of one that grows.

    python -m bench.intervals [--out bench/results/intervals.json] [--sweeps 40000] [--medians medians.csv]

In: distributions of a network's value; with ``--medians``, a sweep's own medians.csv, whose logarithms of
ratios to the baseline, and plain ratios, are drawn from with replacement. Out: a JSON file and a table in
Markdown beside it. A sequential sweep covers when all intervals of its analyses do. The numbers depend on the
arguments alone, not on the machine.

Compared with the design in use are no correction at all, other functions that spend the error, and an
always-valid sequence of intervals (a mixture of t-tests over normal effect sizes of variance 1/c: Lai, Annals
of Statistics 4, 1976, 265–280; Wang and Ramdas, arXiv 2310.03722), which needs no bound on the networks.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import stats

from torsweep.config.experiment import load_experiment
from torsweep.stats.inference.interim import Spending, interim_confidences, obrien_fleming_spending
from torsweep.stats.inference.intervals import CONFIDENCE
from torsweep.stats.streams.differences import paired
from torsweep.storage import write_text

ROOT = Path(__file__).resolve().parent.parent
SIZES = np.arange(8, 97, 8)
FIXED_SIZES = (4, 8, 16, 32, 96)
SHOWN_SIZES = (8, 16, 32, 64, 96)
SEED = 20_260_101
IN_USE = "O'Brien–Fleming"

Numbers = npt.NDArray[np.float64]

SPENDING: Mapping[str, Spending] = {
    IN_USE: obrien_fleming_spending,
    "square": lambda share, error: error * share**2,
    "linear": lambda share, error: error * share,
    "Pocock": lambda share, error: float(error * np.log(1 + (np.e - 1) * share)),
}
MIXTURES = (4, 8, 16)


def half_widths() -> dict[str, Numbers]:
    """Half the interval at each look in standard errors, by design."""
    plain = stats.t.ppf((1 + CONFIDENCE) / 2, SIZES - 1)
    spent = {
        name: stats.t.ppf((1 + interim_confidences(SIZES.tolist(), CONFIDENCE, function)) / 2, SIZES - 1)
        for name, function in SPENDING.items()
    }
    return {"no correction": plain, **spent, **{f"mixture, c = {c}": _mixture(c) for c in MIXTURES}}


def _mixture(c: int) -> Numbers:
    """Where the Bayes factor of the t-statistic reaches 1 / error; infinite where it never does."""
    shrink = c / (SIZES + c)
    bound = (1 / (shrink * (1 - CONFIDENCE) ** 2)) ** (1 / SIZES)
    room = 1 - shrink * bound
    squared = np.where(room > 0, (bound - 1) / np.where(room > 0, room, 1), np.inf)
    return np.sqrt(squared * (SIZES - 1))


Draw = Callable[[np.random.Generator, tuple[int, int]], Numbers]


def distributions() -> dict[str, Draw]:
    """Ways in which a network's value may vary, each about a mean of 0."""
    return {
        "normal": lambda generator, shape: generator.normal(size=shape),
        "t, 5 degrees": lambda generator, shape: generator.standard_t(5, size=shape),
        "log-normal, 0.5": lambda generator, shape: (
            np.exp(0.5 * generator.normal(size=shape)) - np.exp(0.125)
        ),
    }


def resampled(medians: Path) -> dict[str, Draw]:
    """Draws from what a sweep of ``refill_sweep`` found, as logarithms of ratios and as ratios less 1."""
    experiment = load_experiment("refill_sweep", directory=ROOT / "experiments")
    runs, plan = pl.read_csv(medians), experiment.plan("main")
    found: dict[str, Draw] = {}
    for kind, metric in (("web", "ttfb"), ("web", "ttlb"), ("bulk", "ttfb")):
        chosen = runs.filter(pl.col("kind") == kind, pl.col("metric") == metric)
        for variant in plan.variants:
            if variant == plan.baseline:
                continue
            levels = dict(variant.levels)
            logarithms = paired(chosen, "median_s", dict(plan.baseline.levels), levels).log_ratio
            name = f"{kind} {metric}, {', '.join(levels.values())}"
            found[f"{name}: logarithm of the ratio"] = _draw_from(logarithms)
            found[f"{name}: ratio"] = _draw_from(np.exp(logarithms))
    return found


def _draw_from(population: Numbers) -> Draw:
    return lambda generator, shape: generator.choice(population, shape) - population.mean()


def coverage(draw: Draw, sweeps: int) -> dict[str, dict[str, float]]:
    """Share of sweeps whose intervals cover 0: of each fixed size, and at all analyses of each design."""
    values = draw(np.random.default_rng(SEED), (sweeps, int(SIZES[-1])))
    return {
        "fixed": {
            str(size): float((_t(values, np.array([size])) < stats.t.ppf(0.975, size - 1)).mean())
            for size in FIXED_SIZES
        },
        "all analyses": {
            name: float((_t(values, SIZES) < half).all(axis=1).mean()) for name, half in half_widths().items()
        },
    }


def _t(values: Numbers, sizes: npt.NDArray[np.int64]) -> Numbers:
    """|t| of the first networks of each sweep, a column for each size; 0 where they do not differ at all."""
    sums, squares = (part.cumsum(axis=1)[:, sizes - 1] for part in (values, values**2))
    means = sums / sizes
    errors = np.sqrt(np.maximum(squares - sizes * means**2, 0) / (sizes - 1) / sizes)
    return np.abs(means) / np.where(errors > 0, errors, np.inf)


def page(record: dict) -> str:
    """The record as Markdown."""
    designs = list(half_widths())
    lines = [
        "# Intervals",
        "",
        f"Share of {record['sweeps']:,} sweeps whose 95 % intervals cover the true value, "
        "by `python -m bench.intervals`. "
        f"Sequential: analyses after every 8 networks up to {SIZES[-1]}, all of which have to cover. "
        f"In use: {IN_USE}.",
        "",
        "| values | "
        + " | ".join(f"fixed, {size}" for size in FIXED_SIZES)
        + " | "
        + " | ".join(designs)
        + " |",
        "|---" * (1 + len(FIXED_SIZES) + len(designs)) + "|",
    ]
    for name, found in record["coverage"].items():
        cells = [*found["fixed"].values(), *found["all analyses"].values()]
        lines.append(f"| {name} | " + " | ".join(f"{100 * cell:.1f}" for cell in cells) + " |")
    lines += ["", "Half width of an interval in standard deviations of the values, at an analysis:", ""]
    lines += ["| networks | " + " | ".join(designs) + " |", "|---" * (1 + len(designs)) + "|"]
    for size in SHOWN_SIZES:
        cells = [record["half_widths"][name][str(size)] for name in designs]
        lines.append(f"| {size} | " + " | ".join("none" if c is None else f"{c:.3f}" for c in cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, and write the results."""
    parser = argparse.ArgumentParser(description="Measure how often intervals cover.")
    parser.add_argument("--out", type=Path, default=ROOT / "bench/results/intervals.json")
    parser.add_argument("--sweeps", type=int, default=40_000)
    parser.add_argument("--medians", type=Path, help="medians.csv of a plan main of refill_sweep")
    arguments = parser.parse_args()
    draws = distributions() | (resampled(arguments.medians) if arguments.medians else {})
    widths = {
        name: {
            str(size): float(half[at] / np.sqrt(size)) if np.isfinite(half[at]) else None
            for at, size in enumerate(SIZES)
        }
        for name, half in half_widths().items()
    }
    record = {
        "sweeps": arguments.sweeps,
        "coverage": {name: coverage(draw, arguments.sweeps) for name, draw in draws.items()},
        "half_widths": widths,
    }
    write_text(arguments.out, json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    write_text(arguments.out.with_suffix(".md"), page(record))
    print(page(record))


if __name__ == "__main__":
    main()
