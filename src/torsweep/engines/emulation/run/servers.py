"""The servers: the source of all downloads, one process for all of them.

    python -m torsweep.engines.emulation.run.servers PORT NAMESPACE=ADDRESS...

In: the namespaces of the servers' hosts and their addresses; connections that begin with a request, whose
first 16 bytes say how long it is and how long the answer shall be. Out: answers of that length, and the
line ``ready`` once all listen.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import sys
from collections.abc import Sequence

from torsweep.engines.emulation.run.processes import inside

REQUEST_HEADER = struct.Struct(">QQ")
"""Bytes of the request, this header included, and of the answer."""

_CHUNK = bytes(64 * 1024)


def servers_command(port: int, hosts: Sequence[tuple[str, str]]) -> list[str]:
    """The command whose process listens on ``port`` of each (namespace, address)."""
    pairs = [f"{namespace}={address}" for namespace, address in hosts]
    return [sys.executable, "-m", "torsweep.engines.emulation.run.servers", str(port), *pairs]


def request(request_bytes: int, response_bytes: int) -> bytes:
    """A request of ``request_bytes`` for ``response_bytes``; ValueError when it is too short to say so."""
    if request_bytes < REQUEST_HEADER.size:
        raise ValueError(f"a request takes {REQUEST_HEADER.size} bytes or more")
    return REQUEST_HEADER.pack(request_bytes, response_bytes).ljust(request_bytes, b"\0")


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the requests of one connection until the other side closes it."""
    # A client may hang up in the middle of an answer; this is no error of the server.
    with contextlib.suppress(OSError, asyncio.IncompleteReadError):
        while True:
            size, left = REQUEST_HEADER.unpack(await reader.readexactly(REQUEST_HEADER.size))
            await reader.readexactly(size - REQUEST_HEADER.size)
            while left:
                writer.write(_CHUNK[:left])
                left -= min(left, len(_CHUNK))
                await writer.drain()
    writer.close()


def listening(namespace: str, address: str, port: int) -> socket.socket:
    """A socket that listens in ``namespace``."""
    with inside(namespace):
        return socket.create_server((address, port), backlog=1024)


async def serve(port: int, hosts: Sequence[tuple[str, str]]) -> None:
    """Listen on each (namespace, address), say so, and answer until the process is ended."""
    servers = [await asyncio.start_server(answer, sock=listening(*host, port)) for host in hosts]
    print("ready", flush=True)
    await asyncio.gather(*(server.serve_forever() for server in servers))


if __name__ == "__main__":
    pairs = [argument.split("=") for argument in sys.argv[2:]]
    asyncio.run(serve(int(sys.argv[1]), [(namespace, address) for namespace, address in pairs]))
