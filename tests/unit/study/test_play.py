"""Snakemake is called once, in the study; what it ends with is one line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from torsweep.errors import TorsweepError
from torsweep.home import CHECKOUT
from torsweep.study import play
from torsweep.study.document import Study
from torsweep.study.play import Interrupted, Play

STUDY = Study(Path("studies/x-1a2b3c"), "x", {"era": "today", "network": "ci"}, {}, {})
PLAY = Play(STUDY, "shadow-no-rtt", 2)


def test_the_command_line() -> None:
    page = "results/reports/x/shadow-no-rtt/today/ci/main/x.html"
    assert PLAY.command() == [
        *(sys.executable, "-m", "snakemake", "--snakefile", "studies/x-1a2b3c/Snakefile"),
        *("--directory", "studies/x-1a2b3c", "--cores", "2"),
        *("x", page, "--config", "engine=shadow-no-rtt"),
    ]
    assert PLAY.page == STUDY.folder / page
    assert PLAY.summary == STUDY.folder / "results/summaries/x/shadow-no-rtt/today/ci/main"


@pytest.mark.parametrize(
    ("number", "error", "said"),
    [
        (signal.SIGKILL, TorsweepError, r"exit code -9; the same command continues"),
        (signal.SIGINT, Interrupted, r"^interrupted; the same command continues"),
    ],
    ids=["killed", "interrupted before it has a plan"],
)
def test_a_pipeline_that_a_signal_ends(number, error, said, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(play, "_call", lambda command: -number)
    with pytest.raises(error, match=said):
        PLAY.run()


@pytest.mark.parametrize("code", [1, 2, 3, 130])
def test_what_the_pipeline_has_said_is_not_said_twice(monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    monkeypatch.setattr(play, "_call", lambda command: code)
    with pytest.raises(SystemExit) as ended:
        PLAY.run()
    assert ended.value.code == code


@pytest.mark.parametrize("send", [os.kill, os.killpg], ids=["the process alone", "its group, as Ctrl-C does"])
def test_an_interrupt_reaches_the_pipeline_and_its_steps_once_and_is_waited_for(
    tmp_path: Path, send: Callable[[int, int], None]
) -> None:
    """A pipeline that takes a while to end is not left behind, nor is a step of it."""
    script = (
        "import signal, sys, time, pathlib, subprocess\n"
        "def end(*_):\n"
        "    with open('interrupts', 'a') as file:\n        file.write(name)\n"
        "    time.sleep(0.5) if step is None else step.wait()\n"
        "    sys.exit(1)\n"
        "signal.signal(signal.SIGINT, end)\n"
    )
    step = f"name, step = 'step ', None\n{script}pathlib.Path('started').touch(); time.sleep(60)\n"
    started = f"step = subprocess.Popen([sys.executable, '-c', {step!r}]); time.sleep(60)\n"
    child = f"name = 'pipeline '\n{script}{started}"
    own = (
        "import signal, sys; from torsweep.study.play import _call\n"
        # A shell's job in the background ignores Ctrl-C, and so would this.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"print(_call([sys.executable, '-c', {child!r}]))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", own],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT / "src")},
    )
    until = time.monotonic() + 60
    while not (tmp_path / "started").exists() and time.monotonic() < until:
        time.sleep(0.05)
    send(process.pid, signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert said.strip() == "130"
    assert sorted((tmp_path / "interrupts").read_text().split()) == ["pipeline", "step"]
