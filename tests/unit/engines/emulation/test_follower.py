"""A client's circuits and streams, as its tor reports them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from torsweep.config.conflux import EVENTS
from torsweep.engines.emulation.control import ClientFollower

NAMES = {"A" * 40: "relay1", "B" * 40: "relay2"}


class FakeControl:
    """A tor that has one circuit, and reports what a test says."""

    def __init__(self) -> None:
        self.handlers: dict = {}

    async def listen(self, handlers) -> None:
        self.handlers.update(handlers)

    async def value(self, key: str) -> str:
        assert key == "circuit-status"
        return f"70 BUILT ${'A' * 40}~relay1,${'B' * 40} PURPOSE=GENERAL"

    def circuit(self, words: str) -> None:
        self.handlers["CIRC"](words.split(" "), 5)

    def stream(self, number: int, status: str, circuit: int = 0, **fields: str) -> None:
        more = [f"{key}={value}" for key, value in fields.items()]
        self.handlers["STREAM"]([f"{number + 100}", status, str(circuit), "11.0.0.9:80", *more], 7)

    def opened(self, *numbers: int) -> None:
        for number in numbers:
            self.stream(number, "NEW", SOCKS_USERNAME=f'"{number}"')


def following(*events: Sequence[str]) -> tuple[ClientFollower, FakeControl]:
    control = FakeControl()
    follower = ClientFollower(control, NAMES, *events)
    asyncio.run(follower.open())
    return follower, control


def test_circuits_and_the_streams_on_them() -> None:
    follower, control = following()
    new: list[int] = []
    follower.on_new = new.append
    for number, circuit in ((1, 17), (2, 23), (3, 17)):
        control.opened(number)
        control.stream(number, "SENTCONNECT", circuit)
    control.stream(3, "FAILED", 17, REASON="END", REMOTE_REASON="CONNECTREFUSED")
    control.handlers["CIRC"](["17", "LAUNCHED", "PURPOSE=GENERAL"], 3)
    control.circuit(f"17 EXTENDED ${'A' * 40} PURPOSE=GENERAL")
    control.circuit(f"17 BUILT ${'A' * 40}~x,${'B' * 40}~y,${'C' * 40}~z PURPOSE=GENERAL")
    control.circuit("17 CLOSED REASON=FINISHED")
    assert new == [1, 2, 3]
    assert follower.circuit_of == {1: 17, 2: 23, 3: 17}
    assert follower.error_of == {3: "stream failed: END, CONNECTREFUSED"}
    seen = follower.circuits[17]
    assert seen.path == f"relay1,relay2,{'C' * 40}"
    assert (seen.launched_ns, seen.built_ns, seen.first_use_ns) == (3, 5, 7)
    assert (seen.purpose, seen.close_reason) == ("GENERAL", "FINISHED")
    assert follower.circuits[70].path == "relay1,relay2"
    # A stream that is no download.
    control.stream(9, "NEW", PURPOSE="DIR_FETCH")
    control.stream(9, "SENTCONNECT", 5)
    assert 9 not in follower.circuit_of


def test_the_legs_of_a_conflux_set_and_what_came_by_them() -> None:
    follower, control = following(EVENTS)
    control.circuit("5 BUILT PURPOSE=CONFLUX_UNLINKED CONFLUX_ID=AB")
    minor = "5 PURPOSE_CHANGED PURPOSE=CONFLUX_LINKED CONFLUX_ID=AB CONFLUX_RTT=81234"
    control.handlers["CIRC_MINOR"](minor.split(" "), 6)
    for size in (509, 1018):
        control.handlers["CIRC_BW"](["ID=5", f"READ={size}", "WRITTEN=0"], 7)
    leg = follower.circuits[5]
    assert (leg.purpose, leg.bytes_read) == ("CONFLUX_LINKED", 1527)
    assert leg.conflux == {"conflux_set": "AB", "round_trip_us": "81234"}
