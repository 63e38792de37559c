"""TCP alone on a link, in the model and in a kernel, as a table of docs/fidelity.md.

    python -m bench.tcp_alone ERA TCP bench/results/tcp_kernel_ERA.csv [MORE.csv ...] OUT.csv

In: an era, a level of ``tcp``, and one or more files that ``python -m bench.tcp_kernel`` wrote: rows of the
same cell, in one file or several, are its repeats. Runs the same cells in the model with :data:`SEEDS` seeds
(``cargo run --release -p cellsim --example links``; some seconds) and writes a row for each cell: the medians
of what kernel and model carried, held and measured as round trip, the span of the kernel's repeats, and

- ``apart``: where the model and kernel differ in the median by more than :data:`POINTS_APART` of the link or
  :data:`SHARE_APART` of the bytes or the round trip;
- ``kernel_apart``: where the kernel's own repeats differ by more than that among themselves. Such a cell
  cannot be judged.
"""

from __future__ import annotations

import argparse
import csv
import io
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median

from bench.writing import csv_text, end_with
from torsweep.config.eras import ERAS
from torsweep.storage import write_text

POINTS_APART, SHARE_APART = 0.05, 0.20
SEEDS = 5
LINKS = ("cargo", "run", "--quiet", "--release", "-p", "cellsim", "--example", "links", "--")
CELL = ("where", "link_bytes_per_s", "connections", "reader_bytes_per_s", "rtt_ms")
COLUMNS = (
    *("link", "connections", "rtt_ms", "kernel_repeats", "kernel_share", "model_share"),
    *("kernel_held_kb", "kernel_held_span_kb", "model_held_kb"),
    *("kernel_srtt_ms", "kernel_srtt_span_ms", "model_srtt_ms", "apart", "kernel_apart"),
)
CsvRow = Mapping[str, str]


def by_cell(text: str) -> dict[tuple[str, ...], list[CsvRow]]:
    """The rows of a CSV text, for each cell its repeats, in the order in which cells come first."""
    cells: dict[tuple[str, ...], list[CsvRow]] = {}
    for found in csv.DictReader(io.StringIO(text)):
        cells.setdefault(tuple(found[name] for name in CELL), []).append(found)
    return cells


def row(kernel: Sequence[CsvRow], model: Sequence[CsvRow]) -> dict[str, object]:
    """The row of one cell, from the repeats of kernel and model."""
    ours, theirs = _measured(kernel), _measured(model)
    middle = {name: median(values) for name, values in ours.items()}
    modelled = {name: median(values) for name, values in theirs.items()}
    return {
        "link": _link(kernel[0]),
        "connections": kernel[0]["connections"],
        "rtt_ms": kernel[0]["rtt_ms"],
        "kernel_repeats": len(kernel),
        "kernel_share": f"{middle['use']:.3f}",
        "model_share": f"{modelled['use']:.3f}",
        "kernel_held_kb": f"{middle['bytes'] / 1e3:.1f}",
        "kernel_held_span_kb": _span([value / 1e3 for value in ours["bytes"]], 1),
        "model_held_kb": f"{modelled['bytes'] / 1e3:.1f}",
        "kernel_srtt_ms": f"{middle['round trip']:.0f}",
        "kernel_srtt_span_ms": _span(ours["round trip"], 0),
        "model_srtt_ms": f"{modelled['round trip']:.0f}",
        "apart": _named(name for name in ours if _differ(name, middle[name], modelled[name])),
        "kernel_apart": _named(
            name for name, values in ours.items() if _differ(name, min(values), max(values))
        ),
    }


def _measured(repeats: Sequence[CsvRow]) -> dict[str, list[float]]:
    columns = {"use": "carried_share", "bytes": "held_bytes", "round trip": "srtt_ms"}
    return {name: [float(found[column]) for found in repeats] for name, column in columns.items()}


def _differ(name: str, first: float, second: float) -> bool:
    """Whether the second differs from the first by more than is allowed."""
    return abs(second - first) > (POINTS_APART if name == "use" else SHARE_APART * first)


def _named(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


def _span(values: Sequence[float], digits: int) -> str:
    return f"{min(values):.{digits}f} to {max(values):.{digits}f}"


def _link(cell: CsvRow) -> str:
    reader = int(cell["reader_bytes_per_s"])
    if reader:
        return f"reader of {reader // 1000} KB/s"
    return f"{cell['where']}-link of {round(int(cell['link_bytes_per_s']) / 1000):,} KB/s"


def _told(rows: Sequence[Mapping[str, object]]) -> str:
    """One line that says how many cells agree."""
    agree = sum(found["apart"] == "none" for found in rows)
    judged = [found for found in rows if found["kernel_apart"] == "none"]
    among = sum(found["apart"] == "none" for found in judged)
    of_judged = f"of the {len(judged)} in which the kernel agrees with itself, {among}"
    return f"{agree} of {len(rows)} cells agree; {of_judged}"


def main() -> None:
    """Run the model and write the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.tcp_alone", description=__doc__.partition("\n")[0])
    parser.add_argument("era", choices=list(ERAS))
    parser.add_argument("tcp")
    parser.add_argument("kernel", type=Path, nargs="+")
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    measured: dict[tuple[str, ...], list[CsvRow]] = {}
    for path in arguments.kernel:
        for cell, repeats in by_cell(path.read_text(encoding="utf-8")).items():
            measured.setdefault(cell, []).extend(repeats)
    cells = csv_text(CELL, [dict(zip(CELL, cell, strict=True)) for cell in measured])
    command = [*LINKS, arguments.era, arguments.tcp, str(SEEDS)]
    text = subprocess.run(command, input=cells, capture_output=True, text=True, check=True).stdout
    modelled = by_cell(text)
    rows = [row(repeats, modelled[cell]) for cell, repeats in measured.items()]
    write_text(arguments.out, csv_text(COLUMNS, rows))
    print(_told(rows), file=sys.stderr)


if __name__ == "__main__":
    end_with(main)
