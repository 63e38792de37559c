"""One example: a target, some damage, and the properties.

In: a folder for the documents, a format, what to damage. Out: the outcome; AssertionError when a property
does not hold.
"""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable
from pathlib import Path

from hypothesis import strategies as st

from tests.fuzz.documents import TARBALL, TARGETS
from tests.fuzz.engine import ENGINE_TARGETS, run_engine
from tests.fuzz.mutations import Damage, damaged, damages
from tests.fuzz.properties import (
    Outcome,
    Target,
    contents,
    require_sound,
    require_undisturbed,
    require_whole_or_nothing,
    run_inside,
)
from torsweep.errors import InputError
from torsweep.formats.archives import unpack_tarball

Example = tuple[Target, list[Damage]]
FORMATS = (*TARGETS, "tarball", "run directory")


def examples(name: str) -> st.SearchStrategy[Example]:
    """Targets of a format with damage."""
    targets = targets_of(name)
    return st.sampled_from(targets).flatmap(lambda target: st.tuples(st.just(target), damages(target.kinds)))


def targets_of(name: str) -> tuple[Target, ...]:
    """What is read in the format ``name``, one of :data:`FORMATS`."""
    return {**TARGETS, "tarball": (TARBALL,), "run directory": ENGINE_TARGETS}[name]


def check(folder: Path, name: str, example: Example) -> Outcome:
    """The outcome of the command that reads what ``example`` damages in the format ``name``."""
    target, changes = example
    place = made(folder, name, target)
    file = place / "in" / target.file
    whole = original(folder, name, target)
    file.write_bytes(damaged(whole, changes))
    before = contents(place / "in")
    try:
        outcome = _RUNNERS.get(name, _command)(target, place)
        require_sound(outcome)
        require_undisturbed(place / "in", before)
        require_whole_or_nothing(place / "out", target.marker if outcome.code == 0 else "")
        if outcome.code == 2:
            assert not (place / "out" / "out").exists(), "refused, and something was written"
    finally:
        file.write_bytes(whole)
        shutil.rmtree(place / "out")
        (place / "out").mkdir()
    return outcome


def _command(target: Target, place: Path) -> Outcome:
    names = {"in": str(place / "in"), "out": str(place / "out" / "out")}
    return run_inside([argument.format(**names) for argument in target.arguments])


def _unpack(target: Target, place: Path) -> Outcome:
    try:
        unpack_tarball(place / "in" / target.file, place / "out" / "out")
    except InputError as refusal:
        return Outcome(refusal.exit_code, str(refusal))
    return Outcome(0, "")


_RUNNERS: dict[str, Callable[[Target, Path], Outcome]] = {"tarball": _unpack, "run directory": run_engine}


@functools.cache
def made(folder: Path, name: str, target: Target) -> Path:
    """The folder with the whole documents of ``target``, of the format ``name``, made once."""
    place = folder / name / target.name
    (place / "in").mkdir(parents=True)
    (place / "out").mkdir()
    target.make(place / "in")
    return place


@functools.cache
def original(folder: Path, name: str, target: Target) -> bytes:
    """The bytes of a target's whole document."""
    return (made(folder, name, target) / "in" / target.file).read_bytes()
