"""Who may make hosts, and how it is said who may not."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest

from torsweep.engines.emulation import rights as module
from torsweep.engines.emulation.rights import become_able, cores_claimed, host_rights
from torsweep.errors import ToolMissing


@pytest.fixture
def tun(tmp_path: Path) -> Path:
    """A file that can be opened, as a device would be."""
    file = tmp_path / "tun"
    file.touch()
    return file


def test_a_machine_without_tun_is_told_what_to_load(tmp_path):
    with pytest.raises(ToolMissing, match=r"^emulation: .*no such device: load the kernel's module tun"):
        host_rights(tmp_path / "absent")


def test_a_tun_that_is_not_open_is_told_who_opens_it(tun, monkeypatch):
    def refuse(path, flags):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(module.os, "open", refuse)
    with pytest.raises(ToolMissing, match=f"{tun}: not open to this user: run as root, or `chmod 666 {tun}`"):
        host_rights(tun)


@pytest.mark.parametrize(
    ("user", "works", "way"),
    [(0, 0x40000000, "root"), (1000, 0x50000000, "user namespaces")],
)
def test_root_and_user_namespaces_are_two_ways(tun, monkeypatch, user, works, way):
    monkeypatch.setattr(module.os, "geteuid", lambda: user)
    monkeypatch.setattr(module, "may_unshare", lambda flags: flags == works)
    assert host_rights(tun) == way


@pytest.mark.parametrize(
    ("user", "works", "why"),
    [
        (0, False, "to root too: a container may forbid them"),
        (1000, False, "to this user: run as root, or allow user namespaces"),
        (1000, True, "unshare: not on PATH; it is part of util-linux"),
    ],
)
def test_where_hosts_cannot_be_made_the_reason_is_told(tun, monkeypatch, user, works, why):
    monkeypatch.setattr(module.os, "geteuid", lambda: user)
    monkeypatch.setattr(module, "may_unshare", lambda flags: works and flags == 0x50000000)
    monkeypatch.setenv("PATH", str(tun.parent))
    with pytest.raises(ToolMissing, match=f"^emulation: .*{why}"):
        host_rights(tun)


def test_without_root_the_command_is_started_anew_in_a_user_namespace(monkeypatch):
    started: list = []
    monkeypatch.delenv(module.INSIDE, raising=False)
    monkeypatch.setattr(module, "host_rights", lambda: "user namespaces")
    monkeypatch.setattr(module.os, "execvpe", lambda *arguments: started.append(arguments))
    monkeypatch.setattr(module.sys, "argv", ["torsweep", "emulation", "run", "DIR"])
    become_able()
    ((_, command, environment),) = started
    assert command[: len(module.UNSHARE)] == list(module.UNSHARE)
    assert command[-4:] == ["torsweep", "emulation", "run", "DIR"]
    assert environment[module.INSIDE] == "1"
    monkeypatch.setenv(module.INSIDE, "1")
    become_able()
    assert len(started) == 1


def test_emulations_share_the_cores_and_wait_for_those_that_are_missing(tmp_path, monkeypatch):
    lock = tmp_path / "lock"
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1, 2})
    said: list[str] = []

    def give_up(line: str) -> None:
        said.append(line)
        raise TimeoutError

    monkeypatch.setattr(module, "say_waiting", give_up)
    with cores_claimed(1, lock), cores_claimed(2, lock), pytest.raises(TimeoutError), cores_claimed(1, lock):
        pass
    with cores_claimed(1, lock), pytest.raises(TimeoutError), cores_claimed(3, lock):
        pass
    assert said == ["waiting for another emulation on this machine"] * 2
    with cores_claimed(8, lock):
        assert [os.stat(f"{lock}.{core}").st_mode & 0o444 for core in range(3)] == [0o444] * 3
    with cores_claimed(3, lock):
        pass


def test_a_run_goes_on_when_the_cores_are_free_again(tmp_path, monkeypatch):
    lock, other = tmp_path / "lock", contextlib.ExitStack()
    other.enter_context(cores_claimed(1, lock))
    monkeypatch.setattr(module, "say_waiting", lambda line: other.close())
    with cores_claimed(3, lock):
        pass


def test_a_session_comes_first_for_a_run_where_the_user_may(tmp_path):
    group = tmp_path / "autogroup"
    with module.session_first(group):
        assert not group.exists()
    group.touch()
    with module.session_first(group):
        assert group.read_text() == ""
    group.write_text("/autogroup-12 nice 0\n")
    with module.session_first(group):
        assert group.read_text() == "-10"
    assert group.read_text() == "0"


def test_processors_are_kept_awake_where_the_user_may(tmp_path):
    device = tmp_path / "cpu_dma_latency"
    with module.processors_awake(device) as awake:
        assert not awake
    device.touch()
    with module.processors_awake(device) as awake:
        assert awake
        assert device.read_bytes() == bytes(4)  # 0 µs, as an int32
