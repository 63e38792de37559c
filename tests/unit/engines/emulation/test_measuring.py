"""What ends the measured part of a run early."""

from __future__ import annotations

import asyncio
import os
import time
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.unit.engines.emulation.conftest import run_spec
from torsweep.engines.emulation import measuring as module
from torsweep.engines.emulation.pace import FellBehind, Pace
from torsweep.engines.emulation.processes import ProcessEnded


class Traffic:
    """A generator that takes ``seconds``."""

    seconds = 0.0

    def __init__(self, *arguments: object, **named: object) -> None:
        self.downloads: list = []
        self.received: dict = {}

    async def run(self) -> None:
        await asyncio.sleep(self.seconds)


class Meter:
    """A relay that counts how often it is asked for its queues."""

    asked = 0

    async def ask_for_queues(self) -> None:
        self.asked += 1


def running(*ended: bool) -> SimpleNamespace:
    """A network whose processes have ended, or not, each time that they are looked at; then for good."""
    looks = iter(ended)

    def check() -> None:
        if next(looks, ended[-1]):
            raise ProcessEnded("relay2 ended")

    # This process stands in for a tor.
    places = [SimpleNamespace(name="relay1")]
    run = run_spec(duration_ns=60 * 10**9)
    layout = SimpleNamespace(run=run, folder=Path("processes"), places=places, network=None)
    return SimpleNamespace(
        layout=layout,
        identities=SimpleNamespace(relays={}),
        followers={},
        children={"relay1": SimpleNamespace(handle=SimpleNamespace(pid=os.getpid()))},
        tally=Path("none"),
        meters={"relay1": Meter()},
        processes=SimpleNamespace(check=check),
        say=lambda line: None,
    )


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "Generator", Traffic)
    monkeypatch.setattr(module, "SECOND_NS", 10_000_000)
    monkeypatch.setattr(module, "LEAD_S", 0.0)
    monkeypatch.setattr(module, "LAST_SECOND_S", 0.0)


def test_a_run_ends_with_its_traffic():
    measured = asyncio.run(module.measure(running(False)))
    assert measured.downloads == []
    assert measured.end_ns < measured.zero_ns + 60 * 10**9
    assert abs((measured.zero - datetime.now()).total_seconds()) < 20


def test_a_tor_costs_what_it_took_since_time_0(monkeypatch):
    monkeypatch.setattr(Traffic, "seconds", 0.1)
    began_ns = time.process_time_ns()
    (cost,) = asyncio.run(module.measure(running(False))).costs.values()
    assert 0 < 1000 * cost.cpu_us <= time.process_time_ns() - began_ns
    assert cost.peak_memory_bytes > 10**6


def test_queues_are_asked_for_each_second(monkeypatch):
    monkeypatch.setattr(Traffic, "seconds", 1.0)
    network = running(False)
    asyncio.run(module.measure(network))
    assert network.meters["relay1"].asked > 1


def test_a_run_that_falls_behind_ends(monkeypatch):
    def late(self, folder, whole_s):
        assert whole_s == pytest.approx(60, abs=2)
        raise FellBehind("late")

    monkeypatch.setattr(Traffic, "seconds", 60.0)
    monkeypatch.setattr(Pace, "refuse_when_late", late)
    with pytest.raises(FellBehind, match="late"):
        asyncio.run(module.measure(running(False)))


def test_a_process_that_ends_stops_the_run(monkeypatch):
    monkeypatch.setattr(Traffic, "seconds", 60.0)
    with pytest.raises(ProcessEnded, match="relay2 ended"):
        asyncio.run(module.measure(running(False, True)))


def test_a_process_that_took_the_downloads_with_it_is_found_too():
    with pytest.raises(ProcessEnded, match="relay2 ended"):
        asyncio.run(module.measure(running(True)))
