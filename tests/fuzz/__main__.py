"""Damage documents for as long as one likes.

    python -m tests.fuzz --examples 20000 --record docs/robustness.md
    python -m tests.fuzz --minutes 30 --seed 7 --formats bundle tarball

In: how many examples, or how many minutes, a seed, and which formats. Out: a line a format; each example for
which a property does not hold, with the damage that makes it again; with ``--record`` a page in Markdown, for
which single bits of bundles are changed, too. The exit code is 1 when one was found.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from tests.fuzz.bundles import ZIP, published
from tests.fuzz.cases import FORMATS, targets_of
from tests.fuzz.flips import Flips, all_flips
from tests.fuzz.loop import FELL_THROUGH, Counts, fuzz_in_parts
from torsweep.provenance import versions

_HEAD = """\
`make fuzz` writes this page. It damages valid documents of every format that a command reads, and lets
the command read them. Bits are flipped; parts cut, doubled or overwritten; keys dropped, doubled and
renamed; values replaced by other types and extremes. The command has to exit with 0, or with 2 and one
line; `torsweep verify` may also exit with 1 after it has said what is wrong. It must not panic or print a
traceback, may take 10 s of processor time and 1 GB, must not change its inputs, and must leave its output
complete or not at all. An example that breaks one of these rules *fell through*."""

_FOOT = """\
Damaged latencies, run directories and published folders come with checksums that match, so that the
commands read the damaged content too. The test suite runs 100 examples of each format and 30 of bundles."""

_FLIPS = """\
A zip is also given other files: names that lead out of its folder, a file twice, missing or added,
contents swapped, links, and files of kilobytes that unpack to 20 MB. `torsweep verify` may accept only
the bytes that were published. Single bits were also changed:"""


BITS_APART = 4_001
"""Of a plan's zip, which has millions; odd, so that each of the eight in a byte has its turn."""


def page(counts: dict[str, Counts], seed: int, flips: Sequence[Flips]) -> str:
    """The record, in Markdown."""
    total = sum(sum(own.values()) for own in counts.values())
    fallen = sum(own[FELL_THROUGH] for own in counts.values())
    known = versions()
    programs = ", ".join(
        f"{name} {known[name]}" for name in ("torsweep", "cellsim", "polars", "numpy") if name in known
    )
    rows = [
        f"| {name} | {', '.join(target.name for target in targets_of(name))} | {sum(own.values()):,} "
        f"| {own[0]:,} | {own[1] + own[2]:,} | {own[FELL_THROUGH]:,} |"
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
            _FLIPS,
            "",
            "| bundle | bytes | bits changed, one at a time | not found |",
            "|---|---:|---:|---:|",
            *(f"| {each.what} | {each.size:,} | {each.changed:,} | {len(each.missed):,} |" for each in flips),
            "",
        ]
    )


def main() -> int:
    """Fuzz as the command line says."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Damage documents.")
    parser.add_argument("--examples", type=int, default=20_000)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--record", type=Path)
    parser.add_argument("--formats", nargs="+", choices=FORMATS, default=FORMATS)
    asked = parser.parse_args()
    counts, fallen = fuzz_in_parts(asked.seed, asked.examples, asked.minutes, asked.jobs, asked.formats)
    flips = all_flips(published() / ZIP, BITS_APART) if asked.record else []
    if asked.record:
        asked.record.write_text(page(counts, asked.seed, flips), encoding="utf-8")
    for name, own in counts.items():
        print(f"{name}: {own[0]} accepted, {own[1] + own[2]} refused, {own[FELL_THROUGH]} fell through")
    return 1 if fallen or any(each.missed for each in flips) else 0


if __name__ == "__main__":
    raise SystemExit(main())
