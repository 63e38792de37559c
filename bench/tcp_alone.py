"""TCP alone on a link, the model's beside a kernel's, as a table of docs/fidelity.md.

    python -m bench.tcp_alone ERA TCP bench/results/tcp_kernel_ERA.csv OUT.csv

In: an era, a level of ``tcp``, and what ``python -m bench.tcp_kernel`` measured. Runs the same cells in the
model (``cargo run --release -p cellsim --example links``; some seconds) and writes a row for each: what the
kernel and the model carried, held and measured as round trip, and where they differ by more than
:data:`POINTS` of the link or :data:`SHARE` of the bytes or the round trip.
"""

from __future__ import annotations

import argparse
import csv
import io
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from bench.writing import csv_text
from torsweep.config.eras import ERAS
from torsweep.storage import write_text

POINTS, SHARE = 0.05, 0.20
LINKS = ("cargo", "run", "--quiet", "--release", "-p", "cellsim", "--example", "links", "--")
COLUMNS = (
    *("link", "connections", "rtt_ms", "kernel_share", "model_share"),
    *("kernel_held_kb", "model_held_kb", "kernel_srtt_ms", "model_srtt_ms", "apart"),
)
Row = Mapping[str, str]


def row(kernel: Row, model: Row) -> dict[str, object]:
    """What the two have to say of one cell."""
    share, held, srtt = (
        (float(kernel[name]), float(model[name])) for name in ("carried_share", "held_bytes", "srtt_ms")
    )
    apart = [
        name
        for name, (ours, theirs) in (("bytes", held), ("round trip", srtt))
        if abs(theirs / ours - 1) > SHARE
    ]
    if abs(share[0] - share[1]) > POINTS:
        apart.insert(0, "use")
    return {
        "link": _link(kernel),
        "connections": kernel["connections"],
        "rtt_ms": kernel["rtt_ms"],
        "kernel_share": share[0],
        "model_share": share[1],
        "kernel_held_kb": f"{held[0] / 1e3:.1f}",
        "model_held_kb": f"{held[1] / 1e3:.1f}",
        "kernel_srtt_ms": f"{srtt[0]:.0f}",
        "model_srtt_ms": f"{srtt[1]:.0f}",
        "apart": ", ".join(apart) or "none",
    }


def _link(cell: Row) -> str:
    reader = int(cell["reader_bytes_per_s"])
    if reader:
        return f"reader of {reader // 1000} KB/s"
    return f"{cell['where']}-link of {round(int(cell['link_bytes_per_s']) / 1000):,} KB/s"


def main() -> None:
    """Run the model and write the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.tcp_alone", description=__doc__.partition("\n")[0])
    parser.add_argument("era", choices=list(ERAS))
    parser.add_argument("tcp")
    parser.add_argument("kernel", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    measured = arguments.kernel.read_text(encoding="utf-8")
    command = [*LINKS, arguments.era, arguments.tcp]
    modelled = subprocess.run(command, input=measured, capture_output=True, text=True, check=True).stdout
    pairs = zip(*(csv.DictReader(io.StringIO(text)) for text in (measured, modelled)), strict=True)
    rows = [row(kernel, model) for kernel, model in pairs]
    write_text(arguments.out, csv_text(COLUMNS, rows))
    agree = sum(found["apart"] == "none" for found in rows)
    print(f"{agree} of {len(rows)} cells agree", file=sys.stderr)


if __name__ == "__main__":
    main()
