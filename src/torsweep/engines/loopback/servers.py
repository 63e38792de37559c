"""A server: the source of all downloads.

    python -m torsweep.engines.loopback.servers ADDRESS PORT

In: connections that begin with a request, whose first 16 bytes say how long it is and how long the answer
shall be. Out: answers of that length, and the line ``ready`` once it listens.
"""

from __future__ import annotations

import asyncio
import contextlib
import struct
import sys

HEADER = struct.Struct(">QQ")
"""Bytes of the request, this header included, and of the answer."""

_CHUNK = bytes(64 * 1024)


def request(request_bytes: int, response_bytes: int) -> bytes:
    """A request of ``request_bytes`` for ``response_bytes``; ValueError when it is too short to say so."""
    if request_bytes < HEADER.size:
        raise ValueError(f"a request takes {HEADER.size} bytes or more")
    return HEADER.pack(request_bytes, response_bytes).ljust(request_bytes, b"\0")


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the requests of one connection until the other side closes it."""
    # Whoever hangs up in the middle of an answer is gone, which is no concern of the server.
    with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
        while True:
            asked, left = HEADER.unpack(await reader.readexactly(HEADER.size))
            await reader.readexactly(asked - HEADER.size)
            while left:
                writer.write(_CHUNK[:left])
                left -= min(left, len(_CHUNK))
                await writer.drain()
    writer.close()


async def serve(address: str, port: int) -> None:
    """Listen, say so, and answer until the process is ended."""
    server = await asyncio.start_server(answer, address, port)
    print("ready", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], int(sys.argv[2])))
