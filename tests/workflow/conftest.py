"""A workspace of its own for each pipeline that a test runs, as a user's checkout would be.

The workspace has copies of what a test may edit and links to what it may not. Everything runs on the
network ``ci`` for seconds of simulated time.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.stand_ins import ANSWERS, executable, tells_round_trip
from tests.workflow import warm
from torsweep.engines.tools import TOOL_KINDS

REPOSITORY = Path(__file__).parents[2]
COPIED = ("Snakefile", "rules", "configs", "experiments", "profiles", "environment.yml")
LINKED = ("topologies", "plotting", "patches")
TINY = ("engine=cellsim", "network=ci", "replicates=2", "warm_up=20 s", "measured=30 s")
TIMEOUT_S = 900
"""A machine may be busy with other things; a pipeline that hangs ends all the same."""


@dataclass
class Workspace:
    """A folder to run Snakemake in."""

    folder: Path
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def command(self, *arguments: str, config: tuple[str, ...] = TINY) -> list[str]:
        """The command line of a pipeline on two cores."""
        options = ["--config", *config] if config else []
        return [sys.executable, "-m", "snakemake", "--cores", "2", *arguments, *options]

    def snakemake(self, *arguments: str, config: tuple[str, ...] = TINY) -> subprocess.CompletedProcess[str]:
        """Run Snakemake to its end; standard output and error together."""
        return warm.run(self.command(*arguments, config=config)[2:], self.folder, TIMEOUT_S)

    def torsweep(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command of torsweep to its end; standard output and error together."""
        return warm.run(["torsweep", *arguments], self.folder, TIMEOUT_S)

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run ``command`` to its end; standard output and error together."""
        return subprocess.run(
            command,
            cwd=self.folder,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=TIMEOUT_S,
            check=False,
        )

    def start(
        self, *arguments: str, config: tuple[str, ...] = TINY, forked_steps: bool = True
    ) -> subprocess.Popen[str]:
        """Start Snakemake and come back at once; steps that are forked are outside its group of processes."""
        command = self.command(*arguments, config=config)
        process = subprocess.Popen(
            warm.command(command[3:]) if forked_steps else command,
            cwd=self.folder,
            text=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.started.append(process)
        return process

    def planned_jobs(
        self, target: str = "refill_sweep", config: tuple[str, ...] = TINY, more: Sequence[str] = ()
    ) -> dict[str, int]:
        """How many jobs of each rule Snakemake would run for the targets, the first's own left out."""
        done = self.snakemake(target, *more, "--dry-run", config=config)
        assert done.returncode == 0, done.stdout
        counts = re.findall(r"^(\w+) +(\d+)$", done.stdout, re.MULTILINE)
        assert counts or "Nothing to be done" in done.stdout, done.stdout
        return {rule: int(count) for rule, count in counts if rule not in (target, "total")}

    def provenance_files(self) -> list[Path]:
        """What the finished runs left."""
        return sorted((self.folder / "results" / "runs").rglob("provenance.json"))

    def wait_for(self, condition: Callable[[], bool]) -> None:
        """Wait until ``condition`` holds; fail when it never does."""
        give_up = time.monotonic() + TIMEOUT_S
        while not condition():
            assert time.monotonic() < give_up, "waited in vain"
            time.sleep(0.05)

    def stop_all(self) -> None:
        """End every Snakemake started here, with what it started."""
        for process in self.started:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
            process.wait()


def copy_parts(names: Sequence[str], folder: Path) -> None:
    """Files and folders of the repository, without what Python keeps beside modules."""
    for name in names:
        if (REPOSITORY / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(REPOSITORY / name, folder / name, ignore=ignored)
        else:
            shutil.copy(REPOSITORY / name, folder / name)


def make_workspace(folder: Path) -> Workspace:
    """A workspace in ``folder``, with nothing run in it."""
    folder.mkdir(parents=True, exist_ok=True)
    copy_parts(COPIED, folder)
    for name in LINKED:
        (folder / name).symlink_to(REPOSITORY / name)
    # Two figures show what seven do: tests of figures draw all of them.
    file = folder / "experiments/refill_sweep/experiment.yaml"
    few, lists = re.subn(r"(?m)^figures:\s*\[[^]]*\]", "figures: [ttfb_cdf, differences]", file.read_text())
    assert lists == 1
    file.write_text(few)
    return Workspace(folder)


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """A workspace without results."""
    made = make_workspace(tmp_path)
    yield made
    made.stop_all()


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Workspace, str]:
    """A workspace in which a tiny refill_sweep has run, and what Snakemake said. Tests only read it.

    Processes that share the tests share the workspace: the first one that needs it makes it.
    """
    root = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        root = root.parent
    folder, said = root / "finished", root / "finished.txt"
    with (root / "finished.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not said.exists():
            shutil.rmtree(folder, ignore_errors=True)
            done = make_workspace(folder).snakemake("refill_sweep")
            assert done.returncode == 0, done.stdout
            said.write_text(done.stdout)
    return Workspace(folder), said.read_text()


@pytest.fixture
def shadow_and_compiler(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with Shadow and with what building tor needs."""
    programs = tmp_path_factory.mktemp("programs")
    scripts = {
        TOOL_KINDS[name].variable: f"echo {answer}\n{tells_round_trip(100)}"
        for name, answer in ANSWERS.items()
    }
    scripts["CC"] = "exit 0"  # a compiler that finds every library
    for variable, script in scripts.items():
        executable(programs / variable, f"#!/bin/sh\n{script}\n")
        monkeypatch.setenv(variable, str(programs / variable))
