"""Programs in the emulation: where they run, when they begin and end, and which ends are no failure."""

from __future__ import annotations

import asyncio
import shutil
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.unit.engines.emulation.conftest import POSITIONS, network, run_spec
from torsweep.engines.emulation import programs as programs_module
from torsweep.engines.emulation.process_layout import Identities, ProcessLayout
from torsweep.engines.emulation.processes import ProcessEnded, ProcessSet
from torsweep.engines.emulation.programs import RunningPrograms
from torsweep.engines.programs import HostProgram
from torsweep.engines.run_spec import RunProgram, RunPrograms
from torsweep.errors import ToolMissing, TorsweepError
from torsweep.network.model import ProgramHost

TENTH_NS = 10**8


def program(command: list[str], **does: Any) -> HostProgram:
    usual = {"begin_ns": 0, "until_ns": None, "ends": False, "keeps": ("*.txt",), "keeps_most_bytes": 100}
    one = RunProgram(command=command, hosts=("web1",), **{**usual, **does})
    return HostProgram("web1-1", "web1", [str(shutil.which(command[0])), *command[1:]], one)


def followed(folder: Path, one: HostProgram, seconds: float) -> RunningPrograms:
    """``one`` after so many seconds of a run, in which all processes were looked after."""
    processes = ProcessSet()
    layout = SimpleNamespace(programs_folder=folder)
    running = cast(Any, SimpleNamespace(layout=layout, processes=processes, namespaces={"web1": None}))
    programs = RunningPrograms(running, [one], time.monotonic_ns())

    async def live() -> None:
        task = asyncio.ensure_future(programs.run())
        until = time.monotonic() + seconds
        try:
            while time.monotonic() < until:
                await asyncio.wait([task], timeout=0.05)
                if task.done():
                    task.result()
                processes.check()
                programs.check()
            programs.require_ended()
        finally:
            task.cancel()

    try:
        asyncio.run(live())
    finally:
        processes.stop()
    return programs


def test_a_program_works_in_a_folder_of_its_host_from_one_time_to_another(tmp_path: Path):
    times = {"begin_ns": TENTH_NS, "until_ns": 8 * TENTH_NS}
    followed(tmp_path, program(["sh", "-c", "echo said; pwd >here.txt; sleep 60"], **times), 1.5)
    assert (tmp_path / "web1/here.txt").read_text().strip() == str(tmp_path / "web1")
    assert (tmp_path / "web1/web1-1.log").read_text() == "said\n"


def test_a_program_that_may_end_ends_by_itself(tmp_path: Path):
    followed(tmp_path, program(["true"], ends=True), 0.5)
    with pytest.raises(TorsweepError, match="web1-1: had not ended by itself when the run ended"):
        followed(tmp_path, program(["sleep", "60"], ends=True), 0.3)


@pytest.mark.parametrize("does", [{}, {"until_ns": 50 * TENTH_NS}, {"ends": True}])
def test_a_program_that_fails_ends_the_run_with_its_last_words(tmp_path: Path, does):
    with pytest.raises(ProcessEnded, match="web1-1 ended with exit code 3; it last said: no port"):
        followed(tmp_path, program(["sh", "-c", "echo no port; exit 3"], **does), 5)


def test_a_program_that_writes_without_end_ends_the_run(tmp_path: Path):
    said = r"web1-1: .* bytes of files to keep, more than keeps_most, 100 B"
    with pytest.raises(TorsweepError, match=said):
        followed(tmp_path, program(["sh", "-c", "while :; do echo more >>much.txt; done"]), 5)


def test_a_host_of_its_own_has_a_tor_where_it_asks_for_one():
    hosts = tuple(
        ProgramHost(name=name, place=0, access_us=0, down_bytes_per_s=9, up_bytes_per_s=9, torrc=torrc)
        for name, torrc in (("program1", None), ("program2", {"EntryNodes": "{fingerprint:relay1}"}))
    )
    one = program(["true"]).does.model_copy(update={"hosts": ("program1", "program2", "web1")})
    run = run_spec(programs=RunPrograms(programs=(one,), hosts=hosts))
    with_hosts = network(*POSITIONS).model_copy(update={"program_hosts": hosts})
    layout = ProcessLayout(run, with_hosts, Path("/runs"), Path("/s"))
    (place,) = layout.own_tors
    names = ("authority1", "relay1", "relay2", "relay3")
    text = layout.torrc(place, Identities(dict.fromkeys(names, "A" * 40), {"authority1": "F" * 40}))
    assert {"SocksPort 9150", "ControlPort 9151", f"EntryNodes {'A' * 40}"} <= set(text.splitlines())
    assert place not in layout.places


def test_packets_are_kept_by_tcpdump_where_it_is(monkeypatch, tmp_path):
    monkeypatch.setattr(programs_module.shutil, "which", lambda name, path: None)
    with pytest.raises(ToolMissing, match=r"^tcpdump: not on PATH"):
        programs_module.capture_command()
    monkeypatch.setattr(programs_module.shutil, "which", lambda name, path: f"/usr/bin/{name}")
    command = programs_module.capture_command()
    assert command[:3] == ["/usr/bin/tcpdump", "-i", "link0"]
    assert command[-4:] == ["-s", "128", "-w", "eth0.pcap"]
