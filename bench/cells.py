"""How fast a ring of three million cells is read, summarised and drawn.

    python -m bench.cells [--out bench/results/cells.json] [--rounds 3] [--cells 3000000]

In: a ring as a guard's tor leaves it after so many RELAY cells, each with its four records, made up: 120 s,
2,000 circuits of very different sizes. Out: one JSON file with the machine, and the same as a table in
Markdown beside it. Each step is a process's own work with all cores: the ring to cells.parquet, that to
passages, those to summaries, those to both figures. Figures are medians of wall time and of CPU time over
rounds.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from bench.rounds import add_rounds
from bench.writing import write_results
from plotting import __main__ as plotting
from tests.synthetic import Size, finish_run, write_run
from torsweep.config.experiment import load_experiment
from torsweep.config.tracing import POINTS
from torsweep.engines.cell_ring import CHANNEL, HEADER, MAGIC, OUTWARD, RECORD, VERSION, write_cells
from torsweep.provenance import machine
from torsweep.runsets.collect import collect
from torsweep.runsets.reading import PlanTables
from torsweep.stats.summarize import summarize, write_summary

ROOT = Path(__file__).resolve().parent.parent
SIZE = Size(web_clients=20, bulk_clients=4, relays=2, warm_up_s=10, duration_s=130)
CIRCUITS = 2_000
VARIANT = {"scheduler": "kist_10ms"}
STEPS = ("ring to cells.parquet", "cells to passages", "passages to summaries", "summaries to figures")
SEEN = ("inbuf", "queue", "outbuf", "flush")
HEADER_BYTES = 4096


def write_ring(file: Path, cells: int) -> None:
    """A ring in which ``cells`` cells pass in order, the records in the order of their times."""
    generator = np.random.default_rng(1)
    came = np.sort(generator.integers(0, SIZE.duration_s * 10**9, cells))
    gaps = [
        np.zeros(cells),
        np.full(cells, 20_000),
        generator.gamma(2, 4e6, cells),
        generator.gamma(1, 5e4, cells),
    ]
    circuit = (generator.pareto(0.7, cells) * 3).astype(np.int64) % CIRCUITS
    records = np.zeros(len(SEEN) * cells, RECORD)
    moment = came.astype(np.float64)
    for step, (point, gap) in enumerate(zip(SEEN, gaps, strict=True)):
        own = records[step * cells : (step + 1) * cells]
        moment = moment + gap
        own["time_ns"], own["cell"], own["command"] = moment, np.arange(1, cells + 1), 3
        own["channel"], own["circuit"] = (1, circuit) if point == "inbuf" else (2 + circuit % 300, circuit)
        own["place"] = POINTS.index(point) | (0 if point == "inbuf" else OUTWARD)
    records = records[np.argsort(records["time_ns"], kind="stable")]
    records["sequence"] = np.arange(1, len(records) + 1)
    head = np.zeros(1, HEADER)
    head["magic"], head["version"], head["header_bytes"] = MAGIC, VERSION, HEADER_BYTES
    head["channel_bytes"], head["record_bytes"] = CHANNEL.itemsize, RECORD.itemsize
    head["most_records"] = head["records"] = len(records)
    head["points"], head["sample"], head["cells"] = 31, 1, cells
    with file.open("wb") as out:
        out.write(head.tobytes().ljust(HEADER_BYTES, b"\0"))
        records.tofile(out)


def measure(scratch: Path, cells: int) -> list[tuple[float, float]]:
    """Wall and CPU time of each of :data:`STEPS`, s."""
    ring, run = scratch / "ring", write_run(scratch / "runs", VARIANT, 1, SIZE, "cell_trace")
    write_ring(ring, cells)
    experiment = load_experiment(ROOT / "experiments/cell_trace/experiment.yaml")
    asked = experiment.model_copy(update={"knobs": {"scheduler": ("kist_10ms",)}, "claims": ()})
    tables, summaries = scratch / "tables", scratch / "summaries"

    def read() -> None:
        write_cells(run, {"relay1": ring}, 0)
        finish_run(run, engine="cellsim", engine_version="0.1.0", simulated_s=SIZE.duration_s)

    def draw() -> None:
        for name in ("cell_density", "cell_stages"):
            plotting.draw_figure(name, summaries, scratch / "figures" / name)

    return [
        timed(read),
        timed(lambda: collect([run], tables, network="traced_guard")),
        timed(lambda: write_summary(summarize(PlanTables.open(tables), asked), summaries)),
        timed(draw),
    ]


def timed(step: Callable[[], object]) -> tuple[float, float]:
    """Wall and CPU time of ``step``, s."""
    before, started = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    step()
    wall_s, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF)
    return wall_s, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def table(results: dict[str, dict[str, float]], cells: int, rounds: int) -> str:
    """The results as a page of Markdown."""
    here = machine()
    lines = [
        "# Cells",
        "",
        f"{here['cpu']}, {here['cores']} cores; {here['os']}. A ring of {cells:,} cells, four records each;"
        f" medians of {rounds} rounds by `python -m bench.cells`.",
        "",
        "| step | wall s | CPU s |",
        "|---|---|---|",
    ]
    lines += [f"| {step} | {row['wall_s']:.1f} | {row['cpu_s']:.1f} |" for step, row in results.items()]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, and write the results."""
    parser = argparse.ArgumentParser(description="Measure the reading of traced cells.")
    parser.add_argument("--out", type=Path, default=ROOT / "bench/results/cells.json")
    add_rounds(parser)
    parser.add_argument("--cells", type=int, default=3_000_000)
    options = parser.parse_args()
    found = []
    for _ in range(options.rounds):
        with tempfile.TemporaryDirectory() as place:
            found.append(measure(Path(place), options.cells))
    results = {
        step: {
            name: statistics.median(of_round[number][part] for of_round in found)
            for part, name in enumerate(("wall_s", "cpu_s"))
        }
        for number, step in enumerate(STEPS)
    }
    results["all"] = {name: sum(row[name] for row in results.values()) for name in ("wall_s", "cpu_s")}
    record = {"cells": options.cells, "rounds": options.rounds, "results": results}
    write_results(options.out, record, table(results, options.cells, options.rounds))


if __name__ == "__main__":
    main()
