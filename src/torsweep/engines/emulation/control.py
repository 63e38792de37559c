"""tor through its control port (Tor's control-spec), from one event loop for every tor of a network.

In: the path of a control socket. Out: :class:`Control`, which asks tor and passes on what it tells by itself;
:class:`ClientFollower`, the circuits and streams of one client. A library has threads for each connection,
each of which wakes twenty times a second: with some hundred tors on the same cores, that would be the largest
program of the run.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from torsweep.config.conflux import CIRCUIT_KEYWORDS
from torsweep.engines.emulation.downloads import LoopbackPort
from torsweep.engines.emulation.process_layout import LATER_VOTES_S
from torsweep.engines.emulation.processes import POLL_S
from torsweep.engines.emulation.rights import START_S, START_S_PER_CLIENT
from torsweep.errors import TorsweepError

AFTER_VOTE_S = 20
"""Seconds after which a vote is over and its consensus has been fetched."""

LONGEST_START = 2
"""How many times as long as in measured starts the start of a network may take."""


def wait_s(now_s: float, clients: int, run_s: float) -> float:
    """How long authorities have to wait with their start, so that no vote falls into a run of ``run_s``.

    0, except for a run that would go on past midnight UTC.
    """
    to_midnight_s = LATER_VOTES_S - now_s % LATER_VOTES_S
    span_s = LONGEST_START * (START_S + START_S_PER_CLIENT * clients) + run_s
    return to_midnight_s + AFTER_VOTE_S if to_midnight_s < span_s < LATER_VOTES_S else 0.0


LONGEST_LINE_BYTES = 1 << 20
_EVENT_FIELD = re.compile(r'([A-Z_]+)=("(?:[^"\\]|\\.)*"|\S*)')

Handler = Callable[[list[str], int], None]
"""Takes the words of an event after its name, and the monotonic time in ns at which it came."""


class ControlRefused(TorsweepError):
    """tor does not do what it was asked for; the message is tor's."""


class ControlClosed(TorsweepError):
    """The control port has hung up: most likely tor is gone."""


def fields(words: list[str]) -> dict[str, str]:
    """``KEY=value`` words of an event, quotes taken off."""
    return {key: value.strip('"') for key, value in _EVENT_FIELD.findall(" ".join(words))}


