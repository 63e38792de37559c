"""A pipeline that is killed at random moments leaves what others do."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from pathlib import Path

from tests.workflow.conftest import Workspace
from tests.workflow.pair import differences, leftovers, workspace_with_pair


def start(workspace: Workspace) -> subprocess.Popen[str]:
    return workspace.start("pair", config=("engine=cellsim",), forked_steps=False)


def test_two_kills(tmp_path: Path) -> None:
    """Of Snakemake alone, whose steps then go on; and of all that it started."""
    undisturbed, killed = (workspace_with_pair(tmp_path / name) for name in ("undisturbed", "killed"))
    began = time.monotonic()
    assert start(undisturbed).wait() == 0
    whole_s, draw = time.monotonic() - began, random.Random(7)
    for kill in (os.kill, os.killpg):
        pipeline = start(killed)
        time.sleep(draw.uniform(0, whole_s))
        kill(pipeline.pid, signal.SIGKILL)
        pipeline.wait()
    assert start(killed).wait() == 0
    assert leftovers(killed, undisturbed) == []
    assert differences(killed, undisturbed) == []
