"""The control port answers in order; a client's circuits and streams are those that its tor reports."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest

from torsweep.config.conflux import EVENTS
from torsweep.engines.emulation.control import (
    ClientFollower,
    Control,
    ControlClosed,
    ControlRefused,
    bootstrap_percent,
    consensus_relays,
    fields,
    known_relays,
    open_control,
)
from torsweep.errors import TorsweepError

ANSWERS = {
    "AUTHENTICATE": "250 OK",
    "GETINFO version": "250-version=0.4.9\n250 OK",
    "GETINFO desc/all-recent": "250+desc/all-recent=\nrouter relay2 11.0.0.2 1 0 0\n..dotted\n.\n250 OK",
    "GETINFO dir/status-vote/current/consensus": (
        "250+dir/status-vote/current/consensus=\nr relay1 AAAA\nr relay3 BBBB\n.\n250 OK"
    ),
    "GETINFO status/bootstrap-phase": (
        '250-status/bootstrap-phase=NOTICE BOOTSTRAP PROGRESS=85 TAG=x SUMMARY="y"\n250 OK'
    ),
    "SETEVENTS BW": "250 OK\n650 BW 12 34\n650 CIRC 1 BUILT",
    "HANG UP": "",
}


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while line := await reader.readline():
        command = line.decode().strip()
        if command == "HANG UP":
            break
        answer = ANSWERS.get(command, "552 Unrecognized key")
        writer.write((answer + "\n").replace("\n", "\r\n").encode())
    writer.close()


def with_tor(tmp_path: Path, talk: Callable[[Control], Awaitable[None]]) -> None:
    """``talk`` with a control port that gives :data:`ANSWERS`."""

    async def run() -> None:
        served = asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await _serve(reader, writer)
            await writer.wait_closed()
            served.set()

        server = await asyncio.start_unix_server(serve, tmp_path / "control")
        control = await open_control("relay2", tmp_path / "control", 5.0, lambda: None)
        try:
            await talk(control)
        finally:
            control.close()
            # A connection that is still open when the loop ends complains in the middle of a later test.
            await served.wait()
            server.close()

    asyncio.run(run())


def test_values_of_one_line_and_of_many_are_read(tmp_path):
    async def talk(control: Control) -> None:
        assert await control.value("version") == "0.4.9"
        assert (await control.value("desc/all-recent")).endswith("0 0\n.dotted")
        assert await known_relays(control) == {"relay2"}
        assert await consensus_relays(control) == {"relay1", "relay3"}
        assert await bootstrap_percent(control) == 85
        assert await control.value("nothing/such") == ""

    with_tor(tmp_path, talk)


def test_answers_come_in_the_order_of_the_questions_and_a_refusal_in_tors_words(tmp_path):
    async def talk(control: Control) -> None:
        first, second = await asyncio.gather(control.ask("GETINFO version"), control.ask("AUTHENTICATE"))
        assert (first, second) == (["version=0.4.9", "OK"], ["OK"])
        with pytest.raises(ControlRefused, match=r"^relay2: tor said 552 Unrecognized key$"):
            await control.ask("NO SUCH THING")

    with_tor(tmp_path, talk)


def test_events_go_to_who_asked_for_them(tmp_path):
    told: list[list[str]] = []

    async def talk(control: Control) -> None:
        await control.listen({"BW": lambda words, now_ns: told.append(words)})
        await control.ask("AUTHENTICATE")

    with_tor(tmp_path, talk)
    assert told == [["12", "34"]]


def test_whoever_waits_for_a_tor_that_has_gone_is_told(tmp_path):
    async def talk(control: Control) -> None:
        for _ in range(2):
            with pytest.raises(ControlClosed, match=r"^relay2: its control port has hung up$"):
                await control.ask("HANG UP")

    with_tor(tmp_path, talk)


def test_a_wait_in_vain_ends_when_its_reason_does(tmp_path):
    def check() -> None:
        raise TorsweepError("relay2 ended")

    with pytest.raises(TorsweepError, match="relay2 ended"):
        asyncio.run(open_control("relay2", tmp_path / "absent", 60.0, check))


def test_fields_are_read_with_and_without_quotes():
    words = ["REASON=END", 'SOCKS_USERNAME="17"', 'SUMMARY="a', 'b"', "EMPTY="]
    assert fields(words) == {"REASON": "END", "SOCKS_USERNAME": "17", "SUMMARY": "a b", "EMPTY": ""}


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
