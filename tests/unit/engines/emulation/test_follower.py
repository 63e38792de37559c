"""Streams go onto the circuits of their client in order of opening, along the given paths."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from torsweep.engines.emulation.run.control import ControlRefused
from torsweep.engines.emulation.run.follower import ClientFollower

PATHS = (("A", "B", "C"), ("D", "E", "F"))
NAMES = {"A" * 40: "relay1", "B" * 40: "relay2"}


class FakeControl:
    """A tor whose circuits are numbered 1, 2, … and are built at once; ``asked`` is what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.handlers: dict = {}
        self.failing = False
        self.made = 0

    async def listen(self, handlers) -> None:
        self.handlers.update(handlers)

    async def value(self, key: str) -> str:
        assert key == "circuit-status"
        return f"70 BUILT ${'A' * 40}~relay1,${'B' * 40} PURPOSE=GENERAL"

    async def ask(self, command: str) -> list[str]:
        self.asked.append(command)
        if command.startswith("EXTENDCIRCUIT"):
            if self.failing:
                raise ControlRefused("no such path")
            self.made += 1
            asyncio.get_running_loop().call_soon(self.circuit, f"{self.made} BUILT")
            return [f"EXTENDED {self.made}"]
        return ["OK"]

    def circuit(self, words: str) -> None:
        self.handlers["CIRC"](words.split(" "), 5)

    def stream(self, number: int, status: str, circuit: int = 0, **told: str) -> None:
        more = [f"{key}={value}" for key, value in told.items()]
        self.handlers["STREAM"]([f"{number + 100}", status, str(circuit), "11.0.0.9:80", *more], 7)

    def opened(self, *numbers: int) -> None:
        for number in numbers:
            self.stream(number, "NEW", SOCKS_USERNAME=f'"{number}"')

    def all_of(self, command: str) -> list[str]:
        return [asked.removeprefix(f"{command} ") for asked in self.asked if asked.startswith(command)]


async def settled() -> None:
    """Let everything that can go on do so."""
    for _ in range(30):
        await asyncio.sleep(0)


Play = Callable[[FakeControl], Awaitable[None]]


def follow(
    play: Play, paths=PATHS, *, isolated: bool = False, failing: bool = False, ahead: bool = False
) -> ClientFollower:
    """A follower that has seen what ``play`` did, and its control port."""

    async def run() -> ClientFollower:
        control = FakeControl()
        follower = ClientFollower(control, paths, NAMES, isolated=isolated, ahead=ahead)
        await follower.open()
        control.failing = failing
        await play(control)
        await settled()
        follower.close()
        follower.control = control
        return follower

    return asyncio.run(run())


def test_streams_of_a_client_share_its_circuit_in_order():
    async def play(control):
        control.opened(1, 2, 3)

    control = follow(play).control
    assert control.all_of("EXTENDCIRCUIT") == ["0 $A,$B,$C"]
    assert control.all_of("ATTACHSTREAM") == ["101 1", "102 1", "103 1"]


def test_circuits_that_were_there_before_the_given_ones_are_closed_and_no_more_are_made():
    async def play(control):
        pass

    control = follow(play).control
    assert control.asked[:2] == ["SETCONF __DisablePredictedCircuits=1", "CLOSECIRCUIT 70"]


def test_isolated_streams_have_each_the_next_path_and_the_last_again():
    async def play(control):
        control.opened(1, 2, 3)

    control = follow(play, isolated=True).control
    assert control.all_of("EXTENDCIRCUIT") == ["0 $A,$B,$C", "0 $D,$E,$F", "0 $D,$E,$F"]
    assert control.all_of("ATTACHSTREAM") == ["101 1", "102 2", "103 3"]


def test_a_circuit_that_has_gone_is_followed_by_the_next():
    async def play(control):
        control.circuit("1 CLOSED REASON=DESTROYED")
        control.opened(1)

    control = follow(play).control
    assert control.all_of("EXTENDCIRCUIT") == ["0 $A,$B,$C", "0 $D,$E,$F"]
    assert control.all_of("ATTACHSTREAM") == ["101 2"]


def test_a_detached_stream_is_attached_again():
    async def play(control):
        control.opened(1)
        control.stream(1, "DETACHED")

    assert follow(play).control.all_of("ATTACHSTREAM") == ["101 1", "101 1"]


def test_a_circuit_that_left_a_stream_waiting_is_followed_by_the_next_path():
    async def play(control):
        control.opened(1)
        await settled()
        control.stream(1, "SENTCONNECT", 1)
        control.stream(1, "DETACHED", 1, REASON="TIMEOUT")
        control.opened(2)
        await settled()
        # There is no path after the second: it is kept, whatever happens on it.
        control.stream(2, "DETACHED", 2, REASON="TIMEOUT")

    control = follow(play).control
    assert control.all_of("EXTENDCIRCUIT") == ["0 $A,$B,$C", "0 $D,$E,$F"]
    assert control.all_of("ATTACHSTREAM") == ["101 1", "101 2", "102 2", "102 2"]


