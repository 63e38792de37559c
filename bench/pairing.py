"""How much narrower intervals are when clients have common paths: runs of one tor, and of itself again.

    python -m bench.pairing FREE PATHS [--out docs/tables/pairing.csv]

In: two summaries (folders with a ``medians.csv``) on networks of one configuration, one of an experiment
with ``pairing: free`` and one with ``pairing: paths``; all variants of each differ by chance alone, such as
those of ``torsweep compare --candidate same``. Out: a CSV file with a row for each kind of client and
metric: the standard deviation of the logarithm of the ratio of two runs' medians on one network, free and
with common paths, half of the 95 % interval that it gives over eight networks, and the ratio of the two
standard deviations with its 95 % interval.

The standard deviation is that within networks, pooled: (runs − 1) degrees of freedom from each network. The
interval of the ratio is that of Fisher's F for normal values. A network in which a run never reached its
median is left out.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import special

from torsweep.stats.inference.intervals import CONFIDENCE, t_quantile
from torsweep.storage import write_text

NETWORKS = 8
"""The number of networks for which half widths are given."""

METRICS = ("ttfb", "ttlb")


@dataclass(frozen=True)
class Spread:
    """The standard deviation of the logarithm of a ratio of two medians of a network.

    ``degrees`` are those of freedom that it has of its ``networks``.
    """

    deviation: float
    degrees: int
    networks: int

    @classmethod
    def of(cls, logarithms: npt.NDArray[np.float64]) -> Spread:
        """Of logarithms of medians, shape (networks, runs); a network with a NaN is left out."""
        whole = logarithms[np.isfinite(logarithms).all(axis=1)]
        networks, degrees = len(whole), len(whole) * (whole.shape[1] - 1)
        if not degrees:
            return cls(np.nan, 0, networks)
        squares = float(((whole - whole.mean(axis=1, keepdims=True)) ** 2).sum())
        return cls(np.sqrt(2 * squares / degrees), degrees, networks)

    @property
    def half_width(self) -> float:
        """Half of the 95 % interval over :data:`NETWORKS` networks, as a part of the median."""
        return float(np.expm1(t_quantile(CONFIDENCE, NETWORKS) * self.deviation / np.sqrt(NETWORKS)))


def ratio(paths: Spread, free: Spread) -> tuple[float, float, float]:
    """``paths`` over ``free``, and the bounds of its 95 % interval."""
    found = paths.deviation / free.deviation
    least, most = (
        float(special.fdtri(paths.degrees, free.degrees, (1 + side * CONFIDENCE) / 2)) for side in (-1, 1)
    )
    return found, found / np.sqrt(most), found / np.sqrt(least)


def logarithms(medians: pl.DataFrame) -> npt.NDArray[np.float64]:
    """Logarithms of medians of one kind and metric, shape (networks, runs); NaN: a run never reached it."""
    knobs = medians.columns[medians.columns.index("kind") + 1 : medians.columns.index("seed")]
    wide = medians.pivot(knobs, index="seed", values="median_s").sort("seed").drop("seed")
    return np.log(wide.cast(pl.Float64).fill_null(np.nan).to_numpy())


def rows(free: pl.DataFrame, paths: pl.DataFrame) -> list[dict[str, object]]:
    """A row for each kind of client and metric that both have."""
    found = []
    for kind in free["kind"].unique(maintain_order=True):
        for metric in METRICS:
            of_free, of_paths = (
                Spread.of(logarithms(side.filter(pl.col("kind") == kind, pl.col("metric") == metric)))
                for side in (free, paths)
            )
            if not (of_free.degrees and of_paths.degrees):
                continue
            middle, low, high = ratio(of_paths, of_free)
            found.append(
                {
                    "kind": kind,
                    "metric": metric,
                    "free": of_free.deviation,
                    "free_networks": of_free.networks,
                    "free_degrees": of_free.degrees,
                    "paths": of_paths.deviation,
                    "paths_networks": of_paths.networks,
                    "paths_degrees": of_paths.degrees,
                    "free_half": of_free.half_width,
                    "paths_half": of_paths.half_width,
                    "ratio": middle,
                    "ratio_low": low,
                    "ratio_high": high,
                }
            )
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the table, and print it."""
    parser = argparse.ArgumentParser(prog="python -m bench.pairing")
    parser.add_argument("free", type=Path)
    parser.add_argument("paths", type=Path)
    parser.add_argument("--out", type=Path, default=Path("docs/tables/pairing.csv"))
    options = parser.parse_args(arguments)
    free, paths = (pl.read_csv(folder / "medians.csv") for folder in (options.free, options.paths))
    table = pl.DataFrame(rows(free, paths)).with_columns(pl.col(pl.Float64).round_sig_figs(4))
    write_text(options.out, table.write_csv())
    print(table.write_csv(), end="")


if __name__ == "__main__":
    main()
