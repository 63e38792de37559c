"""What tors cost, watched from outside."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from torsweep.engines.shadow.costs import CostWatch, read_costs


@pytest.fixture
def group(tmp_path: Path) -> Iterator[int]:
    """A process group of a "tor" that computes on relay1 and a "tgen" on web1, as Shadow would start them."""
    for name, host in (("tor", "relay1"), ("tgen", "web1")):
        (tmp_path / "hosts" / host).mkdir(parents=True)
        shutil.copy("/bin/sh", tmp_path / name)
    # The shell that starts both stands for Shadow.
    script = "(cd hosts/relay1; ../../tor -c 'while :; do :; done') & (cd hosts/web1; ../../tgen -c 'sleep 60; :')"
    shadow = subprocess.Popen(["sh", "-c", f"{script}; wait"], cwd=tmp_path, start_new_session=True)
    yield shadow.pid
    subprocess.run(["kill", "-9", "--", f"-{shadow.pid}"], check=True)
    shadow.wait()


def test_the_last_look_at_each_tor_counts(group: int, tmp_path: Path) -> None:
    watch = CostWatch()
    deadline_s = time.monotonic() + 30
    while not watch.costs and time.monotonic() < deadline_s:
        watch.look(group)
    first = watch.costs["relay1"].cpu_us
    while watch.costs["relay1"].cpu_us < first + 20_000 and time.monotonic() < deadline_s:
        watch.look(group)
    assert first + 20_000 <= watch.costs["relay1"].cpu_us < 30_000_000
    assert 100_000 < watch.costs["relay1"].peak_memory_bytes < 10_000_000
    watch.write(tmp_path)
    assert read_costs(tmp_path) == watch.costs
    assert set(watch.costs) == {"relay1"}


def test_a_folder_of_an_older_version_has_no_costs(tmp_path: Path) -> None:
    assert read_costs(tmp_path) == {}
