"""What else used the processors is told from the accounts of all processes at two moments."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from torsweep.engines.emulation.pace import Other, busiest, process_times

HZ = os.sysconf("SC_CLK_TCK")


def put(
    proc: Path,
    pid: int,
    own_s: float,
    children_s: float = 0.0,
    *,
    name: str = "work",
    parent: int = 1,
    session: int = 1,
    start: int = 100,
    flags: int = 0,
) -> None:
    """A process with so many seconds of CPU time of its own, and of children that have ended."""
    ticks = [round(own_s * HZ / 2), round(own_s * HZ / 2), round(children_s * HZ), 0]
    fields = ["S", parent, session, session, 0, -1, flags, 1, 2, 3, 4, *ticks, 20, 0, 1, 0, start, 0]
    (proc / str(pid)).mkdir(parents=True, exist_ok=True)
    (proc / str(pid) / "stat").write_text(f"{pid} ({name}) {' '.join(map(str, fields))}\n")


@pytest.fixture
def looks(tmp_path: Path) -> tuple[Path, Path]:
    """Where processes have their accounts at two moments."""
    return tmp_path / "before", tmp_path / "after"


def between(looks: tuple[Path, Path], *own: int) -> list[Other]:
    """Who took most in the ten seconds between two looks."""
    before, after = map(process_times, looks)
    return busiest(before, after, 10.0, set(own))


def test_the_three_that_took_most_are_named_and_the_runs_own_are_not(looks):
    before, after = looks
    for proc, seconds in ((before, 0.0), (after, 10.0)):
        put(proc, 10, 900 + seconds, name="engine")
        put(proc, 11, seconds, name="tor", session=11)
        put(proc, 12, seconds, name="helper of tor", session=11)
        put(proc, 20, 500 + 0.5 * seconds, name="half (a) core")
        put(proc, 21, 0.2 * seconds, name="a fifth")
        put(proc, 22, 0.1 * seconds, name="a tenth")
        put(proc, 23, 0.05 * seconds, name="too little for the first three")
        put(proc, 24, 8 * seconds, name="ksoftirqd/0", flags=0x00200000)
    put(after, 25, 9, name="began meanwhile", start=200)
    assert between(looks, 10, 11)[:3] == [
        Other("began meanwhile", 25, 0.9),
        Other("half (a) core", 20, 0.5),
        Other("a fifth", 21, 0.2),
    ]


def test_a_parent_answers_for_children_that_ended_but_not_for_what_they_did_before(looks):
    """A build: each compiler lives shorter than the time between two looks."""
    before, after = looks
    put(before, 30, 1.0, 100.0, name="make")
    put(before, 31, 3_600.0, name="cc1", parent=30)
    put(after, 30, 1.0, 100.0 + 3_604.0 + 14.0, name="make")
    assert between(looks) == [Other("make", 30, 1.8)]


def test_the_account_of_a_tree_that_ended_goes_to_the_process_above_it(looks):
    """Another run of the pipeline: its engine has reaped its tors, and the pipeline the engine."""
    before, after = looks
    put(before, 60, 1.0, name="snakemake")
    put(before, 61, 20.0, name="torsweep", parent=60)
    put(before, 62, 300.0, name="tor", parent=61)
    put(after, 60, 1.0, 20.0 + 300.0 + 5.0, name="snakemake")
    assert between(looks) == [Other("snakemake", 60, 0.5)]


def test_a_pid_that_is_used_again_is_another_process(looks):
    before, after = looks
    put(before, 40, 50.0, name="old", start=1)
    put(after, 40, 2.0, name="new", start=2)
    assert between(looks) == [Other("new", 40, 0.2)]


def test_this_process_is_found():
    assert os.getpid() in {pid for pid, _ in process_times(Path("/proc"))}
