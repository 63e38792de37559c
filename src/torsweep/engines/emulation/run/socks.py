"""A connection through tor's SOCKS port, which is a unix socket here.

In: the path of the socket, where to go, a user name. Out: a connected socket. SOCKS 5 with a name and a
password (RFC 1928, 1929): the name tells tor's controller which stream is whose.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import struct
from pathlib import Path

VERSION, NAME_AND_PASSWORD, CONNECT, IPV4, IPV6 = 5, 2, 1, 1, 4
PASSWORD = b"torsweep"
"""SOCKS 5 allows no user name without a password; tor accepts any password."""

ADDRESS_BYTES = {IPV4: 4, IPV6: 16}

REPLIES = {
    1: "general failure",
    2: "not allowed",
    3: "network unreachable",
    4: "host unreachable",
    5: "connection refused",
    6: "TTL expired",
    7: "command not supported",
    8: "address type not supported",
}


class SocksError(Exception):
    """tor has refused; the message is its reason."""


async def connect(path: Path, address: str, port: int, name: str) -> socket.socket:
    """A connection to ``address`` and ``port`` for the stream called ``name``.

    Raises SocksError when tor refuses it, OSError when nothing listens at ``path`` or tor hangs up.
    """
    loop = asyncio.get_running_loop()
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.setblocking(False)
    try:
        await loop.sock_connect(connection, str(path))
        await loop.sock_sendall(connection, bytes([VERSION, 1, NAME_AND_PASSWORD]))
        if await _exactly(connection, 2) != bytes([VERSION, NAME_AND_PASSWORD]):
            raise SocksError("no authentication by name")
        user = name.encode()
        login = bytes([1, len(user)]) + user + bytes([len(PASSWORD)]) + PASSWORD
        await loop.sock_sendall(connection, login)
        if (await _exactly(connection, 2))[1] != 0:
            raise SocksError("name and password refused")
        where = ipaddress.IPv4Address(address).packed + struct.pack(">H", port)
        await loop.sock_sendall(connection, bytes([VERSION, CONNECT, 0, IPV4]) + where)
        _, reply, _, kind = await _exactly(connection, 4)
        if reply != 0:
            raise SocksError(REPLIES.get(reply, f"reply {reply}"))
        # The address and the port that tor is bound to; tor has none and sends zeros, of the length of an
        # IPv4 or an IPv6 address.
        await _exactly(connection, ADDRESS_BYTES[kind] + 2)
    except BaseException:
        connection.close()
        raise
    return connection


async def _exactly(connection: socket.socket, count: int) -> bytes:
    loop, data = asyncio.get_running_loop(), b""
    while len(data) < count:
        more = await loop.sock_recv(connection, count - len(data))
        if not more:
            raise ConnectionError("tor closed the connection")
        data += more
    return data
