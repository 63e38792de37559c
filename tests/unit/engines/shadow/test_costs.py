"""What tors cost, watched from outside."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from torsweep.engines.shadow import watch as costs
from torsweep.engines.shadow.watch import CostWatch, read_costs

SHADOW = """
(cd hosts/relay1; ulimit -t 60; exec ../../tor -c 'until [ -e ../../begun ]; do :; done; sleep 60; :') &
(cd hosts/server1; exec ../../tgen -c 'sleep 60; :') &
(cd hosts/web1; until [ -e ../../begun ]; do sleep 0.02; done; exec ../../tgen -c 'sleep 60; :') &
wait
"""
"""A tor that computes until the clients begin to download, a server, and a client; they end by themselves."""


@pytest.fixture
def group(tmp_path: Path) -> Iterator[int]:
    """The process group of a shell in the place of Shadow."""
    for host in ("relay1", "server1", "web1"):
        (tmp_path / "hosts" / host).mkdir(parents=True)
    for name in ("tor", "tgen"):
        shutil.copy("/bin/sh", tmp_path / name)
    shadow = subprocess.Popen(["/bin/sh", "-c", SHADOW], cwd=tmp_path, start_new_session=True)
    yield shadow.pid
    os.killpg(shadow.pid, signal.SIGKILL)
    shadow.wait()


def test_costs_count_from_the_first_download_on(group, tmp_path, monkeypatch):
    monkeypatch.setattr(costs, "_PAUSE_PER_LOOK", 0)
    watch, deadline_s = CostWatch(["web1"]), time.monotonic() + 60
    while watch._before_us.get("relay1", 0) < 300_000 and time.monotonic() < deadline_s:
        watch.look(group)
    assert watch.costs == {}
    (tmp_path / "begun").touch()
    while not watch.costs and time.monotonic() < deadline_s:
        watch.look(group)
    watch.write(tmp_path)
    found = read_costs(tmp_path)
    assert list(found) == ["relay1"]
    assert found["relay1"].cpu_us < 100_000
    assert 100_000 < found["relay1"].peak_memory_bytes < 10_000_000


def test_looks_are_far_apart_when_they_take_long(group, monkeypatch):
    monkeypatch.setattr(costs, "_PAUSE_PER_LOOK", 0)
    watch, deadline_s = CostWatch(["server1"]), time.monotonic() + 60
    while not watch.costs and time.monotonic() < deadline_s:
        watch.look(group)
    monkeypatch.setattr(costs, "_PAUSE_PER_LOOK", 1_000_000)
    watch.look(group)
    watch.costs.clear()
    watch.look(group)
    assert watch.costs == {}


def test_a_folder_of_an_older_version_has_no_costs(tmp_path):
    assert read_costs(tmp_path) == {}
