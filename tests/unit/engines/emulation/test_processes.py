"""Processes are gone in the end, the first that fails is told of, and no wait goes on for ever."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.live_processes import gone, wait_until
from torsweep.engines.emulation import processes as module
from torsweep.engines.emulation.processes import (
    ENDING,
    NotReady,
    ProcessEnded,
    ProcessSet,
    orderly_end,
    some_of,
    until,
)

PARENT = """
import sys, time
from pathlib import Path
from torsweep.engines.emulation.processes import ProcessSet
children = ProcessSet()
for name in ("one", "two"):
    child = children.start(name, [sys.executable, "-c", {child!r}], Path(sys.argv[1]) / name)
    print(child.handle.pid, flush=True)
print("started", flush=True)
time.sleep(60)
"""
STUBBORN = "import signal, time; signal.signal(15, signal.SIG_IGN); print('here', flush=True); time.sleep(60)"


@pytest.fixture
def children() -> Iterator[ProcessSet]:
    started = ProcessSet()
    yield started
    started.stop()


def test_children_end_with_a_parent_that_is_killed(tmp_path):
    command = [sys.executable, "-c", PARENT.format(child=STUBBORN), str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pids = [int(parent.stdout.readline()) for _ in range(2)]
        assert parent.stdout.readline() == "started\n"
        assert not any(gone(pid) for pid in pids)
        parent.send_signal(signal.SIGKILL)
    for pid in pids:
        wait_until(lambda pid=pid: gone(pid))


def test_stop_ends_those_that_do_not_listen(tmp_path, children, monkeypatch):
    monkeypatch.setattr(module, "GRACE_S", 0.2)
    child = children.start("stubborn", [sys.executable, "-c", STUBBORN], tmp_path / "log")
    wait_until(lambda: child.log.read_text() == "here\n")
    children.stop()
    assert child.handle.returncode == -signal.SIGKILL
    assert gone(child.handle.pid)


def test_stop_ends_what_a_child_has_started(tmp_path, children):
    child = children.start("shell", ["/bin/sh", "-c", "sleep 60 & echo $!; wait"], tmp_path / "log")
    wait_until(lambda: child.log.read_text().endswith("\n"))
    grandchild = int(child.log.read_text())
    children.stop()
    wait_until(lambda: gone(grandchild))


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (
            "seq 30; exit 7",
            r"one ended with exit code 7; .* said: 28 \| 29 \| 30 \(all of it: .*/log\)$",
        ),
        ("kill -KILL $$", "one was ended by signal 9"),
    ],
)
def test_the_first_that_failed_is_named_with_its_last_words(tmp_path, children, script, said):
    children.start("steady", ["/bin/sleep", "60"], tmp_path / "steady")
    children.check()
    children.start("one", ["/bin/sh", "-c", script], tmp_path / "log").handle.wait()
    with pytest.raises(ProcessEnded, match=f"^{said}"):
        children.check()


def test_a_program_that_is_not_there_is_named(tmp_path, children):
    with pytest.raises(ProcessEnded, match=r"^one: .*/absent cannot be run: No such file or directory$"):
        children.start("one", [tmp_path / "absent"], tmp_path / "log")
    assert not children.children


def test_children_of_another_thread_are_refused(tmp_path, children):
    """They would die with it."""
    with ThreadPoolExecutor() as thread, pytest.raises(RuntimeError):
        thread.submit(children.start, "one", ["/bin/true"], tmp_path / "log").result()


@pytest.mark.parametrize("number", ENDING)
def test_an_orderly_end_runs_what_stands_in_finally(number):
    tidied = []
    before = signal.getsignal(number)
    with pytest.raises(SystemExit) as stop, orderly_end():
        try:
            os.kill(os.getpid(), number)
            time.sleep(10)
        finally:
            tidied.append(True)
    assert tidied
    assert stop.value.code == 128 + number
    assert signal.getsignal(number) is before


NEVER = float("inf")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second goes by with each look at the clock, and none while it sleeps."""
    seconds = iter(range(10_000))
    monkeypatch.setattr(module.time, "monotonic", lambda: next(seconds))


def wait(missing: Iterator[str], looks: int, stalled_s: float, deadline: float = NEVER) -> None:
    """Wait for something that is there after so many looks; ``missing`` says what is not at each."""
    words = ""

    async def done() -> bool:
        nonlocal looks, words
        looks, words = looks - 1, next(missing)
        return looks < 0

    asyncio.run(until(done, lambda: words, lambda: None, deadline, stalled_s=stalled_s, poll_s=0))


@pytest.mark.usefixtures("clock")
def test_a_wait_goes_on_for_as_long_as_less_is_missing():
    wait((f"{left} relays" for left in range(100, -1, -1)), looks=100, stalled_s=5)


@pytest.mark.usefixtures("clock")
def test_a_wait_ends_when_the_same_has_been_missing_for_too_long():
    with pytest.raises(NotReady, match=r"^the network was not ready in time: relay3$"):
        wait(iter(["relay2, relay3", *["relay3"] * 20]), looks=20, stalled_s=5)


@pytest.mark.usefixtures("clock")
def test_a_wait_ends_at_the_deadline_though_something_goes_on():
    with pytest.raises(NotReady, match=r"in time: 9\d relays$"):
        wait((f"{left} relays" for left in range(100, -1, -1)), looks=100, stalled_s=5, deadline=4)


def test_few_names_stand_for_many():
    assert some_of({"relay2", "relay1"}) == "relay1, relay2"
    assert some_of([f"relay{number}" for number in range(1, 10)]) == (
        "relay1, relay2, relay3, relay4, relay5 and 4 more"
    )
