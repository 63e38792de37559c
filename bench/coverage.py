"""How often intervals miss, at the levels of verdicts, with skewed values and with several looks.

    python -m bench.coverage [--out bench/results/coverage.csv] [--medians medians.csv]

In: distributions of a network's value; with ``--medians``, a sweep's medians.csv, whose logarithms of ratios
to the baseline are drawn from with replacement: all of web and of bulk clients, each scaled to one spread,
and the most skewed contrast alone. Out: two CSV files, of single intervals and, beside it (``_looks``), of
studies with several looks. The numbers depend on the arguments alone.

Compared with Student's t are the bootstrap-t (Efron and Tibshirani, An Introduction to the Bootstrap, 1993,
section 12.5) and a test of sign flips, whose interval misses where it rejects the true mean.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import stats

from bench.writing import end_with, write_rows
from torsweep.stats.inference.interim import Design
from torsweep.stats.inference.intervals import bonferroni
from torsweep.stats.streams.differences import paired

ROOT = Path(__file__).resolve().parent.parent
NETWORK_COUNTS, CONFIDENCES = (3, 4, 6, 8, 12, 24), (0.95, 0.9875, 0.99375)
SWEEPS, RESAMPLED_SWEEPS, BOOTSTRAP_RESAMPLES = 100_000, 1_000, 999
AA_STUDIES, LINES = 20_000, 4
LOOKS = ((8,), (8, 16), (8, 16, 24, 32, 40), (3, 6), (3, 6, 12, 24))
SEED = 20_260_101

Numbers = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, ...]], Numbers]


def distributions(medians: Path | None) -> dict[str, Draw]:
    """Ways in which a network's value may vary, each about a mean of 0."""
    draws: dict[str, Draw] = {
        "normal": lambda generator, shape: generator.normal(size=shape),
        "gamma, skew 1": lambda generator, shape: generator.gamma(4, size=shape) - 4,
    }
    if medians is not None:
        samples = dict(_log_ratios(pl.read_csv(medians)))
        for kind in ("web", "bulk"):
            pooled = np.concatenate([sample for name, sample in samples.items() if name.startswith(kind)])
            draws[f"{kind}, skew {stats.skew(pooled):.1f}"] = _draw_from(pooled)
        name, sample = max(samples.items(), key=lambda each: abs(float(stats.skew(each[1]))))
        draws[f"{name}, skew {stats.skew(sample):.1f}"] = _draw_from(sample)
    return draws


def _log_ratios(runs: pl.DataFrame) -> Iterator[tuple[str, Numbers]]:
    """Log ratios of ``refill_sweep`` to its baseline, standardized, where all networks have one."""
    knobs, baseline = ("refill_interval", "circuit_policy"), ("100ms", "ewma")
    for kind, metric in (("web", "ttfb"), ("web", "ttlb"), ("bulk", "ttfb")):
        chosen = runs.filter(pl.col("kind") == kind, pl.col("metric") == metric)
        for levels in product(("1000ms", "100ms", "10ms"), ("ewma", "round_robin")):
            one, other = (dict(zip(knobs, each, strict=True)) for each in (baseline, levels))
            values = paired(chosen, "median_s", one, other).log_ratio
            if levels != baseline and np.isfinite(values).all():
                yield f"{kind} {metric}, {', '.join(levels)}", (values - values.mean()) / values.std()


def _draw_from(sample: Numbers) -> Draw:
    return lambda generator, shape: generator.choice(sample, shape)


def t_statistics(values: Numbers) -> Numbers:
    """Student's t of the mean of each row; beyond every bound where all its values are alike."""
    means, errors = values.mean(axis=-1), values.std(axis=-1, ddof=1) / np.sqrt(values.shape[-1])
    return means / np.maximum(errors, 1e-12)


def missed_by_t(draw: Draw, networks: int, level: float) -> tuple[float, float]:
    """The shares of sweeps whose interval lies above, and below, the true mean."""
    t = t_statistics(draw(np.random.default_rng(SEED), (SWEEPS, networks)))
    bound = stats.t.ppf((1 + level) / 2, networks - 1)
    return float((t > bound).mean()), float((t < -bound).mean())


