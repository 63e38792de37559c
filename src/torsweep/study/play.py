"""Snakemake runs a study, in its folder.

In: a study, the engine and the number of cores. Out: the results in the folder, and Snakemake's exit code.
Snakemake prints on standard error: standard output is the answer's. A signal that ends this process is passed
on to it and its steps, and this process waits for its end.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from torsweep.config.experiment import MAIN_PLAN
from torsweep.ending import INTERRUPTED
from torsweep.errors import InputError, ToolMissing, TorsweepError
from torsweep.pipeline.hooks import CONTINUES, Interrupted
from torsweep.pipeline.tree import PlanPath
from torsweep.study.document import Study

STANDARD_ERROR = 2
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class Play:
    """One way to play a study."""

    study: Study
    engine: str
    cores: int

    @property
    def plan(self) -> PlanPath:
        """The folder of its results, below the study's folder."""
        document = self.study.document
        return PlanPath(self.study.name, self.engine, document["era"], document["network"], MAIN_PLAN)

    @property
    def summary(self) -> Path:
        """The folder of its summary."""
        return self.study.folder / self.plan.summary.parent

    @property
    def page(self) -> Path:
        """The path of the page to read."""
        return self.study.folder / self.plan.page

    def command(self) -> list[str]:
        """Snakemake's command line."""
        words = [sys.executable, "-m", "snakemake", "--snakefile", str(self.study.folder / "Snakefile")]
        words += ["--directory", str(self.study.folder), "--cores", str(self.cores)]
        return [*words, self.study.name, str(self.plan.page), "--config", f"engine={self.engine}"]

    def run(self) -> None:
        """Let Snakemake make everything that is missing.

        Where it ends with a line of its own on why, the process ends with its code. Raises Interrupted where
        a user ended it before it had a plan.
        """
        code = _call(self.command())
        if code == -signal.SIGINT:
            raise Interrupted(f"interrupted; {CONTINUES}")
        if code in (TorsweepError.exit_code, InputError.exit_code, ToolMissing.exit_code, INTERRUPTED):
            raise SystemExit(code)
        if code:
            raise TorsweepError(f"the pipeline ended with exit code {code}; {CONTINUES}")


def _call(command: list[str]) -> int:
    """The exit code of ``command``.

    It has a process group of its own, so that it and its steps get each signal of an end once, whether a
    terminal sent it to all of this process's group or a user to this process alone.
    """
    asked = False
    with subprocess.Popen(command, stdout=STANDARD_ERROR, process_group=0) as process:

        def pass_on(number: int, _: object) -> None:
            nonlocal asked
            asked = True
            with suppress(ProcessLookupError):
                os.killpg(process.pid, number)

        heard = [number for number in ENDING if signal.getsignal(number) != signal.SIG_IGN]
        before = {number: signal.signal(number, pass_on) for number in heard}
        try:
            code = process.wait()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
    # A process that the signal itself ends has printed no line on why.
    return INTERRUPTED if asked and code >= 0 else code
