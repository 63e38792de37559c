"""Processes are all gone in the end, and the first that fails is the one that is told of."""

from __future__ import annotations

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
from torsweep.engines.emulation.processes import ENDING, ProcessEnded, ProcessSet, orderly_end

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
