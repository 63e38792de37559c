"""What cellsim gains by asking for memory ahead: builds with and without its feature ``prefetch``.

    python -m bench.prefetch [--out bench/results/prefetch.json] [--rounds 3]

In: the networks and variants of ``python -m bench``, at full and at tenfold size, one minute of warm-up and
one measured. Out: one JSON file with the machine, and the same as a table in Markdown beside it.

Both builds run at the same time, each bound to a processor, and then once more with the processors exchanged:
other work on the machine affects both builds. A round's ratio is the geometric mean of these two, of
processor time with the feature over processor time without. The tables of both have to be the same, byte for
byte.
"""

from __future__ import annotations

import argparse
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from bench.__main__ import DURATIONS, ROOT, SIZES, VARIANTS, prepared, sample
from bench.rounds import add_rounds
from bench.writing import write_results
from torsweep.provenance import machine, versions

BUILDS: dict[str, list[str]] = {"with": [], "without": ["--no-default-features"]}
SIMULATED = "1 + 1 min"
TABLES = tuple(
    f"{name}.parquet" for name in ("streams", "relays", "progress", "circuits", "received", "round_trips")
)


def build(target: Path) -> dict[str, Path]:
    """Compile cellsim with and without the feature; the program of each.

    Compiled libraries stay in ``target``.
    """
    programs = {}
    for name, flags in BUILDS.items():
        command = [
            "cargo",
            "build",
            "--release",
            "--locked",
            "--bin=cellsim",
            f"--target-dir={target}",
            *flags,
        ]
        subprocess.run(command, cwd=ROOT, check=True)
        programs[name] = Path(shutil.copy(target / "release/cellsim", target / f"cellsim-{name}"))
    return programs


def together(programs: dict[str, Path], folders: dict[str, Path], processors: list[int]) -> dict[str, float]:
    """Run each program in its folder at the same time, on its processor; the processor time of each, s."""
    started = {}
    for (name, program), processor in zip(programs.items(), processors, strict=True):
        command = ["taskset", "--cpu-list", str(processor), str(program), "run", str(folders[name])]
        started[name] = subprocess.Popen(command)
    spent = {}
    for name, process in started.items():
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, process.args)
        spent[name] = usage.ru_utime + usage.ru_stime
    return spent


def ratio(programs: dict[str, Path], folders: dict[str, Path], processors: list[int]) -> float:
    """Processor time with the feature over that without, both at once, in both arrangements."""
    found = []
    for arrangement in (processors, processors[::-1]):
        spent = together(programs, folders, arrangement)
        found.append(spent["with"] / spent["without"])
    for table in TABLES:
        with_it, without = ((folders[name] / table).read_bytes() for name in ("with", "without"))
        if with_it != without:
            raise SystemExit(
                f"bench.prefetch: {table} differs between the builds, which is a defect of cellsim"
            )
    return math.sqrt(math.prod(found))


def measure(scratch: Path, programs: dict[str, Path], rounds: int) -> Iterator[tuple[str, str, float]]:
    """Yield (size, variant, ratio) for each pair of each round."""
    processors = sorted(os.sched_getaffinity(0))[:2]
    if len(processors) < 2:
        raise SystemExit("bench.prefetch: has one processor, accepted: two or more")
    folders = {}
    for size in SIZES:
        sample(scratch / size, size)
        for number, variant in enumerate(VARIANTS):
            place = scratch / f"{size}-{number}-with"
            prepared(place, scratch / size, variant, DURATIONS[SIMULATED])
            other = Path(shutil.copytree(place, scratch / f"{size}-{number}-without"))
            folders[size, variant] = {"with": place, "without": other}
    for _, (size, variant) in product(range(rounds), folders):
        found = ratio(programs, folders[size, variant], processors)
        print(f"{size}: {variant}: {found:.3f}", file=sys.stderr)
        yield size, variant, found


def table(results: dict[str, dict[str, list[float]]], rounds: int) -> str:
    """The results as a page of Markdown."""
    here = machine()
    lines = [
        "# Asking for memory ahead",
        "",
        f"{here['cpu']}, {here['cores']} cores; {here['os']}; cellsim {versions().get('cellsim')}.",
        f"Processor time of a build with the feature `prefetch` over that of one without, {SIMULATED} of",
        "simulated time, both at once on two processors and in both arrangements;",
        f"{rounds} rounds, by `python -m bench.prefetch`.",
        "",
        "| size | what | median ratio | least to most |",
        "|---|---|---|---|",
    ]
    for size, rows in results.items():
        for variant, found in rows.items():
            middle = statistics.median(found)
            lines.append(f"| {size} | {variant} | {middle:.2f} | {min(found):.2f} to {max(found):.2f} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, and write the results."""
    parser = argparse.ArgumentParser(description="Measure what asking for memory ahead gains.")
    parser.add_argument("--out", type=Path, default=ROOT / "bench/results/prefetch.json")
    add_rounds(parser)
    arguments = parser.parse_args()
    results: dict[str, dict[str, list[float]]] = {size: {} for size in SIZES}
    programs = build(ROOT / "target/bench")
    with tempfile.TemporaryDirectory() as scratch:
        for size, variant, found in measure(Path(scratch), programs, arguments.rounds):
            results[size].setdefault(variant, []).append(found)
    record = {"rounds": arguments.rounds, "ratios": results}
    write_results(arguments.out, record, table(results, arguments.rounds))


if __name__ == "__main__":
    main()
