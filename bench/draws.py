"""Real tor beside many draws of the model: ``python -m bench.draws OUT.csv WORDS=MODEL_RUN,REAL_RUN[,…] …``.

In: a finished run of cellsim, and one or more of real tor on the same network in the same variant. All
variants of a network have the same draws in the model (guards, pauses, servers), so their gaps from real tor
are not independent. Here the model therefore runs :data:`DRAWS` more times with other seeds. Out: a row for
each model run, with web clients' first decile and median of first and last bytes, seconds: of the runs of
real tor, and the least and the greatest of the draws; and how many of the former lie within.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from bench.writing import write_named_rows
from torsweep.engines.prepare import write_run
from torsweep.engines.run_spec import read_run
from torsweep.engines.table_schema import STREAMS
from torsweep.engines.tools import require_own_program
from torsweep.runsets.derive import repeated
from torsweep.runsets.run import read_table
from torsweep.stats.streams.medians import run_quantiles

DRAWS = 12
BYTE_OF = {"ttfb": "first", "ttlb": "last"}
NUMBERS = {"p10_s": "decile", "median_s": "median"}


def quantiles(run: Path) -> dict[str, float]:
    """Web clients' quantiles of first and last bytes in the measured time, seconds."""
    spec = read_run(run)
    streams = read_table(run, STREAMS).filter(pl.col("start_us") >= spec.warm_up_ns // 1_000, kind="web")
    found = run_quantiles(streams.with_columns(seed=pl.lit(spec.seed)), [])
    web = {row["metric"]: row for row in found.iter_rows(named=True)}
    return {
        f"{time}_{name}": web[metric][number]
        for metric, time in BYTE_OF.items()
        for number, name in NUMBERS.items()
    }


def drawn(original: Path) -> list[dict[str, float]]:
    """The quantiles of :data:`DRAWS` runs like ``original`` with other seeds."""
    with tempfile.TemporaryDirectory() as folder:
        found = []
        for number in range(1, DRAWS + 1):
            out = Path(folder) / str(number)
            repeat = repeated(original, out)
            write_run(repeat.model_copy(update={"seed": repeat.seed + number}), out)
            subprocess.run([require_own_program("cellsim"), "run", str(out)], check=True, capture_output=True)
            found.append(quantiles(out))
    return found


def row(original: Path, reals: Sequence[Path]) -> dict[str, str]:
    """For each quantile, the runs of real tor and the range of the draws, seconds."""
    measured, draws = [quantiles(real) for real in reals], drawn(original)
    cells, within = {}, 0
    for name in draws[0]:
        least, greatest = (edge(draw[name] for draw in draws) for edge in (min, max))
        within += sum(least <= one[name] <= greatest for one in measured)
        cells[f"{name}_real"] = ", ".join(f"{one[name]:.1f}" for one in measured)
        cells[f"{name}_model"] = f"{least:.1f} to {greatest:.1f}"
    return {**cells, "within": f"{within} of {len(measured) * len(draws[0])}"}


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the table."""

    def of(runs: str) -> dict[str, str]:
        original, *reals = map(Path, runs.split(","))
        return row(original, reals)

    write_named_rows(__doc__, "MODEL_RUN,REAL_RUN[,…]", of, arguments)


if __name__ == "__main__":
    main()