def missed_by_resampling(draw: Draw, networks: int, level: float) -> tuple[float, float, float]:
    """The share that the bootstrap-t misses, its median width as a multiple of Student's, the share that sign
    flips miss."""
    generator = np.random.default_rng(SEED)
    missed, flipped, widths = 0, 0, []
    rank = max(int((BOOTSTRAP_RESAMPLES + 1) * (1 - level) / 2), 1)
    for values in draw(generator, (RESAMPLED_SWEEPS, networks)):
        chosen = (values - values.mean())[generator.integers(0, networks, (BOOTSTRAP_RESAMPLES, networks))]
        low, high = np.sort(t_statistics(chosen))[[rank - 1, -rank]]
        missed += not low <= t_statistics(values) <= high
        widths.append(high - low)
        signs = np.array(list(product((1, -1), repeat=networks))) if networks < 11 else None
        signs = generator.choice((1, -1), (1_999, networks)) if signs is None else signs
        flipped += np.mean(abs(signs @ values) >= abs(values.sum()) - 1e-12) <= 1 - level
    width = float(np.median(widths)) / (2 * stats.t.ppf((1 + level) / 2, networks - 1))
    return missed / RESAMPLED_SWEEPS, width, flipped / RESAMPLED_SWEEPS


def studies_that_show(draw: Draw, looks: Sequence[int]) -> float:
    """The share of A/A studies of :data:`LINES` lines that show anything at any of ``looks``."""
    values = draw(np.random.default_rng(SEED), (AA_STUDIES, LINES, looks[-1]))
    design = Design()
    shown = np.zeros(AA_STUDIES, dtype=bool)
    for networks in looks:
        design = design.look(networks)
        level = design.confidence_at(networks, bonferroni(0.95, LINES))
        bound = stats.t.ppf((1 + level) / 2, networks - 1)
        shown |= (abs(t_statistics(values[:, :, :networks])) > bound).any(axis=1)
    return float(shown.mean())


def missed(draws: dict[str, Draw]) -> Iterator[dict[str, object]]:
    """A row for each distribution, number of networks and confidence: percent of sweeps whose interval misses
    the mean, and the width of the bootstrap-t as a multiple of t's; empty where it has no interval."""
    for (name, draw), networks, level in product(draws.items(), NETWORK_COUNTS, CONFIDENCES):
        above, below = missed_by_t(draw, networks, level)
        boot, width, flips = missed_by_resampling(draw, networks, level)
        yield {
            "values": name,
            "networks": networks,
            "confidence": f"{100 * level:g}",
            "t_above": f"{100 * above:.2f}",
            "t_below": f"{100 * below:.2f}",
            "bootstrap_t": f"{100 * boot:.1f}" if width < 100 else "",
            "bootstrap_t_width": f"{width:.2f}" if width < 100 else "",
            "sign_flips": f"{100 * flips:.1f}",
        }


def with_looks() -> Iterator[dict[str, object]]:
    """A row for each sequence of looks: percent of A/A studies that show anything."""
    normal = distributions(None)["normal"]
    for looks in LOOKS:
        tailed = studies_that_show(lambda generator, shape: generator.standard_t(5, shape), looks)
        yield {
            "looks": " ".join(map(str, looks)),
            "normal": f"{100 * studies_that_show(normal, looks):.1f}",
            "t_of_5_degrees": f"{100 * tailed:.1f}",
        }


def main() -> None:
    """Measure, and write the files."""
    parser = argparse.ArgumentParser(description="Measure how often intervals miss.")
    parser.add_argument("--out", type=Path, default=ROOT / "bench/results/coverage.csv")
    parser.add_argument("--medians", type=Path, help="medians.csv of a plan main of refill_sweep")
    arguments = parser.parse_args()
    write_rows(arguments.out, missed(distributions(arguments.medians)))
    write_rows(arguments.out.with_stem(f"{arguments.out.stem}_looks"), with_looks())


if __name__ == "__main__":
    end_with(main)
