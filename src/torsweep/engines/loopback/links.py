"""The links between hosts, in user space: what one host sends reaches the other after half their RTT.

    python -m torsweep.engines.loopback.links LINKS.json

In: a file with the hosts' delays and rates, and the endpoints to listen at. Out: nothing but the forwarded
bytes, and the line ``ready`` once it listens. An endpoint belongs to the host that connects to it, and leads
where that host's tor says (``CONNECT``, as to any proxy), or to the one server behind it.

A link keeps the order of bytes, delays each by half the RTT, passes it through the sender's up-link and the
receiver's down-link, one after the other at their rates, and holds no more than a window, as TCP does: twice
the product of delay and rate, at least 128 KiB. When it is full, the link does not read, the sender's kernel
buffers fill, and tor's output buffer after them. Times are exact to half a millisecond. A tor learns that a
connection is open after one RTT.

Left out: an exit learns at once that its connection to a server is open, though the first bytes wait for an
RTT. There is no loss, so that TCP's slow start never shows. A sender's kernel sees the way to the link and
not the one behind it: RTT and window of TCP_INFO, which KIST reads, are those of this machine, and KIST is
held back by the sizes of buffers only.
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
import json
import re
import selectors
import socket
import sys
import time
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

CHUNK_BYTES = 16 * 1024
LEAST_WINDOW_BYTES = 128 * 1024
KERNEL_BUFFER_BYTES = 64 * 1024
"""What the kernel may hold on either side of a link; the window counts what is held here."""

HALF_TICK_NS = 500_000
"""epoll waits in milliseconds: what is due within half of one goes out now."""

LONGEST_GREETING_BYTES = 1024
OPEN = b"HTTP/1.0 200 open\r\n\r\n"

READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE


@dataclass
class AccessLink:
    """One direction of a host's link: bytes pass one after the other at ``bytes_per_s``."""

    bytes_per_s: int
    free_ns: int = 0

    def passed_ns(self, at_ns: int, size: int) -> int:
        """When ``size`` bytes that come at ``at_ns`` are through."""
        self.free_ns = max(at_ns, self.free_ns) + size * 1_000_000_000 // self.bytes_per_s
        return self.free_ns


@dataclass
class Host:
    """A host's two directions of access link."""

    up: AccessLink
    down: AccessLink


@dataclass(eq=False)
class Direction:
    """Bytes from ``source`` to ``sink``: in flight until their time, then waiting for the sink."""

    source: socket.socket
    sink: socket.socket
    up: AccessLink
    down: AccessLink
    delay_ns: int
    window_bytes: int
    earliest_ns: int
    flight: deque[tuple[int, bool, memoryview]] = field(default_factory=deque)
    held_bytes: int = 0
    source_ended: bool = False
    sink_blocked: bool = False
    finished: bool = False

    @property
    def wants_bytes(self) -> bool:
        """Whether the window has room and the source has not ended."""
        return not self.source_ended and self.held_bytes < self.window_bytes

    def read(self, now_ns: int) -> None:
        """Take what the source has into flight. Raises OSError when the source is broken."""
        data = self.source.recv(CHUNK_BYTES)
        sent_ns = self.up.passed_ns(max(now_ns, self.earliest_ns), len(data)) if data else now_ns
        if not data:
            self.source_ended = True
        self.flight.append((sent_ns + self.delay_ns, not data, memoryview(data)))
        self.held_bytes += len(data)

    def deliver(self, now_ns: int) -> None:
        """Hand over what is due, as far as the sink takes it. Raises OSError when the sink is broken."""
        while self.flight and not self.sink_blocked:
            due_ns, through, data = self.flight[0]
            if due_ns > now_ns + HALF_TICK_NS:
                return
            if not through:
                self.flight[0] = (self.down.passed_ns(due_ns, len(data)), True, data)
                continue
            if not data:
                self.flight.popleft()
                self.finished = True
                with contextlib.suppress(OSError):
                    self.sink.shutdown(socket.SHUT_WR)
                return
            try:
                sent = self.sink.send(data)
            except BlockingIOError:
                self.sink_blocked = True
                return
            self.held_bytes -= sent
            if sent == len(data):
                self.flight.popleft()
            else:
                self.flight[0] = (due_ns, True, data[sent:])


@dataclass(frozen=True)
class Endpoint:
    """Where ``host`` connects to; ``target`` is the server behind it, None where the host says."""

    listener: socket.socket
    host: int
    target: tuple[str, int] | None


