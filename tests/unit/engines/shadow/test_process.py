"""Shadow as a process: its lines, its cores, and its end when we end."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.live_processes import gone, wait_until
from torsweep.engines.shadow.process import claimed_cores, process_failure, run_simulation, shadow_process
from torsweep.engines.shadow.simulate import ShadowSimulation
from torsweep.errors import TorsweepError

SIMULATION = ShadowSimulation({}, stop_ns=1, seed=1)
PARENT = """
import sys
from pathlib import Path
from torsweep.engines.shadow.process import shadow_process
with shadow_process(Path(sys.argv[1]), Path(sys.argv[2])) as process:
    for line in process.lines():
        print(line, flush=True)
"""


def test_lines_of_standard_error_are_handed_on_and_output_is_kept(tmp_path, program):
    shadow = program("echo said; echo told >&2; exit 3")
    with shadow_process(shadow, tmp_path) as process:
        lines = [line for line in process.lines() if line]
        assert process.wait() == 3
    assert lines == ["told"]
    assert (tmp_path / "shadow.log").read_text() == "said\n"


@pytest.mark.parametrize("program", ["tor", "python3.11"])
def test_a_process_that_fails_is_named_with_its_last_words(program, tmp_path):
    folder = tmp_path / "data" / "hosts" / "web1"
    folder.mkdir(parents=True)
    (folder / f"{program}.1003.stderr").write_text("what came first\nno such host\n")
    line = f"process 'web1.{program}.1003' exited with status Normal(1); expected end state was running"
    said = f"{program} of web1 exited with status Normal(1): no such host"
    assert process_failure(line, tmp_path) == said


def test_data_of_a_run_before_are_removed(tmp_path, program):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "old").touch()
    with shadow_process(program("test ! -e data"), tmp_path) as process:
        list(process.lines())
        assert process.wait() == 0


def test_what_shadow_started_ends_with_the_block(tmp_path, program):
    shadow = program("sleep 60 & echo $! >&2; wait")
    with shadow_process(shadow, tmp_path) as process:
        child = int(next(line for line in process.lines() if line))
        assert not gone(child)
    wait_until(lambda: gone(child) and gone(process.pid))


def test_shadow_ends_when_the_one_who_started_it_is_killed(tmp_path, program):
    shadow = program("echo $$ >&2; exec sleep 60")
    command = [sys.executable, "-c", PARENT, str(shadow), str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(next(line for line in parent.stdout if line.strip()))
        parent.kill()
    wait_until(lambda: gone(pid))


def test_shadow_has_the_cores_it_was_given(tmp_path, program):
    core = min(os.sched_getaffinity(0))
    shadow = program("grep Cpus_allowed_list /proc/self/status >&2")
    with shadow_process(shadow, tmp_path, (core,)) as process:
        assert [line for line in process.lines() if line] == [f"Cpus_allowed_list:\t{core}"]


def test_cores_are_claimed_once(tmp_path):
    every = tuple(sorted(os.sched_getaffinity(0)))
    with claimed_cores(1, tmp_path / "claims") as first:
        assert first == every[:1]
        with claimed_cores(len(every), tmp_path / "claims") as rest:
            # Fewer are free than wanted: better slow on all of them than not at all.
            assert rest == every
        if len(every) > 1:
            with claimed_cores(1, tmp_path / "claims") as second:
                assert second == every[1:2]
    with claimed_cores(0, tmp_path / "claims") as again:
        assert again == every


def test_a_short_simulation_that_fails_says_why(tmp_path, program, tools):
    program("echo '** Shadow did not complete successfully: no such graph' >&2; exit 1")
    with pytest.raises(TorsweepError, match="no such graph"):
        run_simulation(SIMULATION, tmp_path, tools.shadow)
    assert (tmp_path / "shadow.yaml").exists()
