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
            "proc/mounts": "tmpfs /dev/shm tmpfs rw,nosuid,noexec,relatime 0 0\n",
            "dev/shm/.keep": "",
        },
    )
    machine = read_machine(tmp_path)
    assert (machine.memory_bytes, machine.available_bytes) == (24_684_092 * 1024, 20_000_000 * 1024)
    assert (machine.pid_max, machine.threads_max, machine.map_count_max) == (32_768, 192_730, 65_530)
    assert (machine.overcommit, machine.shared_memory_executable, machine.autogroup) == (2, False, True)
    assert machine.thread_limit is not None and machine.thread_limit <= 32_768
    assert machine.shared_memory_bytes is not None and machine.shared_memory_bytes > 0


@pytest.mark.parametrize(
    ("files", "read"),
    [
        (
            {
                "proc/meminfo": "MemTotal: 24684092 kB\nMemAvailable: 20000000 kB\n",
                "sys/fs/cgroup/memory.max": "4000000000\n",
                "sys/fs/cgroup/memory.current": "1500000000\n",
                "sys/fs/cgroup/memory.stat": "anon 1000000000\ninactive_file 300000000\n",
                "sys/fs/cgroup/pids.max": "512\n",
            },
            {"memory_bytes": 4_000_000_000, "available_bytes": 2_800_000_000, "thread_limit": 512},
        ),
        (
            {"proc/meminfo": "MemTotal: 1000 kB\n", "sys/fs/cgroup/memory.max": "max\n"},
            {"memory_bytes": 1_024_000},
        ),
        (
            {
                "proc/mounts": "tmpfs /dev/shm tmpfs rw,noexec 0 0\ntmpfs /dev/shm tmpfs rw,relatime 0 0\n",
                "dev/shm/.keep": "",
            },
            {"shared_memory_executable": True},
        ),
        (
            {},
            {"memory_bytes": None, "available_bytes": None, "autogroup": False, "pid_max": None}
            | {"shared_memory_bytes": None, "shared_memory_executable": None},
        ),
    ],
    ids=["a group that allows less", "a group without a limit", "the last mount counts", "nothing"],
)
def test_what_the_machine_says_is_read_and_the_rest_is_unknown(tmp_path: Path, files, read) -> None:
    _write(tmp_path, files)
    machine = read_machine(tmp_path)
    assert {name: getattr(machine, name) for name in read} == read


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
    assert (machine.memory_bytes, machine.available_bytes) == (2_147_483_648, 1_147_483_648)
    assert machine.thread_limit == 300
