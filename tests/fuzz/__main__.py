"""Damage documents for as long as one likes.

    python -m tests.fuzz --examples 20000 --record docs/robustness.md
    python -m tests.fuzz --minutes 30 --seed 7

In: how many examples, or how many minutes, and a seed. Out: a line a format; each example for which a
property does not hold, with the damage that makes it again; with ``--record`` a page in Markdown. The exit
code is 1 when one was found.
"""

from __future__ import annotations

import argparse
import collections
import tempfile
import time
from pathlib import Path
from random import Random

from tests.fuzz.cases import FORMATS, Example, check, described, targets_of
from tests.fuzz.mutations import Damage
from torsweep.provenance import versions

Counts = collections.Counter[object]


def drawn(name: str, random: Random) -> Example:
    """A target of the format with one to four damages, as the strategy of the tests draws them."""
    target = random.choice(targets_of(name))
    changes = [
        Damage(random.choice(target.kinds), random.random(), random.random(), random.randrange(1001))
        for _ in range(random.randint(1, 4))
    ]
    return target, changes


def fuzz(
    folder: Path, seed: int, examples: int, minutes: float | None
) -> tuple[dict[str, Counts], list[str]]:
    """Outcomes by format and exit code, and what fell through."""
    random = Random(seed)
    counts: dict[str, Counts] = {name: collections.Counter() for name in FORMATS}
    fallen = []
    end = None if minutes is None else time.monotonic() + 60 * minutes
    number = 0
    while time.monotonic() < end if end is not None else number < examples:
        name = FORMATS[number % len(FORMATS)]
        example = drawn(name, random)
        try:
            counts[name][check(folder, name, example).code] += 1
        except AssertionError as found:
            counts[name]["fell through"] += 1
            fallen.append(f"{name}, {described(example)}\n    {str(found)[:1500]}")
            print(fallen[-1], flush=True)
        number += 1
        if number % 1000 == 0:
            print(f"{number} examples, {len(fallen)} fell through", flush=True)
    return counts, fallen


_HEAD = """\
`make fuzz` writes this page. It makes valid documents of every format that a command reads, damages each
(bits flipped; parts cut, doubled or overwritten; keys dropped, doubled and renamed; values of other types and at
extremes), and lets the command read it. Every time the command has to end with 0 or, in one line, with 2.
There may be no panic and no traceback, it may take 10 s of processor time and 1 GB, its inputs have to stay as they
were, and its output has to be whole or not to be there."""

_FOOT = """\
Damaged latencies and run directories come with checksums that fit, so that what lies behind the checksums is
read too. The suite runs 300 examples of each format, the same ones every time."""


def page(counts: dict[str, Counts], seed: int) -> str:
    """The record, in Markdown."""
    total = sum(sum(own.values()) for own in counts.values())
    fallen = sum(own["fell through"] for own in counts.values())
    known = versions()
    programs = ", ".join(
        f"{name} {known[name]}" for name in ("torsweep", "cellsim", "polars", "numpy") if name in known
    )
    rows = [
        f"| {name} | {', '.join(target.name for target in targets_of(name))} | {sum(own.values()):,} "
        f"| {own[0]:,} | {own[2]:,} | {own['fell through']:,} |"
        for name, own in counts.items()
    ]
    return "\n".join(
        [
            "# What damaged input does",
            "",
            _HEAD,
            "",
            f"{total:,} examples, seed {seed}: {fallen:,} fell through. ({programs})",
            "",
            "| format | read | examples | accepted | refused | fell through |",
            "|---|---|---:|---:|---:|---:|",
            *rows,
            "",
            _FOOT,
            "",
        ]
    )


def main() -> int:
    """Fuzz as the command line says."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Damage documents.")
    parser.add_argument("--examples", type=int, default=20_000)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--record", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        counts, fallen = fuzz(Path(folder), asked.seed, asked.examples, asked.minutes)
    if asked.record:
        asked.record.write_text(page(counts, asked.seed), encoding="utf-8")
    for name, own in counts.items():
        print(f"{name}: {own[0]} accepted, {own[2]} refused, {own['fell through']} fell through")
    return 1 if fallen else 0


if __name__ == "__main__":
    raise SystemExit(main())
