"""What goes wrong is one clear message, leaves nothing, and is tried again where real time was to blame."""

from __future__ import annotations

import functools
import re
import shutil
import sys
from collections import namedtuple
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.live_processes import processes_of
from tests.unit.engines.emulation.conftest import LINKEM, traffic
from torsweep.engines.emulation import network as network_module
from torsweep.engines.emulation import processes as processes_module
from torsweep.engines.emulation import rights
from torsweep.engines.emulation import run as engine_module
from torsweep.engines.emulation import run as module
from torsweep.engines.emulation.pace import FellBehind
from torsweep.engines.emulation.processes import NotReady, ProcessEnded
from torsweep.engines.emulation.rights import cores_claimed
from torsweep.engines.emulation.run import run_emulation
from torsweep.errors import InputError, OutputError, ToolMissing, TorsweepError

SLEEP = "import time; time.sleep(60)"

CONTROL = """
import socket, time
listener = socket.socket(socket.AF_UNIX)
listener.bind(option("ControlPort").removeprefix("unix:"))
listener.listen()
connections = []
while True:
    connection, _ = listener.accept()
    connections.append(connection)
    for line in connection.makefile("rb"):
        answer = answer_to(line.decode().split()[0].upper(), line.decode())
        connection.sendall(answer.replace("\\n", "\\r\\n").encode())
"""
OPEN_DOOR = """
def answer_to(command, line):
    if command == "PROTOCOLINFO":
        return '250-PROTOCOLINFO 1\\n250-AUTH METHODS=NULL\\n250-VERSION Tor="0.4.9.11"\\n250 OK\\n'
    if command == "GETINFO" and "desc/all-recent" in line:
        return "250+desc/all-recent=\\nrouter relay2 127.0.0.1 1 0 0\\n.\\n250 OK\\n"
    return "250 OK\\n"
"""
SHUT_DOOR = OPEN_DOOR.replace('250 OK\\n"\n', '515 Authentication failed: no\\n"\n')


