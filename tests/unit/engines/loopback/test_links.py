"""Links: bytes arrive whole, in order, not before their time, and no more are held than a window."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from torsweep.engines.loopback.addresses import AddressBlock, claim_block
from torsweep.engines.loopback.links import LEAST_WINDOW_BYTES, AccessLink, Direction

RATE = 5_000_000
DELAY_US = 30_000
DOOR, OR_PORT, SERVER_PORT, BEHIND_PORT = 9002, 9001, 9080, 9180


@pytest.fixture
def block() -> Iterator[AddressBlock]:
    claimed = claim_block()
    yield claimed
    claimed.close()


@pytest.fixture
def links(tmp_path: Path, block: AddressBlock) -> Iterator[AddressBlock]:
    """Links between host 0, which opens connections, and host 1, a relay and a server."""
    hosts = [{"up_bytes_per_s": RATE, "down_bytes_per_s": RATE}] * 2
    document = {
        "delays_us": [[0, DELAY_US], [DELAY_US, 0]],
        "nodes": {block.address(0): 0, block.address(1): 1},
        "hosts": hosts,
        "endpoints": [
            {"listen": [block.address(0), DOOR], "from": 0},
            {"listen": [block.address(1), SERVER_PORT], "from": 0, "to": [block.address(1), BEHIND_PORT]},
        ],
    }
    file = tmp_path / "links.json"
    file.write_text(json.dumps(document))
    command = [sys.executable, "-m", "torsweep.engines.loopback.links", str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        yield block
        assert process.poll() is None, "the links have ended"
        process.kill()


@pytest.fixture
def listen(block: AddressBlock) -> Iterator[Callable[[int], socket.socket]]:
    """Listen at a port of host 1."""
    opened = []

    def make(port: int) -> socket.socket:
        opened.append(socket.create_server((block.address(1), port)))
        opened[-1].settimeout(20)
        return opened[-1]

    yield make
    for one in opened:
        one.close()


def dial(block: AddressBlock, port: int = OR_PORT, host: str | None = None) -> socket.socket:
    """What a tor of host 0 does: ask its proxy for a connection."""
    connection = socket.create_connection((block.address(0), DOOR), timeout=20)
    connection.sendall(f"CONNECT {host or block.address(1)}:{port} HTTP/1.0\r\n\r\n".encode())
    return connection


def opened(connection: socket.socket) -> socket.socket:
    answer = b""
    while not answer.endswith(b"\r\n\r\n"):
        got = connection.recv(1)
        assert got, "hung up"
        answer += got
    assert b" 200 " in answer
    return connection


def receive_all(connection: socket.socket) -> bytes:
    parts = []
    while data := connection.recv(65536):
        parts.append(data)
    return b"".join(parts)


def test_a_connection_opens_after_a_round_trip_and_comes_from_its_host(links, listen):
    listener = listen(OR_PORT)
    started = time.monotonic()
    connection = opened(dial(links))
    assert time.monotonic() - started >= 2 * DELAY_US / 1e6 - 0.001
    accepted, (address, _) = listener.accept()
    assert address == links.address(0)
    accepted.close()
    connection.close()


@pytest.mark.parametrize("port", [OR_PORT, SERVER_PORT])
def test_bytes_take_half_a_round_trip_each_way(links, listen, port):
    if port == OR_PORT:
        listener = listen(OR_PORT)
        connection = opened(dial(links))
    else:
        listener = listen(BEHIND_PORT)
        connection = socket.create_connection((links.address(1), SERVER_PORT), timeout=20)
        # Its first bytes wait for the opening; those of a later moment do not.
        time.sleep(2 * DELAY_US / 1e6)
    accepted, _ = listener.accept()
    started = time.monotonic()
    connection.sendall(b"ping")
    assert accepted.recv(10) == b"ping"
    there = time.monotonic()
    assert there - started >= DELAY_US / 1e6 - 0.001
    accepted.sendall(b"pong")
    assert connection.recv(10) == b"pong"
    assert time.monotonic() - there >= DELAY_US / 1e6 - 0.001
    accepted.close()
    connection.close()


def test_bytes_arrive_whole_in_both_directions_and_not_faster_than_the_link(links, listen):
    listener = listen(OR_PORT)
    connection = opened(dial(links))
    accepted, _ = listener.accept()
    accepted.settimeout(20)
    forth, back = os.urandom(2_000_000), os.urandom(1_500_000)

    def send(one: socket.socket, data: bytes) -> None:
        one.sendall(data)
        one.shutdown(socket.SHUT_WR)

    started = time.monotonic()
    senders = [threading.Thread(target=send, args=pair) for pair in ((connection, forth), (accepted, back))]
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(receive_all(accepted)))
    for thread in (*senders, reader):
        thread.start()
    assert receive_all(connection) == back
    for thread in (*senders, reader):
        thread.join(20)
    assert received == [forth]
    assert time.monotonic() - started >= len(forth) / RATE
    accepted.close()
    connection.close()


def test_a_reader_that_stops_stops_the_sender(links, listen):
    listener = listen(OR_PORT)
    connection = opened(dial(links))
    accepted, _ = listener.accept()
    connection.settimeout(1)
    sent = 0
    with pytest.raises(TimeoutError):
        while sent < 50_000_000:
            sent += connection.send(bytes(65536))
    # The window, and buffers of the kernels on the way, which are megabytes at most.
    assert LEAST_WINDOW_BYTES < sent < 20_000_000
    accepted.close()
    connection.close()


@pytest.mark.parametrize(
    "said", [b"GET / HTTP/1.0\r\n\r\n", b"CONNECT 127.0.0.1:1 HTTP/1.0\r\n\r\n", b"x" * 2000]
)
def test_who_asks_for_something_else_is_hung_up_on(links, said):
    connection = socket.create_connection((links.address(0), DOOR), timeout=20)
    connection.sendall(said)
    with contextlib.suppress(ConnectionResetError):
        assert connection.recv(100) == b""
    connection.close()


def test_a_host_where_nothing_listens_is_a_closed_connection(links):
    connection = dial(links, port=9999)
    with contextlib.suppress(ConnectionResetError):
        assert b"200" not in connection.recv(100)
    connection.close()


def test_an_access_link_passes_one_after_the_other():
    link = AccessLink(1_000_000)
    assert link.passed_ns(0, 1_000) == 1_000_000
    assert link.passed_ns(0, 1_000) == 2_000_000
    assert link.passed_ns(10_000_000, 500) == 10_500_000


def test_the_receivers_link_is_taken_on_arrival_and_not_before():
    """A long way in front of a short one must not keep the down-link busy for bytes still on their way."""
    here, there = socket.socketpair()
    far, near = socket.socketpair()
    for one in (here, there, far, near):
        one.setblocking(False)
    down = AccessLink(1_000_000)

    def direction(delay_ns: int, sink: socket.socket) -> Direction:
        fast = AccessLink(10**12)
        return Direction(there, sink, fast, down, delay_ns, LEAST_WINDOW_BYTES, 0)

    slow, quick = direction(10**9, far), direction(0, near)
    here.send(b"slow")
    slow.read(0)
    here.send(b"quick")
    quick.read(0)
    quick.deliver(10_000_000)
    quick.deliver(10_000_000)
    assert far.recv(10) == b"quick"
    for one in (here, there, far, near):
        one.close()
