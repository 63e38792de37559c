"""The machine is read from the kernel's own files; what is not there is unknown, not zero."""

from __future__ import annotations

from pathlib import Path

import pytest

from torsweep.machine import read_machine


def _write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def test_memory_and_limits_are_read(tmp_path: Path) -> None:
    _write(
        tmp_path,
        {
            "proc/meminfo": "MemTotal:       24684092 kB\nMemFree: 1 kB\nMemAvailable:   20000000 kB\n",
            "proc/sys/kernel/pid_max": "32768\n",
            "proc/sys/kernel/threads-max": "192730\n",
            "proc/sys/vm/max_map_count": "65530\n",
            "proc/sys/vm/overcommit_memory": "2\n",
            "proc/sys/kernel/sched_autogroup_enabled": "1\n",
            "dev/shm/.keep": "",
        },
    )
    machine = read_machine(tmp_path)
    assert machine.available_bytes == 20_000_000 * 1024
    assert (machine.pid_max, machine.threads_max, machine.map_count_max) == (32_768, 192_730, 65_530)
    assert (machine.overcommit, machine.autogroup) == (2, True)
    assert machine.thread_limit is not None and machine.thread_limit <= 32_768
    assert machine.shared_memory_free_bytes is not None and machine.shared_memory_free_bytes > 0


def test_what_a_group_could_give_back_is_free_and_no_limit_is_none(tmp_path: Path) -> None:
    group = "sys/fs/cgroup/memory"
    files = {"max": "4000000000", "current": "1500000000", "stat": "anon 1000000000\ninactive_file 300000000"}
    _write(tmp_path, {"proc/meminfo": "MemTotal: 24684092 kB\nMemAvailable: 20000000 kB\n"})
    _write(tmp_path, {f"{group}.{name}": f"{text}\n" for name, text in files.items()})
    assert read_machine(tmp_path).available_bytes == 2_800_000_000
    _write(tmp_path, {f"{group}.max": "max\n"})
    assert read_machine(tmp_path).available_bytes == 20_000_000 * 1024


GROUP_TREES = {
    "version 2": ("0::/job_17/step_0\n", "sys/fs/cgroup/", "memory.max", "memory.current", "pids.max"),
    "version 1": (
        "9:memory:/job_17/step_0\n4:pids:/job_17/step_0\n",
        "sys/fs/cgroup/memory/",
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        "../../pids/job_17/pids.max",
    ),
}


@pytest.mark.parametrize("tree", GROUP_TREES)
def test_the_least_limit_of_the_group_and_those_above_it_counts(tmp_path: Path, tree: str) -> None:
    stated, top, limit, used, pids = GROUP_TREES[tree]
    _write(
        tmp_path,
        {
            "proc/meminfo": "MemTotal: 64000000 kB\nMemAvailable: 60000000 kB\n",
            "proc/self/cgroup": stated,
            f"{top}job_17/{limit}": "2147483648\n",
            f"{top}job_17/{used}": "1000000000\n",
            f"{top}job_17/{pids}": "300\n",
            f"{top}job_17/step_0/{limit}": "9223372036854771712\n" if tree == "version 1" else "max\n",
            f"{top}other/{limit}": "1000\n",
        },
    )
    machine = read_machine(tmp_path)
    assert machine.available_bytes == 1_147_483_648
    assert machine.thread_limit == 300


def test_what_cannot_be_read_is_unknown(tmp_path: Path) -> None:
    machine = read_machine(tmp_path)
    assert machine.available_bytes is None and not machine.autogroup
    assert machine.shared_memory_free_bytes is None
    assert machine.pid_max is None
