"""The circuits and streams of one client: the path of each circuit, and the circuit of each stream.

In: the control port of a client's tor. Out: :class:`ClientFollower`. Streams are told apart by the name that
they give to the SOCKS port: the number of the download.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from torsweep.config.features import CIRCUIT_KEYWORDS
from torsweep.engines.emulation.run.control import Control, fields
from torsweep.engines.emulation.run.downloads import LoopbackPort

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
    bytes_read: int | None = None
    of_features: dict[str, str] = field(default_factory=dict)
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
        seen.of_features |= {
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