class Links:
    """All the links of a run, served by one thread."""

    def __init__(self, document: dict) -> None:
        self.delays_us: list[list[int]] = document["delays_us"]
        self.node_of: dict[str, int] = document["nodes"]
        self.address_of = {node: address for address, node in self.node_of.items()}
        self.hosts = [
            Host(AccessLink(host["up_bytes_per_s"]), AccessLink(host["down_bytes_per_s"]))
            for host in document["hosts"]
        ]
        self.selector = selectors.DefaultSelector()
        self.timers: list[tuple[int, int, Direction]] = []
        self.order = itertools.count()
        self.peers: dict[socket.socket, tuple[Direction, Direction]] = {}
        self.greetings: dict[socket.socket, tuple[int, bytes]] = {}
        for endpoint in document["endpoints"]:
            listener = socket.socket()
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, KERNEL_BUFFER_BYTES)
            listener.bind(tuple(endpoint["listen"]))
            listener.listen(128)
            listener.setblocking(False)
            target = tuple(endpoint["to"]) if "to" in endpoint else None
            self.selector.register(listener, READ, Endpoint(listener, endpoint["from"], target))

    def serve(self) -> None:
        """Forward until the process is ended."""
        while True:
            wait_s = None
            if self.timers:
                wait_s = max(0.0, (self.timers[0][0] - HALF_TICK_NS - time.monotonic_ns()) / 1e9)
            for key, events in self.selector.select(wait_s):
                one = key.fileobj
                if isinstance(key.data, Endpoint):
                    self._accept(key.data)
                elif not isinstance(one, socket.socket):
                    raise TypeError("only sockets are registered")
                elif one in self.greetings:
                    self._greet(one)
                elif one in self.peers:
                    self._serve_socket(one, events)
            now_ns = time.monotonic_ns()
            while self.timers and self.timers[0][0] <= now_ns + HALF_TICK_NS:
                _, _, direction = heapq.heappop(self.timers)
                if direction.source in self.peers:
                    self._advance(direction)

    def _accept(self, endpoint: Endpoint) -> None:
        """Take a connection: where it leads is known, or still to be said."""
        try:
            near, _ = endpoint.listener.accept()
        except OSError:
            return
        near.setblocking(False)
        if endpoint.target is not None:
            self._open(near, endpoint.host, endpoint.target)
        else:
            self.greetings[near] = (endpoint.host, b"")
            self.selector.register(near, READ)

    def _greet(self, near: socket.socket) -> None:
        """Read where a connection leads. A tor sends nothing after that before it has its answer."""
        host, said = self.greetings.pop(near)
        try:
            data = near.recv(LONGEST_GREETING_BYTES)
        except OSError:
            data = b""
        said += data
        if data and len(said) < LONGEST_GREETING_BYTES and not said.endswith(b"\r\n\r\n"):
            self.greetings[near] = (host, said)
            return
        self.selector.unregister(near)
        asked = re.match(rb"CONNECT ([0-9.]+):([0-9]+) HTTP/1\.[01]\r\n", said)
        if asked is None or asked[1].decode() not in self.node_of:
            near.close()
            return
        self._open(near, host, (asked[1].decode(), int(asked[2])), OPEN)

    def _open(self, near: socket.socket, here: int, target: tuple[str, int], answer: bytes = b"") -> None:
        """Open the other half of ``near``, from the address of the host ``here`` where it has one."""
        there, far = self.node_of[target[0]], socket.socket()
        far.setblocking(False)
        far.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, KERNEL_BUFFER_BYTES)
        for one in (near, far):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, KERNEL_BUFFER_BYTES)
        if here in self.address_of:
            far.bind((self.address_of[here], 0))
        far.connect_ex(target)
        opened_ns = time.monotonic_ns() + 2000 * self.delays_us[here][there]
        forward = self._direction(near, far, here, there, opened_ns)
        # Nothing can be sent before the kernel says that the other half is open.
        forward.sink_blocked = True
        backward = self._direction(far, near, there, here, 0)
        if answer:
            backward.flight.append((opened_ns, True, memoryview(answer)))
            backward.held_bytes += len(answer)
        self.peers[near], self.peers[far] = (forward, backward), (backward, forward)
        self.selector.register(near, READ)
        self.selector.register(far, READ | WRITE)
        self._advance(backward)

    def _direction(
        self, source: socket.socket, sink: socket.socket, sender: int, receiver: int, earliest_ns: int
    ) -> Direction:
        delay_ns = 1000 * self.delays_us[sender][receiver]
        up, down = self.hosts[sender].up, self.hosts[receiver].down
        window = 2 * delay_ns * min(up.bytes_per_s, down.bytes_per_s) // 1_000_000_000
        return Direction(source, sink, up, down, delay_ns, max(LEAST_WINDOW_BYTES, window), earliest_ns)

    def _serve_socket(self, one: socket.socket, events: int) -> None:
        outward, inward = self.peers[one]
        if events & READ and outward.wants_bytes:
            try:
                outward.read(time.monotonic_ns())
            except BlockingIOError:
                pass
            except OSError:
                self._close(outward)
                return
            self._advance(outward)
        if events & WRITE and one in self.peers:
            inward.sink_blocked = False
            self._advance(inward)

    def _advance(self, direction: Direction) -> None:
        """Deliver what is due, set the next timer, and listen for what can go on."""
        try:
            direction.deliver(time.monotonic_ns())
        except OSError:
            self._close(direction)
            return
        if direction.flight and not direction.sink_blocked:
            heapq.heappush(self.timers, (direction.flight[0][0], next(self.order), direction))
        if direction.finished and self.peers[direction.source][1].finished:
            self._close(direction)
            return
        for one in (direction.source, direction.sink):
            outward, inward = self.peers[one]
            events = (READ if outward.wants_bytes else 0) | (WRITE if inward.sink_blocked else 0)
            self._watch(one, events)

    def _watch(self, one: socket.socket, events: int) -> None:
        known = self.selector.get_map().get(one)
        if known is None:
            if events:
                self.selector.register(one, events)
        elif not events:
            self.selector.unregister(one)
        elif known.events != events:
            self.selector.modify(one, events)

    def _close(self, direction: Direction) -> None:
        for one in (direction.source, direction.sink):
            del self.peers[one]
            if self.selector.get_map().get(one) is not None:
                self.selector.unregister(one)
            one.close()


def main() -> None:
    """Serve the links of the file named on the command line."""
    links = Links(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    print("ready", flush=True)
    links.serve()


if __name__ == "__main__":
    main()
