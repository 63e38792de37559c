"""The circuits and streams of one client: the path of each circuit, and the circuit of each stream.

In: the control port of a client's tor, the paths that it is to take. Out: :class:`ClientFollower`. Streams
are told apart by the name that they give to the SOCKS port: the number of the download.

With given paths, streams change circuits as they do where tor chooses: the next path is taken when the
circuit has gone, cannot be built, or left a stream waiting for its connection (for 10 s, later 15 s).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from torsweep.engines.emulation.run.control import (
    Control,
    ControlClosed,
    ControlRefused,
    close_quietly,
    fields,
)
from torsweep.engines.emulation.run.downloads import LoopbackPort

CIRCUIT_LIMIT_S = 60.0
"""The longest time that building one circuit may take; tor's own limit is the same here."""

CIRCUITS_TRIED = 3
"""Circuits in a row that may fail to be built before the stream that waits for one fails."""

GONE = ("FAILED", "CLOSED")


@dataclass
class CircuitSeen:
    """A circuit as tor told of it; times are monotonic ns."""

    number: int
    purpose: str | None = None
    path: str | None = None
    launched_ns: int | None = None
    built_ns: int | None = None
    first_use_ns: int | None = None
    closed_ns: int | None = None
    close_reason: str | None = None


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

    def close(self) -> None:
        """There is nothing to close."""


class ClientFollower:
    """Follows one client, and puts its streams onto given paths in order of opening.

    With ``paths`` (fingerprints) each circuit takes the next of them, the last again and again; without,
    tor chooses. ``isolated`` gives each stream a circuit of its own. With ``ahead`` a circuit for the next
    path stands ready. ``names`` maps fingerprints to relays' names.
    """

    def __init__(
        self,
        control: Control,
        paths: tuple[tuple[str, ...], ...],
        names: Mapping[str, str],
        *,
        isolated: bool,
        ahead: bool = False,
    ) -> None:
        self.on_new: Callable[[int], None] = lambda number: None
        self.circuit_of: dict[int, int] = {}
        self.error_of: dict[int, str] = {}
        self.circuits: dict[int, CircuitSeen] = {}
        self._control = control
        self._paths = paths
        self._names = names
        self._isolated = isolated
        self._ahead = ahead
        self._number_of: dict[str, int] = {}
        self._built: dict[int, asyncio.Future[None]] = {}
        self._made = 0
        self._current: int | None = None
        self._given_up: set[int] = set()
        self._next: asyncio.Future[int] | None = None
        self._waiting: asyncio.Queue[tuple[str, int]] = asyncio.Queue()
        self._attaching: asyncio.Future[None] | None = None

    async def open(self) -> None:
        """Begin to follow the client; with paths, put its streams onto them from now on."""
        await self._control.listen({"CIRC": self._circuit_event, "STREAM": self._stream_event})
        for line in (await self._control.value("circuit-status")).splitlines():
            self._circuit_event(line.split(" "), 0)
        if self._paths:
            # Circuits that nobody has asked for would take cells and turns from those that are watched.
            await self._control.ask("SETCONF __DisablePredictedCircuits=1")
            for number in [seen.number for seen in self.circuits.values() if seen.closed_ns is None]:
                await close_quietly(self._control, f"CLOSECIRCUIT {number}")
            if not self._isolated:
                self._current = await self._fresh()
            self._build_ahead()
            if self._next is not None:
                await asyncio.wait([self._next])
            self._attaching = asyncio.ensure_future(self._attach_all())

    def close(self) -> None:
        """Put no more streams onto circuits."""
        for task in (self._attaching, self._next):
            if task is not None:
                task.cancel()

    @property
    def _paths_left(self) -> bool:
        return self._made < len(self._paths)

    def _usable(self, circuit: int | None) -> bool:
        """Whether ``circuit`` may take another stream; the last path is kept, whatever happens."""
        if circuit is None or self._isolated or self._seen(circuit).closed_ns is not None:
            return False
        return circuit not in self._given_up or not (self._paths_left or self._next is not None)

    async def _fresh(self) -> int:
        """A circuit without a stream: the one that was built ahead, or one that is built now.

        Raises ControlRefused when several in a row cannot be built.
        """
        for tried in range(1, CIRCUITS_TRIED + 1):
            building, self._next = self._next or asyncio.ensure_future(self._build()), None
            try:
                circuit = await building
            except ControlRefused:
                if tried == CIRCUITS_TRIED:
                    raise
                continue
            if self._seen(circuit).closed_ns is None:
                return circuit
        raise ControlRefused(f"{CIRCUITS_TRIED} circuits were closed before their first use")

    def _build_ahead(self) -> None:
        """Begin to build the circuit of the next path."""
        if self._ahead and self._paths_left:
            self._next = asyncio.ensure_future(self._build())
            # A failure matters to the stream that will wait for it, if one does.
            self._next.add_done_callback(lambda done: done.cancelled() or done.exception())

    async def _build(self) -> int:
        path = self._paths[min(self._made, len(self._paths) - 1)]
        answer = await self._control.ask(f"EXTENDCIRCUIT 0 {','.join('$' + relay for relay in path)}")
        self._made += 1
        circuit = int(answer[-1].split(" ")[1])
        built = self._built.setdefault(circuit, asyncio.get_running_loop().create_future())
        try:
            async with asyncio.timeout(CIRCUIT_LIMIT_S):
                await built
        except TimeoutError:
            raise ControlRefused(f"the circuit was not built within {CIRCUIT_LIMIT_S:g} s") from None
        finally:
            self._built.pop(circuit, None)
        return circuit

    async def _attach_all(self) -> None:
        while True:
            stream, number = await self._waiting.get()
            try:
                await self._attach(stream)
            except ControlRefused as error:
                self.error_of[number] = f"no circuit: {error}"
                await close_quietly(self._control, f"CLOSESTREAM {stream} 1")
            except ControlClosed:
                return

    async def _attach(self, stream: str) -> None:
        attached = False
        while not attached:
            if not self._usable(self._current):
                self._current = await self._fresh()
                self._build_ahead()
            try:
                await self._control.ask(f"ATTACHSTREAM {stream} {self._current}")
                attached = True
            except ControlRefused:
                # A circuit that was closed a moment ago is followed by the next.
                if self._current is None or self._seen(self._current).closed_ns is None:
                    raise

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
        if status == "DETACHED":
            self._given_up.add(circuit)
        if status in ("NEW", "DETACHED") and self._paths:
            self._waiting.put_nowait((stream, number))
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
        waiting = self._built.get(seen.number)
        if waiting is not None and not waiting.done():
            if status == "BUILT":
                waiting.set_result(None)
            elif status in GONE:
                reason = keywords.get("REMOTE_REASON") or keywords.get("REASON") or "no reason"
                waiting.set_exception(ControlRefused(f"the circuit {status.lower()}: {reason}"))
