"""What the client of a loopback network asks for: small answers, or as much as its chain carries.

In: a connection to the server through a chain. Out: how long small requests took; load, until cancelled.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time

from torsweep.engines.emulation.run.servers import request
from torsweep.loopback.network import ENDLESS_BYTES, REQUEST_BYTES

ANSWER_BYTES = 400
"""Bytes of the answer to a small request: less than a cell holds."""

READ_BYTES = 256 * 1024


async def small_requests(connection: socket.socket, for_s: float) -> list[int]:
    """Times from a request to the first byte of its answer, ns; requests are made one after the other."""
    loop, until_ns = asyncio.get_running_loop(), time.monotonic_ns() + int(for_s * 1e9)
    took: list[int] = []
    while not took or time.monotonic_ns() < until_ns:
        asked_ns, got = time.monotonic_ns(), 0
        await loop.sock_sendall(connection, request(REQUEST_BYTES, ANSWER_BYTES))
        while got < ANSWER_BYTES:
            came = len(await loop.sock_recv(connection, ANSWER_BYTES - got))
            if not got:
                took.append(time.monotonic_ns() - asked_ns)
            if not came:
                raise ConnectionError("a stream was closed in the middle of an answer")
            got += came
    return took


async def load(connection: socket.socket) -> None:
    """Download until cancelled."""
    loop, buffer = asyncio.get_running_loop(), bytearray(READ_BYTES)
    with contextlib.suppress(asyncio.CancelledError):
        await loop.sock_sendall(connection, request(REQUEST_BYTES, ENDLESS_BYTES))
        while await loop.sock_recv_into(connection, buffer):
            pass
        raise ConnectionError("a download was closed before its end")