@pytest.fixture(autouse=True)
def on_no_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nobody waits long, hosts are this machine, and other runs of the machine do not matter."""
    monkeypatch.setattr(network_module, "CONTROL_PATIENCE_S", 1.0)
    monkeypatch.setattr(network_module, "wait_s", lambda *of: 0.0)
    monkeypatch.setattr(processes_module, "enter", lambda namespace: None)
    monkeypatch.setattr(network_module, "servers_command", _nobody_asks)
    lock = functools.partial(cores_claimed, lock=tmp_path / "machine.lock")
    monkeypatch.setattr(engine_module, "cores_claimed", lock)


def _nobody_asks(port: int, hosts: Sequence[tuple[str, str]]) -> list[str]:
    """Servers in name only: nobody gets as far as to ask one."""
    return [sys.executable, "-c", "import time; print('ready', flush=True); time.sleep(600)"]


@pytest.fixture(autouse=True)
def nothing_left(tmp_path: Path):
    """After each test no process has anything of its folder on its command line."""
    yield
    assert processes_of(tmp_path) == []


def assert_no_results(run_directory: Path) -> None:
    assert not list(run_directory.glob("*.parquet"))
    assert not (run_directory / "provenance.json").exists()


def test_a_tor_that_dies_at_start_is_named_with_its_last_lines_and_nothing_old_is_left(
    run_directory, fake_tools
):
    folder = run_directory()
    old = folder / engine_module.PROCESS_FOLDER / "relay1" / "data" / "old"
    old.parent.mkdir(parents=True)
    for file in (folder / "streams.parquet", folder / "provenance.json", old):
        file.write_text("old")
    tools = fake_tools("print('no such option: Quantum'); raise SystemExit(1)")
    with pytest.raises(ProcessEnded) as raised:
        run_emulation(folder, tools)
    text = str(raised.value)
    assert re.match(r"(authority1|relay\d) ended with exit code 1; it last said: this is \1 \| no such", text)
    assert re.search(r"option: Quantum \(all of it: .*/log\)$", text)
    assert_no_results(folder)
    assert not old.exists()


ASKED = '    if command == "GETINFO"'
DYING_TOR = OPEN_DOOR.replace(ASKED, f"{ASKED}: raise SystemExit(9)\n{ASKED}")
DYING_LINKEM = LINKEM.replace("time.sleep(60)", "time.sleep(0.5); raise SystemExit('linkem: no memory left')")


@pytest.mark.parametrize(
    ("tor", "linkem", "error", "said"),
    [
        (SLEEP, LINKEM, TorsweepError, "authority1: its control port .* does not answer: "),
        (SHUT_DOOR + CONTROL, LINKEM, TorsweepError, "authority1: its control port .* refuses: "),
        # Its control port notices first.
        (DYING_TOR + CONTROL, LINKEM, ProcessEnded, "authority1 ended with exit code 9; "),
        (
            SLEEP,
            DYING_LINKEM,
            ProcessEnded,
            r"linkem ended with exit code 1; .* \| linkem: no memory left",
        ),
    ],
    ids=["silent", "shut", "dying tor", "dying linkem"],
)
def test_a_process_that_takes_no_command_or_dies_is_named(
    run_directory, fake_tools, tor, linkem, error, said
):
    with pytest.raises(error, match=f"^{said}"):
        run_emulation(run_directory(), fake_tools(tor, linkem))


def test_time_is_limited_and_the_message_says_what_was_waited_for(run_directory, fake_tools, monkeypatch):
    folder = run_directory()
    monkeypatch.setattr(network_module, "CONTROL_PATIENCE_S", 30.0)
    monkeypatch.setattr(engine_module, "READY_LIMIT_S", 6.0)
    said = r"^the network was not ready in time: no descriptor came from relay1, relay3$"
    with pytest.raises(NotReady, match=said):
        run_emulation(folder, fake_tools(OPEN_DOOR + CONTROL))
    assert_no_results(folder)


def test_authorities_that_come_to_no_consensus_are_named_within_their_bound(
    run_directory, fake_tools, monkeypatch
):
    monkeypatch.setattr(network_module, "CONTROL_PATIENCE_S", 30.0)
    monkeypatch.setattr(network_module, "VOTED_WITHIN_S", 0.2)
    routers = "".join(f"router relay{number} 127.0.0.1 1 0 0\\n" for number in (1, 2, 3))
    all_known = OPEN_DOOR.replace("router relay2 127.0.0.1 1 0 0\\n", routers)
    with pytest.raises(NotReady, match=r"authority1 came to no consensus with relay1, relay2, relay3$"):
        run_emulation(run_directory(), fake_tools(all_known + CONTROL))


def test_a_disk_that_fills_on_the_way_is_what_is_told_of(run_directory, fake_tools, monkeypatch):
    folder = run_directory()
    usage = namedtuple("usage", "total used free")
    left = iter([10**9, 0, 0, 0])
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10**9, 0, next(left)))
    tools = fake_tools("raise SystemExit(1)")
    said = rf"^{re.escape(str(folder))}: No space left on device \(0 kB free\)"
    with pytest.raises(OutputError, match=said):
        run_emulation(folder, tools)
    assert_no_results(folder)
    with pytest.raises(OutputError, match=r" 0 MB free; the processes may need 2 MB$"):
        run_emulation(folder, tools)


@pytest.mark.parametrize(("code", "error"), [(1, TorsweepError), (2, InputError), (3, ToolMissing)])
def test_what_the_link_emulator_cannot_do_is_told_in_its_words(run_directory, fake_tools, code, error):
    said = "linkem: congestion control nonesuch: this kernel has not got it"
    linkem = f"import sys; print({said!r}, file=sys.stderr); raise SystemExit({code})"
    with pytest.raises(error, match=f"^{said}$") as raised:
        run_emulation(run_directory(), fake_tools(SLEEP, linkem))
    assert raised.value.exit_code == code


def test_what_the_engine_cannot_take_is_refused(run_directory, fake_tools, monkeypatch):
    tools, short = fake_tools(SLEEP), traffic(request_bytes=15)
    with pytest.raises(InputError, match=r"traffic\.bulk\.request_bytes: too short .* got 15; accepted: 16"):
        run_emulation(run_directory(traffic={"bulk": short}), tools)
    monkeypatch.setattr(engine_module.resource, "getrlimit", lambda which: (20, 20))
    said = r"hosts: too many hosts .* got 6; accepted: at most 5, or a higher limit"
    with pytest.raises(InputError, match=said):
        run_emulation(run_directory(), tools)


def engine(monkeypatch: pytest.MonkeyPatch, *outcomes: Exception | None) -> list[int]:
    """An engine whose runs end like this, one after the other; the tries that it was told of."""
    told: list[int] = []

    def run(directory: Path, tools: object, *, tries: int, **_: object) -> None:
        outcome = outcomes[len(told)]
        told.append(tries)
        if outcome is not None:
            raise outcome

    monkeypatch.setattr(module, "run_emulation", run)
    return told


def late(number: int) -> FellBehind:
    return FellBehind(f"the run fell behind real time: relay{number}")


TOOLS = SimpleNamespace()


def test_each_try_is_announced_in_one_line(monkeypatch, capsys):
    told = engine(monkeypatch, late(1), NotReady("no descriptor came from relay2"), None)
    module.run_in_tries(Path("run"), TOOLS)
    assert told == [1, 2, 3]
    assert capsys.readouterr().err.splitlines() == [
        "emulation: try 1 of 3: the run fell behind real time: relay1; trying again",
        "emulation: try 2 of 3: no descriptor came from relay2; trying again",
    ]


def test_another_failure_ends_it_at_once(monkeypatch):
    told = engine(monkeypatch, late(1), ProcessEnded("relay2 ended"))
    with pytest.raises(ProcessEnded, match="relay2 ended"):
        module.run_in_tries(Path("run"), TOOLS)
    assert told == [1, 2]


def test_the_command_fails_with_the_last_refusal(torsweep, run_directory, monkeypatch):
    told = engine(monkeypatch, late(1), late(2), late(3))
    monkeypatch.setattr(rights, "find_tools", lambda *_: TOOLS)
    monkeypatch.setattr(rights, "become_able", lambda: None)
    code, _, err = torsweep("emulation", "run", run_directory())
    assert (code, told) == (1, [1, 2, 3])
    assert err.splitlines()[1:] == [
        "emulation: try 2 of 3: the run fell behind real time: relay2; trying again",
        "torsweep: the run fell behind real time: relay3; tried 3 times",
    ]
