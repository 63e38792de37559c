"""Plans of runs in real time have a machine one after the other."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from torsweep.engines import machine_lock as module
from torsweep.engines.machine_lock import HELD, hold_machine, machine_shared
from torsweep.errors import OutputError

PLAN = """
import sys
from pathlib import Path
from torsweep.engines.machine_lock import hold_machine
tell = hold_machine(print, Path(sys.argv[1]))
tell(600.0)
print("mine", flush=True)
sys.stdin.readline()
tell(-1.0)
print("late", flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits long, and no plan of this process goes before."""
    monkeypatch.setattr(module, "POLL_S", 0.01)
    monkeypatch.setattr(module, "_held", [])
    # hold_machine sets it; monkeypatch restores only what it has changed.
    monkeypatch.setenv(HELD, "")
    monkeypatch.delenv(HELD)


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    return tmp_path / "machine.lock"


@pytest.fixture
def other_plan(lock: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the machine for about ten minutes, until its input ends."""
    command = [sys.executable, "-c", PLAN, str(lock)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "mine\n"
        yield process
        process.kill()


@pytest.mark.parametrize(
    ("late", "left"), [(False, "about 10 min left"), (True, "which take longer than was estimated")]
)
def test_a_plan_waits_for_the_one_before_says_for_whom_and_goes_on(lock, other_plan, late, left):
    if late:
        other_plan.stdin.write("\n")
        other_plan.stdin.flush()
        assert other_plan.stdout.readline() == "late\n"
    said: list[str] = []

    def say(line: str) -> None:
        said.append(line)
        other_plan.kill()

    hold_machine(say, lock)
    assert said == [f"waiting for the runs of process {other_plan.pid} in {os.getcwd()}, {left}"]


def test_a_run_of_no_plan_waits_for_a_plan(lock, other_plan):
    said: list[str] = []

    def say(line: str) -> None:
        said.append(line)
        other_plan.kill()

    with machine_shared(say, lock):
        assert len(said) == 1


def test_runs_of_no_plan_share_the_machine_and_a_plan_waits_for_them(lock):
    with machine_shared(pytest.fail, lock), machine_shared(pytest.fail, lock):
        said: list[str] = []

        def say(line: str) -> None:
            said.append(line)
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            hold_machine(say, lock)
        assert said == ["waiting for another emulation on this machine"]
    hold_machine(pytest.fail, lock)


def test_steps_of_the_plan_that_holds_the_machine_do_not_wait(lock):
    hold_machine(pytest.fail, lock)
    # Everybody may write who has the machine, whoever was first.
    assert lock.stat().st_mode & 0o666 == 0o666
    assert HELD in os.environ
    with machine_shared(pytest.fail, lock):
        hold_machine(pytest.fail, lock)


def test_what_a_plan_that_was_killed_left_is_not_told(lock, other_plan):
    other_plan.kill()
    other_plan.wait()
    with machine_shared(pytest.fail, lock):
        assert str(other_plan.pid) in lock.read_text()
        with pytest.raises(pytest.fail.Exception, match=r"^waiting for another emulation on this machine$"):
            hold_machine(pytest.fail, lock)


def test_a_lock_that_cannot_be_opened_is_named(tmp_path):
    with pytest.raises(OutputError, match=r"absent/machine\.lock: cannot be opened: No such file"):
        hold_machine(pytest.fail, tmp_path / "absent" / "machine.lock")
