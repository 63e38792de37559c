"""tor through its control port: what it knows, which circuit a stream takes, what a relay moves.

In: a place whose tor runs. Out: a :class:`stem.control.Controller` on it; for authorities the descriptors
that they have; for clients a :class:`StreamDesk`; for relays a :class:`BandwidthMeter`.
"""

from __future__ import annotations

import contextlib
import itertools
import queue
import re
import threading
import time
from collections.abc import Callable
from typing import Any

import stem
import stem.connection
from stem.control import Controller, EventType

from torsweep.engines.loopback.addresses import STREAM_PORTS
from torsweep.engines.loopback.layout import Place
from torsweep.errors import TorsweepError

POLL_S = 0.1
CIRCUIT_LIMIT_S = 60.0
"""What building one circuit may take; tor's own limit adapts and is usually far shorter."""

STREAM_GONE = ("FAILED", "CLOSED")
CIRCUIT_GONE = ("FAILED", "CLOSED")


def open_control(place: Place, patience_s: float, check: Callable[[], None]) -> Controller:
    """Connect to the tor at ``place`` as soon as it listens, and log in with its cookie.

    ``check`` is called while waiting and raises when the wait is in vain. Raises TorsweepError when the
    socket still refuses, or nothing listens on it, after ``patience_s``.
    """
    deadline = time.monotonic() + patience_s
    while True:
        check()
        try:
            return _log_in(place)
        except (stem.SocketError, stem.connection.AuthenticationFailure, stem.ControllerError) as error:
            # tor listens a moment before it has written its cookie, so a refusal may be mended by time.
            if time.monotonic() > deadline:
                how = "does not answer" if isinstance(error, stem.SocketError) else "refuses"
                why = " ".join(str(error).split())
                raise TorsweepError(f"{place.name}: its control port {place.control} {how}: {why}") from None
        time.sleep(POLL_S)


def _log_in(place: Place) -> Controller:
    control = Controller.from_socket_file(str(place.control))
    try:
        control.authenticate()
    except BaseException:
        control.close()
        raise
    return control


def known_relays(authority: Controller) -> set[str]:
    """Nicknames of the relays whose descriptors ``authority`` has."""
    return set(re.findall(r"^router (\S+) ", authority.get_info("desc/all-recent", ""), re.MULTILINE))


def consensus_relays(authority: Controller) -> set[str]:
    """Nicknames of the relays in the consensus that ``authority`` has; empty before there is one."""
    text = authority.get_info("dir/status-vote/current/consensus", "")
    return set(re.findall(r"^r (\S+) ", text, re.MULTILINE))


class StreamDesk:
    """Puts the streams of one client onto its circuits, in order of opening, and knows which went where.

    Streams are told apart by the port that they come from; number 0 stands for any that is no download. With
    ``paths`` each circuit takes the next of them, the last again and again; without, tor chooses.
    ``isolated`` gives each stream a circuit of its own.
    """

    def __init__(
        self, name: str, control: Controller, paths: tuple[tuple[str, ...], ...], *, isolated: bool
    ) -> None:
        self.name = name
        self.on_new: Callable[[int], None] = lambda number: None
        self.circuit_of: dict[int, int] = {}
        self.error_of: dict[int, str] = {}
        self._control = control
        self._paths = paths
        self._isolated = isolated
        self._ports = itertools.cycle(STREAM_PORTS)
        self._number_at: dict[int, int] = {}
        self._number_of: dict[str, int] = {}
        self._ordinals: dict[str, int] = {}
        self._gone: set[str] = set()
        self._made = 0
        self._current: str | None = None
        self._waiting: queue.SimpleQueue[tuple[str, int]] = queue.SimpleQueue()
        control.add_event_listener(self._circuit_event, EventType.CIRC)
        control.add_event_listener(self._stream_event, EventType.STREAM)
        if paths:
            threading.Thread(target=self._attach_all, name=f"{name}-attach", daemon=True).start()

    def port_for(self, number: int) -> int:
        """A port for the download ``number`` to come from: another one each time."""
        port = next(self._ports)
        self._number_at[port] = number
        return port

    def start_over(self) -> None:
        """Forget what was; with paths, drop the circuit there is and build the first one anew."""
        if self._paths:
            # Circuits that nobody has asked for would take cells and turns from those that are watched.
            self._control.set_conf("__DisablePredictedCircuits", "1")
            for circuit in self._control.get_circuits():
                # One that has closed by itself in the meantime is as good.
                with contextlib.suppress(stem.InvalidRequest):
                    self._control.close_circuit(circuit.id)
        self._current, self._made = None, 0
        for known in (self.circuit_of, self.error_of, self._number_at, self._number_of, self._ordinals):
            known.clear()
        if self._paths and not self._isolated:
            self._current = self._build()

    def _build(self) -> str:
        path = self._paths[min(self._made, len(self._paths) - 1)]
        circuit = self._control.extend_circuit("0", list(path), await_build=True, timeout=CIRCUIT_LIMIT_S)
        self._made += 1
        return circuit

    def _attach_all(self) -> None:
        while True:
            stream, number = self._waiting.get()
            try:
                if self._isolated or self._current is None or self._current in self._gone:
                    self._current = self._build()
                self._control.attach_stream(stream, self._current)
            except (stem.ControllerError, ValueError) as error:
                self.error_of[number] = f"no circuit: {' '.join(str(error).split())}"
                try:
                    self._control.close_stream(stream)
                except stem.ControllerError:
                    # It has gone by itself, or tor has: whoever waits for the stream is told either way.
                    continue

    def _stream_event(self, event: Any) -> None:
        if event.status == "NEW" and event.source_port is not None:
            self._number_of[event.id] = self._number_at.pop(event.source_port, 0)
        number = self._number_of.get(event.id)
        if number is None:
            return
        if event.status in ("NEW", "DETACHED") and self._paths:
            self._waiting.put((event.id, number))
        if event.circ_id is not None:
            ordinal = self._ordinals.setdefault(event.circ_id, len(self._ordinals) + 1)
            self.circuit_of[number] = ordinal
        if event.status in STREAM_GONE:
            reasons = [str(reason) for reason in (event.reason, event.remote_reason) if reason]
            self.error_of.setdefault(number, f"stream {event.status.lower()}: {', '.join(reasons)}")
        if event.status == "NEW":
            self.on_new(number)

    def _circuit_event(self, event: Any) -> None:
        if event.status in CIRCUIT_GONE:
            self._gone.add(event.id)


class BandwidthMeter:
    """What one relay reads and writes each second, by its own count of raw bytes, and its CPU time.

    ``samples`` holds (monotonic time ns, bytes read, bytes written, CPU time so far ns) at the end of each
    second of the relay's own clock.
    """

    def __init__(self, control: Controller, pid: int) -> None:
        self.samples: list[tuple[int, int, int, int]] = []
        # The kernel's number of another process's CPU clock: MAKE_PROCESS_CPUCLOCK in posix-timers_types.h.
        self._cpu_clock = (~pid << 3) | 2
        control.add_event_listener(self._bandwidth_event, EventType.BW)

    def _bandwidth_event(self, event: Any) -> None:
        try:
            cpu_ns = time.clock_gettime_ns(self._cpu_clock)
        except OSError:
            return
        self.samples.append((time.monotonic_ns(), event.read, event.written, cpu_ns))

    def quiet(self, seconds: int, most_bytes_per_s: int) -> bool:
        """Whether the relay moved at most so many bytes in each of its last ``seconds``."""
        last = self.samples[-seconds:]
        return len(last) == seconds and all(max(read, out) <= most_bytes_per_s for _, read, out, _ in last)