class Control:
    """A connection to the control port of the tor called ``name``."""

    def __init__(self, name: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.name = name
        self._writer = writer
        self._asked: deque[asyncio.Future[list[str]]] = deque()
        self._handlers: dict[str, Handler] = {}
        self._closed = False
        self._reading = asyncio.ensure_future(self._read(reader))

    async def ask(self, command: str) -> list[str]:
        """The lines of tor's answer, without their codes; ControlRefused, or ControlClosed if it hung up."""
        if self._closed:
            raise ControlClosed(f"{self.name}: its control port has hung up")
        answer: asyncio.Future[list[str]] = asyncio.get_running_loop().create_future()
        self._asked.append(answer)
        self._writer.write(f"{command}\r\n".encode())
        return await answer

    async def value(self, key: str) -> str:
        """tor's answer to GETINFO ``key``; empty if tor has no value yet."""
        try:
            answer = await self.ask(f"GETINFO {key}")
        except ControlRefused:
            return ""
        return answer[0].partition("=")[2].lstrip("\n")

    async def listen(self, handlers: Mapping[str, Handler]) -> None:
        """Have tor tell of the events that ``handlers`` names, from now on."""
        self._handlers.update(handlers)
        await self.ask(f"SETEVENTS {' '.join(self._handlers)}")

    def close(self) -> None:
        """Hang up."""
        self._reading.cancel()
        self._writer.close()

    async def _read(self, reader: asyncio.StreamReader) -> None:
        lines: list[str] = []
        try:
            while raw := await reader.readline():
                now_ns = time.monotonic_ns()
                text = raw.decode(errors="replace").rstrip("\r\n")
                code, kind, rest = text[:3], text[3:4], text[4:]
                if kind == "+":
                    rest = "\n".join([rest, *await _data(reader)])
                if code == "650":
                    self._tell(rest, now_ns)
                    continue
                lines.append(rest)
                if kind == " ":
                    self._answer(code, lines)
                    lines = []
        except OSError:
            pass
        finally:
            # However the connection ended, everyone who waits for an answer gets an error.
            self._closed = True
            for waiting in self._asked:
                if not waiting.done():
                    waiting.set_exception(ControlClosed(f"{self.name}: its control port has hung up"))

    def _tell(self, event: str, now_ns: int) -> None:
        words = event.split(" ")
        handler = self._handlers.get(words[0])
        if handler is not None:
            handler(words[1:], now_ns)

    def _answer(self, code: str, lines: list[str]) -> None:
        waiting = self._asked.popleft()
        if waiting.done():
            return
        if code.startswith("2"):
            waiting.set_result(lines)
        else:
            waiting.set_exception(ControlRefused(f"{self.name}: tor said {code} {lines[-1]}"))


async def _data(reader: asyncio.StreamReader) -> list[str]:
    """The lines of a long value, up to the line that is a dot; a dot at the start of a line is doubled."""
    lines = []
    while (raw := await reader.readline()) not in (b".\r\n", b""):
        lines.append(raw.decode(errors="replace").rstrip("\r\n").removeprefix("."))
    return lines


async def open_control(name: str, socket: Path, patience_s: float, check: Callable[[], None]) -> Control:
    """Connect to the tor called ``name`` as soon as it listens at ``socket``.

    ``check`` is called while waiting and raises when the wait is in vain. Raises TorsweepError when nothing
    listens there after ``patience_s``, or tor refuses.
    """
    deadline = time.monotonic() + patience_s
    while True:
        check()
        try:
            reader, writer = await asyncio.open_unix_connection(str(socket), limit=LONGEST_LINE_BYTES)
            break
        except OSError as error:
            if time.monotonic() > deadline:
                why = error.strerror or str(error)
                raise TorsweepError(f"{name}: its control port {socket} does not answer: {why}") from None
        await asyncio.sleep(POLL_S)
    control = Control(name, reader, writer)
    try:
        async with asyncio.timeout(max(1.0, deadline - time.monotonic())):
            await control.ask("AUTHENTICATE")
    except (TorsweepError, TimeoutError) as error:
        control.close()
        check()
        why = str(error).removeprefix(f"{name}: ") or "no answer"
        raise TorsweepError(f"{name}: its control port {socket} refuses: {why}") from None
    return control


async def known_relays(authority: Control) -> set[str]:
    """Nicknames of the relays whose descriptors ``authority`` has."""
    return set(re.findall(r"^router (\S+) ", await authority.value("desc/all-recent"), re.MULTILINE))


async def consensus_relays(authority: Control) -> set[str]:
    """Nicknames of the relays in the consensus that ``authority`` has; empty before there is one."""
    text = await authority.value("dir/status-vote/current/consensus")
    return set(re.findall(r"^r (\S+) ", text, re.MULTILINE))


ENOUGH_PERCENT = 75
"""How far a start has come when tor knows enough of the network to build circuits (control-spec)."""


async def bootstrap_percent(control: Control) -> int:
    """How far the start of a tor has progressed, in per cent."""
    progress = re.search(r"PROGRESS=(\d+)", await control.value("status/bootstrap-phase"))
    return int(progress[1]) if progress else 0


GONE = ("FAILED", "CLOSED")


@dataclass
class CircuitSeen:
    """A circuit by tor's events; times are monotonic ns."""

    number: int
    purpose: str | None = None
    path: str | None = None
    launched_ns: int | None = None
    built_ns: int | None = None
    first_use_ns: int | None = None
    closed_ns: int | None = None
    close_reason: str | None = None
    bytes_read: int | None = None
    conflux: dict[str, str] = field(default_factory=dict)
    """By column, what features of tor say of it."""


@dataclass
class Unfollowed:
    """Stands for a client without a control port, such as Arti: its circuits stay unknown.

    ``isolated`` gives each stream a circuit of its own, by a name that it gives to the SOCKS port.
    """

    socks: LoopbackPort
    isolated: bool
    circuit_of: dict[int, int] = field(default_factory=dict)
    error_of: dict[int, str] = field(default_factory=dict)
    circuits: dict[int, CircuitSeen] = field(default_factory=dict)


class ClientFollower:
    """Follows one client from :meth:`open` on; ``names`` maps fingerprints to relays' names.

    It listens to the events ``more``, too: CIRC_MINOR, or CIRC_BW to count what comes on each circuit.
    """

    def __init__(self, control: Control, names: Mapping[str, str], more: Collection[str] = ()) -> None:
        self.on_new: Callable[[int], None] = lambda number: None
        self.circuit_of: dict[int, int] = {}
        self.error_of: dict[int, str] = {}
        self.circuits: dict[int, CircuitSeen] = {}
        self._control = control
        self._names = names
        self._more = more
        self._number_of: dict[str, int] = {}

    async def open(self) -> None:
        """Begin to follow the client."""
        handlers = {"CIRC": self._circuit_event, "STREAM": self._stream_event}
        others = {"CIRC_MINOR": self._circuit_event, "CIRC_BW": self._bytes_event}
        handlers |= {event: others[event] for event in self._more}
        await self._control.listen(handlers)
        for line in (await self._control.value("circuit-status")).splitlines():
            self._circuit_event(line.split(" "), 0)

    def _stream_event(self, words: list[str], now_ns: int) -> None:
        """STREAM id status circuit target KEY=value…"""
        stream, status, circuit = words[0], words[1], int(words[2])
        keywords = fields(words[4:])
        if status == "NEW":
            name = keywords.get("SOCKS_USERNAME", "")
            if not name.isdigit():
                return
            self._number_of[stream] = int(name)
        number = self._number_of.get(stream)
        if number is None:
            return
        if circuit and status in ("SENTCONNECT", "SUCCEEDED"):
            self.circuit_of[number] = circuit
            seen = self._seen(circuit)
            seen.first_use_ns = now_ns if seen.first_use_ns is None else seen.first_use_ns
        if status in GONE:
            reasons = [keywords[key] for key in ("REASON", "REMOTE_REASON") if key in keywords]
            self.error_of.setdefault(number, f"stream {status.lower()}: {', '.join(reasons)}")
        if status == "NEW":
            self.on_new(number)

    def _seen(self, number: int) -> CircuitSeen:
        return self.circuits.setdefault(number, CircuitSeen(number))

    def _circuit_event(self, words: list[str], now_ns: int) -> None:
        """CIRC id status [path] KEY=value…"""
        seen, status, keywords = self._seen(int(words[0])), words[1], fields(words[2:])
        seen.purpose = keywords.get("PURPOSE", seen.purpose)
        seen.conflux |= {
            column: keywords[keyword] for column, keyword in CIRCUIT_KEYWORDS.items() if keyword in keywords
        }
        path = re.findall(r"\$([0-9A-F]{40})", words[2]) if len(words) > 2 else []
        if path:
            # Each extension tells the path so far; the last is the whole.
            seen.path = ",".join(self._names.get(relay, relay) for relay in path)
        if status == "LAUNCHED":
            seen.launched_ns = now_ns
        if status == "BUILT" and seen.built_ns is None:
            seen.built_ns = now_ns
        if status in GONE:
            seen.closed_ns, seen.close_reason = now_ns, keywords.get("REASON")

    def _bytes_event(self, words: list[str], now_ns: int) -> None:
        """CIRC_BW KEY=value…"""
        keywords = fields(words)
        seen = self._seen(int(keywords["ID"]))
        seen.bytes_read = (seen.bytes_read or 0) + int(keywords["READ"])
