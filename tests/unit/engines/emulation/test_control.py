"""Streams go onto the circuits of their client in order of opening, along the given paths."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace

import pytest
import stem

from torsweep.engines.loopback.addresses import STREAM_PORTS
from torsweep.engines.loopback.control import StreamDesk

PATHS = (("A", "B", "C"), ("D", "E", "F"))


class FakeControl:
    """A tor whose circuits are numbered 1, 2, … and that notes what it is asked for."""

    def __init__(self) -> None:
        self.built: list[tuple[str, ...]] = []
        self.attached: list[tuple[str, str]] = []
        self.closed: list[str] = []
        self.settings: dict[str, str] = {}
        self.failing = False
        self.told = threading.Semaphore(0)

    def add_event_listener(self, listener, *events) -> None:
        pass

    def extend_circuit(self, circuit_id, path, await_build, timeout) -> str:
        assert circuit_id == "0"
        assert await_build
        if self.failing:
            self.told.release()
            raise stem.CircuitExtensionFailed("no such path")
        self.built.append(tuple(path))
        return str(len(self.built))

    def attach_stream(self, stream, circuit) -> None:
        self.attached.append((stream, circuit))
        self.told.release()

    def close_stream(self, stream) -> None:
        self.closed.append(stream)
        self.told.release()

    def close_circuit(self, circuit) -> None:
        self.closed.append(circuit)

    def get_circuits(self):
        return [SimpleNamespace(id=str(number + 1)) for number in range(len(self.built))]

    def set_conf(self, option, value) -> None:
        self.settings[option] = value

    def wait(self, count: int) -> None:
        for _ in range(count):
            assert self.told.acquire(timeout=10)


@pytest.fixture
def control() -> FakeControl:
    return FakeControl()


def stream_event(
    number: int, status: str, circuit: str | None = None, desk: StreamDesk | None = None, **fields: object
) -> SimpleNamespace:
    """An event about the stream of a download; a new one comes from a port of ``desk``."""
    usual = {"reason": None, "remote_reason": None, "source_port": None}
    if desk is not None:
        usual["source_port"] = desk.port_for(number)
    return SimpleNamespace(id=f"s{number}", status=status, circ_id=circuit, **{**usual, **fields})


def test_streams_of_a_client_share_its_circuit_in_order(control):
    desk = StreamDesk("client1", control, PATHS, isolated=False)
    desk.start_over()
    assert control.settings == {"__DisablePredictedCircuits": "1"}
    for number in (1, 2, 3):
        desk._stream_event(stream_event(number, "NEW", desk=desk))
    control.wait(3)
    assert control.built == [PATHS[0]]
    assert control.attached == [("s1", "1"), ("s2", "1"), ("s3", "1")]


def test_isolated_streams_have_each_the_next_path_and_the_last_again(control):
    desk = StreamDesk("client1", control, PATHS, isolated=True)
    for number in (1, 2, 3):
        desk._stream_event(stream_event(number, "NEW", desk=desk))
    control.wait(3)
    assert control.built == [PATHS[0], PATHS[1], PATHS[1]]
    assert [circuit for _, circuit in control.attached] == ["1", "2", "3"]


def test_a_circuit_that_has_gone_is_followed_by_the_next(control):
    desk = StreamDesk("client1", control, PATHS, isolated=False)
    desk.start_over()
    desk._circuit_event(SimpleNamespace(id="1", status="CLOSED"))
    desk._stream_event(stream_event(1, "NEW", desk=desk))
    control.wait(1)
    assert control.built == list(PATHS)
    assert control.attached == [("s1", "2")]


def test_a_detached_stream_is_attached_again(control):
    desk = StreamDesk("client1", control, PATHS, isolated=False)
    desk.start_over()
    desk._stream_event(stream_event(1, "NEW", desk=desk))
    desk._stream_event(stream_event(1, "DETACHED"))
    control.wait(2)
    assert control.attached == [("s1", "1"), ("s1", "1")]


def test_starting_over_closes_what_there_was(control):
    desk = StreamDesk("client1", control, PATHS, isolated=False)
    desk.start_over()
    desk.circuit_of[1] = 1
    desk.start_over()
    assert control.closed == ["1"]
    assert control.built == [PATHS[0], PATHS[0]]
    assert not desk.circuit_of


def test_a_stream_without_a_circuit_is_closed_and_says_why(control):
    control.failing = True
    desk = StreamDesk("client1", control, PATHS, isolated=True)
    desk._stream_event(stream_event(4, "NEW", desk=desk))
    control.wait(2)
    assert control.closed == ["s4"]
    assert desk.error_of[4] == "no circuit: no such path"


def test_without_paths_tor_chooses_and_circuits_are_counted(control):
    desk = StreamDesk("client1", control, (), isolated=False)
    told: list[int] = []
    desk.on_new = told.append
    for number, circuit in ((1, "17"), (2, "23"), (3, "17")):
        desk._stream_event(stream_event(number, "NEW", desk=desk))
        desk._stream_event(stream_event(number, "SENTCONNECT", circuit))
    desk._stream_event(stream_event(3, "FAILED", "17", reason="TIMEOUT"))
    time.sleep(0.05)
    assert told == [1, 2, 3]
    assert desk.circuit_of == {1: 1, 2: 2, 3: 1}
    assert desk.error_of == {3: "stream failed: TIMEOUT"}
    assert not control.attached


def test_streams_that_are_no_downloads_are_left_alone(control):
    desk = StreamDesk("client1", control, (), isolated=False)
    directory = SimpleNamespace(
        id="s9", status="NEW", circ_id=None, source_port=None, reason=None, remote_reason=None
    )
    desk._stream_event(directory)
    desk._stream_event(SimpleNamespace(**{**vars(directory), "status": "SENTCONNECT", "circ_id": "5"}))
    assert not desk.circuit_of


def test_each_download_comes_from_another_port_of_its_range(control):
    desk = StreamDesk("client1", control, (), isolated=False)
    ports = [desk.port_for(1) for _ in range(len(STREAM_PORTS))]
    assert sorted(ports) == list(STREAM_PORTS)
    assert desk.port_for(1) == ports[0]
