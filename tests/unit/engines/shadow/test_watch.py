"""A simulation under watch: its progress, what stops it early, and what its tors cost."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from torsweep.engines.shadow import watch as watch_module
from torsweep.engines.shadow.watch import Progress, Watch, parse_progress
from torsweep.errors import TorsweepError

PROGRESS = "Progress: {}% — simulated: 00:0{}:00.250/00:10:00, realtime: 00:0{}:00, processes failed: 0"
DEATH = (
    "Error: process '{host}.tor.1000' exited with status Normal(1);"
    " expected end state was running but was exited: 1"
)


DONE = "Jan 01 00:01:00.000 [notice] Bootstrapped 100% (done): Done\n"
EARLY, LATE, LATER = PROGRESS.format(20, 2, 1), PROGRESS.format(40, 4, 2), PROGRESS.format(60, 6, 3)


CRASH = ("** Starting Shadow 3.3.0", "** Shadow did not complete successfully: unknown field `colour`")


class Scripted:
    """A Shadow that says its lines and ends."""

    pid = 0

    def __init__(self, *lines: str, code: int = 0) -> None:
        self._lines, self._code = lines, code

    def lines(self) -> Iterator[str]:
        yield from self._lines

    def wait(self) -> int:
        return self._code


def _watch(tmp_path: Path, clients: tuple[str, ...] = (), available: int = 10**12) -> tuple[Watch, list[str]]:
    said: list[str] = []
    return Watch(tmp_path, clients, 180.0, said.append, lambda: available), said


def _follow(watch: Watch, *lines: str, code: int = 0) -> None:
    watch.follow(Scripted(*lines, code=code))  # type: ignore[arg-type]


def _tor_log(tmp_path: Path, host: str, text: str) -> None:
    folder = tmp_path / "data/hosts" / host
    folder.mkdir(parents=True)
    (folder / "tor.1000.stdout").write_text(text)


def test_a_line_of_progress_is_read() -> None:
    line = "Progress: 48% — simulated: 00:05:18.155/00:11:00, realtime: 00:01:00, processes failed: 2"
    assert parse_progress(line) == Progress(318.155, 660.0, 60.0)
    assert parse_progress("** Starting Shadow 3.3.0") is None


def test_what_is_left_is_told_at_the_pace_of_the_latter_half() -> None:
    """A start of 300 s in a minute, then 100 s in ten; of the last minutes, one was slow and one quick."""
    looks = [Progress(*at) for at in ((300, 1200, 60), (400, 1200, 660), (600, 1200, 1860))]
    assert looks[0].line([]) == "25 %: 300 of 1200 s simulated, about 3 min left"
    for minute in ((601, 1200, 1920), (650, 1200, 1980)):
        assert re.search(r"about (50 min|1 h \d min) left$", Progress(*minute).line(looks))
    assert looks[2].line(looks[:2]) == "50 %: 600 of 1200 s simulated, about 1 h 0 min left"


def test_progress_is_said_line_by_line(tmp_path: Path) -> None:
    watch, said = _watch(tmp_path)
    _follow(watch, EARLY, "", LATE)
    assert len(said) == 2
    assert said[0].startswith("20 %: 120 of 600 s simulated, about 4 min left")


def test_a_process_that_dies_stops_the_run_with_its_first_error(tmp_path: Path) -> None:
    said = (
        "[notice] Tor 0.4.9 running",
        "[warn] Failed to parse/validate config: Unknown option 'Refil'.",
    )
    lines = (*said, "[err] Reading config failed--see warnings above.")
    _tor_log(tmp_path, "relay3", "".join(f"Jan 01 00:00:01.000 {line}\n" for line in lines))
    watch, _ = _watch(tmp_path)
    with pytest.raises(TorsweepError, match=r"tor of relay3 exited .*: \[warn\] Failed .* Unknown option"):
        _follow(watch, DEATH.format(host="relay3"), DEATH.format(host="relay4"))


def test_clients_that_are_not_ready_in_time_stop_the_run(tmp_path: Path) -> None:
    _tor_log(tmp_path, "web1", DONE)
    _tor_log(tmp_path, "web2", "Jan 01 00:01:00.000 [notice] Bootstrapped 75% (enough_dirinfo): Loaded\n")
    watch, said = _watch(tmp_path, ("web1", "web2"))
    with pytest.raises(TorsweepError, match=r"1 of 2 clients .* after 180 .* web2: .*Bootstrapped 75%"):
        _follow(watch, EARLY, LATE, LATER)
    assert len(said) == 1
    # A run too short for Shadow to say that it came so far.
    watch, _ = _watch(tmp_path, ("web1", "web2"))
    with pytest.raises(TorsweepError, match="1 of 2 clients"):
        _follow(watch, EARLY)


def test_a_network_that_is_not_as_it_should_be_stops_the_run_when_clients_are_due(tmp_path: Path) -> None:
    _tor_log(tmp_path, "web1", DONE)
    watch, said = _watch(tmp_path, ("web1",))

    def check() -> None:
        raise TorsweepError("no consensus")

    watch.check_network = check
    with pytest.raises(TorsweepError, match="no consensus"):
        _follow(watch, EARLY, LATE, LATER)
    assert len(said) == 1


def test_a_late_client_is_told_where_so_many_may_be_late(tmp_path: Path) -> None:
    _tor_log(tmp_path, "web1", DONE)
    watch, said = _watch(tmp_path, ("web1", "web2"))
    watch.may_be_late = 0.5
    _follow(watch, LATE)
    late = "1 of 2 clients had not bootstrapped after 180 simulated s, the first being web2"
    assert said[0].startswith(late)
    watch, _ = _watch(tmp_path, ("web2", "web3"))
    watch.may_be_late = 0.5
    with pytest.raises(TorsweepError, match="2 of 2 clients"):
        _follow(watch, LATE)


def test_few_late_clients_do_not_end_a_run(tmp_path: Path) -> None:
    clients = tuple(f"web{i}" for i in range(40))
    for name in clients[2:]:
        _tor_log(tmp_path, name, DONE)
    watch, said = _watch(tmp_path, clients)
    _follow(watch, LATE)
    assert said[0].startswith("2 of 40 clients had not bootstrapped")
    watch, _ = _watch(tmp_path, clients[:39])
    with pytest.raises(TorsweepError, match="2 of 39 clients"):
        _follow(watch, LATE)


@pytest.mark.parametrize(
    ("available", "lines", "code", "said"),
    [
        (10**8, ("",), 0, "memory is about to run out: 100 MB are left"),
        (10**12, CRASH, 1, r"exit code 1\): Shadow did not complete .* unknown field"),
        (10**12, (), -11, "killed by signal 11"),
    ],
)
def test_a_run_that_memory_or_shadow_itself_ends_says_why(
    tmp_path: Path, available: int, lines: tuple[str, ...], code: int, said: str
) -> None:
    watch, _ = _watch(tmp_path, available=available)
    with pytest.raises(TorsweepError, match=said):
        _follow(watch, *lines, code=code)


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
    monkeypatch.setattr(watch_module, "_PAUSE_PER_LOOK", 0)
    watch, deadline_s = watch_module.CostWatch(["web1"]), time.monotonic() + 60
    while watch._before_us.get("relay1", 0) < 300_000 and time.monotonic() < deadline_s:
        watch.look(group)
    assert watch.costs == {}
    (tmp_path / "begun").touch()
    while not watch.costs and time.monotonic() < deadline_s:
        watch.look(group)
    watch.write(tmp_path)
    found = watch_module.read_costs(tmp_path)
    assert list(found) == ["relay1"]
    assert found["relay1"].cpu_us < 100_000
    assert 100_000 < found["relay1"].peak_memory_bytes < 10_000_000


def test_looks_are_far_apart_when_they_take_long(group, monkeypatch):
    monkeypatch.setattr(watch_module, "_PAUSE_PER_LOOK", 0)
    watch, deadline_s = watch_module.CostWatch(["server1"]), time.monotonic() + 60
    while not watch.costs and time.monotonic() < deadline_s:
        watch.look(group)
    monkeypatch.setattr(watch_module, "_PAUSE_PER_LOOK", 1_000_000)
    watch.look(group)
    watch.costs.clear()
    watch.look(group)
    assert watch.costs == {}


def test_a_folder_of_an_older_version_has_no_costs(tmp_path):
    assert watch_module.read_costs(tmp_path) == {}
