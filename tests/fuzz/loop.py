"""Examples one after the other, in as many processes as asked for.

In: a seed, and how many examples or how long. Out: outcomes by format, and what fell through.
"""

from __future__ import annotations

import atexit
import collections
import concurrent.futures
import functools
import multiprocessing
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random

from tests.fuzz.cases import FORMATS, Example, check, described, targets_of
from tests.fuzz.mutations import Damage

PART = 500
FELL_THROUGH = "fell through"
Counts = collections.Counter[object]


def drawn(name: str, random: Random) -> Example:
    """A target of the format with one to four damages, as the strategy of the tests draws them."""
    target = random.choice(targets_of(name))
    changes = [
        Damage(random.choice(target.kinds), random.random(), random.random(), random.randrange(1001))
        for _ in range(random.randint(1, 4))
    ]
    return target, changes


@functools.cache
def _folder() -> Path:
    """The documents of this process; they go when it ends."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    return Path(folder.name)


def fuzz(
    seed: int, examples: int, seconds: float | None, formats: Sequence[str] = FORMATS
) -> tuple[dict[str, Counts], list[str]]:
    """Outcomes by format and exit code, and what fell through."""
    random = Random(seed)
    counts: dict[str, Counts] = {name: collections.Counter() for name in formats}
    fallen = []
    end = None if seconds is None else time.monotonic() + seconds
    number = 0
    while time.monotonic() < end if end is not None else number < examples:
        name = formats[number % len(formats)]
        example = drawn(name, random)
        try:
            counts[name][check(_folder(), name, example).code] += 1
        except Exception as found:
            counts[name][FELL_THROUGH] += 1
            fallen.append(f"{name}, {described(example)}\n    {str(found)[:1500]}")
            print(fallen[-1], flush=True)
        number += 1
    return counts, fallen


def fuzz_in_parts(
    seed: int, examples: int, minutes: float | None, jobs: int, formats: Sequence[str] = FORMATS
) -> tuple[dict[str, Counts], list[str]]:
    """The same, in parts of 500 examples (or of a minute), each with a seed of its own."""
    parts = -(-examples // PART) if minutes is None else max(1, round(minutes * jobs))
    seconds = None if minutes is None else 60.0
    counts: dict[str, Counts] = {name: collections.Counter() for name in formats}
    fallen = []
    # A process that a format ends takes no other with it, and its end is an error here.
    with concurrent.futures.ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        seeds = [1000 * seed + part for part in range(parts)]
        for part, (own, found) in enumerate(
            pool.map(fuzz, seeds, [PART] * parts, [seconds] * parts, [formats] * parts), start=1
        ):
            for name in formats:
                counts[name] += own[name]
            fallen += found
            print(f"part {part} of {parts}: {len(fallen)} fell through so far", flush=True)
    return counts, fallen