def test_the_last_path_is_taken_when_its_circuit_stands_ready():
    async def play(control):
        control.opened(1)
        await settled()
        control.stream(1, "SENTCONNECT", 1)
        control.stream(1, "DETACHED", 1, REASON="TIMEOUT")

    assert follow(play, ahead=True).control.all_of("ATTACHSTREAM") == ["101 1", "101 2"]


def test_the_next_circuit_stands_ready_before_it_is_needed():
    async def play(control):
        assert control.all_of("EXTENDCIRCUIT") == ["0 $A,$B,$C", "0 $D,$E,$F"]
        control.opened(1)
        control.circuit("1 CLOSED REASON=FINISHED")
        control.opened(2)

    control = follow(play, ahead=True).control
    assert control.all_of("EXTENDCIRCUIT") == ["0 $A,$B,$C", "0 $D,$E,$F"]
    assert control.all_of("ATTACHSTREAM") == ["101 2", "102 2"]


def test_a_circuit_that_cannot_be_built_is_followed_by_the_next_path():
    paths = (*PATHS, ("G", "H", "I"))

    async def play(control):
        control.circuit("2 CLOSED REASON=DESTROYED")
        control.circuit("1 CLOSED REASON=DESTROYED")
        control.opened(1)

    control = follow(play, paths, ahead=True).control
    assert control.all_of("EXTENDCIRCUIT") == ["0 $A,$B,$C", "0 $D,$E,$F", "0 $G,$H,$I"]
    assert control.all_of("ATTACHSTREAM") == ["101 3"]


def test_a_circuit_that_closes_just_before_a_stream_is_attached_is_followed_by_the_next():
    async def play(control):
        ask = control.ask

        async def closing(command: str) -> list[str]:
            answer = await ask(command)
            if command == "ATTACHSTREAM 101 1":
                control.circuit("1 CLOSED REASON=DESTROYED")
                raise ControlRefused("tor said 552 Unknown circuit")
            return answer

        control.ask = closing
        control.opened(1)

    follower = follow(play)
    assert follower.control.all_of("ATTACHSTREAM") == ["101 1", "101 2"]
    assert not follower.error_of


def test_a_stream_without_a_circuit_is_closed_and_says_why():
    async def play(control):
        control.opened(4)

    follower = follow(play, isolated=True, failing=True)
    assert follower.control.all_of("CLOSESTREAM") == ["104 1"]
    assert follower.error_of == {4: "no circuit: no such path"}


@pytest.mark.parametrize(("event", "reason"), [("FAILED REASON=TIMEOUT", "TIMEOUT"), ("CLOSED", "no reason")])
def test_a_circuit_that_fails_while_it_is_built_is_told_of(event, reason):
    async def play(control):
        control.circuit = lambda words: FakeControl.circuit(control, words.replace("BUILT", event))
        control.opened(1)

    follower = follow(play, isolated=True)
    assert follower.error_of[1] == f"no circuit: the circuit {event.split(' ')[0].lower()}: {reason}"


def test_without_paths_tor_chooses_and_the_follower_watches():
    told: list[int] = []

    async def play(control):
        for number, circuit in ((1, 17), (2, 23), (3, 17)):
            control.opened(number)
            control.stream(number, "SENTCONNECT", circuit)
        control.stream(3, "FAILED", 17, REASON="END", REMOTE_REASON="CONNECTREFUSED")
        control.handlers["CIRC"](["17", "LAUNCHED", "PURPOSE=GENERAL"], 3)
        control.circuit(f"17 EXTENDED ${'A' * 40} PURPOSE=GENERAL")
        control.circuit(f"17 BUILT ${'A' * 40}~x,${'B' * 40}~y,${'C' * 40}~z PURPOSE=GENERAL")
        control.circuit("17 CLOSED REASON=FINISHED")

    async def listening(control):
        await play(control)
        told.extend(numbers(control))

    def numbers(control) -> list[int]:
        return sorted(control.handlers["STREAM"].__self__.circuit_of)

    follower = follow(listening, paths=())
    assert told == [1, 2, 3]
    assert follower.circuit_of == {1: 17, 2: 23, 3: 17}
    assert follower.error_of == {3: "stream failed: END, CONNECTREFUSED"}
    assert not follower.control.asked
    seen = follower.circuits[17]
    assert seen.path == f"relay1,relay2,{'C' * 40}"
    assert (seen.purpose, seen.launched_ns, seen.built_ns, seen.first_use_ns, seen.close_reason) == (
        "GENERAL",
        3,
        5,
        7,
        "FINISHED",
    )
    assert follower.circuits[70].path == "relay1,relay2"


def test_a_new_download_is_told_of_once():
    told: list[int] = []

    async def play(control):
        control.handlers["STREAM"].__self__.on_new = told.append
        control.opened(1, 2)

    follow(play, paths=())
    assert told == [1, 2]


def test_streams_that_are_no_downloads_are_left_alone():
    async def play(control):
        control.stream(9, "NEW", PURPOSE="DIR_FETCH")
        control.stream(9, "SENTCONNECT", 5)

    follower = follow(play)
    assert not follower.circuit_of
    assert not follower.control.all_of("ATTACHSTREAM")
