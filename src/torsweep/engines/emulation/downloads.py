"""The downloads of a run: which comes next at a client, what became of each, and the servers they come from.

In: a run and its network, a client's number. Out: :class:`Download` records, in monotonic ns; pauses. A
download goes through the client's SOCKS port (RFC 1928, 1929): a unix socket of tor, where its user name is
its number, or a port of Arti. One process is all servers:

    python -m torsweep.engines.emulation.downloads PORT NAMESPACE=ADDRESS...

Each connection begins with a request, whose first 16 bytes say how long it is and how long the answer shall
be. The line ``ready`` says that all listen.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
import struct
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from torsweep.config.traffic import ONION_SUFFIX
from torsweep.engines.draws import PAGE, object_count, pause_ns, response_bytes, server_index
from torsweep.engines.emulation.processes import inside
from torsweep.engines.run_spec import RunSpec
from torsweep.network.model import Client, Network, Server

SOCKS_VERSION, NAME_AND_PASSWORD, CONNECT, IPV4, DOMAIN, IPV6 = 5, 2, 1, 1, 3, 4
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


@dataclass(frozen=True)
class LoopbackPort:
    """A port of the loopback device in a network namespace."""

    namespace: str
    port: int


async def connect(socks: Path | LoopbackPort, address: str, port: int, name: str) -> socket.socket:
    """A connection to an IPv4 ``address`` or an onion service for the stream called ``name``.

    Raises SocksError when tor refuses it, OSError when nothing listens at ``socks`` or tor hangs up.
    """
    loop = asyncio.get_running_loop()
    if isinstance(socks, Path):
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    else:
        with inside(socks.namespace):
            connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setblocking(False)
    try:
        at = str(socks) if isinstance(socks, Path) else ("127.0.0.1", socks.port)
        await loop.sock_connect(connection, at)
        await _introduce(connection, name)
        where = _encoded(address) + struct.pack(">H", port)
        await loop.sock_sendall(connection, bytes([SOCKS_VERSION, CONNECT, 0]) + where)
        _, reply, _, kind = await _exactly(connection, 4)
        if reply != 0:
            raise SocksError(REPLIES.get(reply, f"reply {reply}"))
        # The address and the port that tor is bound to: zeros of the length of an IPv4 or an IPv6 address.
        await _exactly(connection, ADDRESS_BYTES[kind] + 2)
    except BaseException:
        connection.close()
        raise
    return connection


def _encoded(address: str) -> bytes:
    """The type and the bytes of an IPv4 address, or of the name of an onion service."""
    if address.endswith(ONION_SUFFIX):
        return bytes([DOMAIN, len(address)]) + address.encode()
    return bytes([IPV4]) + ipaddress.IPv4Address(address).packed


async def _introduce(connection: socket.socket, name: str) -> None:
    """Agree on a way to say the stream's name, and say it."""
    loop = asyncio.get_running_loop()
    await loop.sock_sendall(connection, bytes([SOCKS_VERSION, 1, NAME_AND_PASSWORD]))
    if await _exactly(connection, 2) != bytes([SOCKS_VERSION, NAME_AND_PASSWORD]):
        raise SocksError("no authentication by name")
    user = name.encode()
    login = bytes([1, len(user)]) + user + bytes([len(PASSWORD)]) + PASSWORD
    await loop.sock_sendall(connection, login)
    if (await _exactly(connection, 2))[1] != 0:
        raise SocksError("name and password refused")


async def _exactly(connection: socket.socket, count: int) -> bytes:
    loop, data = asyncio.get_running_loop(), b""
    while len(data) < count:
        more = await loop.sock_recv(connection, count - len(data))
        if not more:
            raise ConnectionError("tor closed the connection")
        data += more
    return data


PROGRESS_STEP_NS = 1_000_000
"""The least time between two points of progress, except for the first and the last."""


@dataclass
class Download:
    """One download; times are monotonic nanoseconds, None for what it never reached.

    ``index`` is its client's place among the clients, from 0, ``number`` its own among the client's, and
    ``tag`` its own among those of the client's tor. Half and four fifths of the payload had come at
    ``half_ns`` and ``most_ns``, and what has come so far at ``latest_byte_ns``.
    """

    client: Client
    index: int
    number: int
    tag: int
    server: Server
    size: int
    start_ns: int
    socks_reply_ns: int | None = None
    command_ns: int | None = None
    first_byte_ns: int | None = None
    half_ns: int | None = None
    most_ns: int | None = None
    last_byte_ns: int | None = None
    latest_byte_ns: int | None = None
    end_ns: int | None = None
    got: int = 0
    outcome: str = "unfinished"
    error: str | None = None
    circuit: int | None = None
    progress: list[tuple[int, int]] = field(default_factory=list)

    def take_in(self, size: int, now_ns: int, *, progress: bool) -> None:
        """``size`` more bytes have come; with ``progress``, some such moments are kept."""
        self.got += size
        self.latest_byte_ns = now_ns
        whole = self.got >= self.size
        if self.first_byte_ns is None:
            self.first_byte_ns = now_ns
        if self.half_ns is None and 2 * self.got >= self.size:
            self.half_ns = now_ns
        if self.most_ns is None and 5 * self.got >= 4 * self.size:
            self.most_ns = now_ns
        if whole:
            self.last_byte_ns = now_ns
        points = self.progress
        if progress and (whole or not points or now_ns - points[-1][0] >= PROGRESS_STEP_NS):
            points.append((now_ns, self.got))


class DownloadOrder:
    """The downloads of each client, in order; ``opened`` holds all that have begun."""

    def __init__(self, run: RunSpec, network: Network) -> None:
        self.opened: list[Download] = []
        self._run = run
        self._network = network
        self._users = network.users
        self._counts: dict[int, int] = {}

    def open_next(self, index: int) -> Download:
        """The next download of client number ``index`` (from 0), which starts now."""
        number = self._counts[index] = self._counts.get(index, 0) + 1
        return self._open(index, number, number)

    def objects(self, index: int, page: int) -> int:
        """How many objects the client's ``page`` has."""
        traffic = self._run.traffic[self._network.clients[index].kind]
        return object_count(traffic, self._run.seed, index, page)

    def open_object(self, index: int, page: int, which: int) -> Download:
        """The download of object ``which`` of the client's ``page``, both from 1, which starts now.

        All objects of a page are on one server.
        """
        return self._open(index, page * PAGE + which, page)

    def _open(self, index: int, number: int, of: int) -> Download:
        client = self._network.clients[index]
        servers = self._network.servers_of(client)
        server = servers[server_index(self._run.seed, index, of, len(servers))]
        size = response_bytes(self._run.traffic[client.kind], self._run.seed, index, number)
        users = self._users[client.tor or client.name]
        tag = number * len(users) + users.index(client)
        download = Download(client, index, number, tag, server, size, time.monotonic_ns())
        self.opened.append(download)
        return download

    def pause_ns(self, index: int, number: int) -> int:
        """How long client number ``index`` waits after its download, or page, of this ``number``."""
        return pause_ns(self._run.traffic[self._network.clients[index].kind], self._run.seed, index, number)


REQUEST_HEADER = struct.Struct(">QQ")
"""Bytes of the request, this header included, and of the answer."""

_CHUNK = bytes(64 * 1024)


def servers_command(port: int, hosts: Sequence[tuple[str, str]]) -> list[str]:
    """The command whose process listens on ``port`` of each (namespace, address)."""
    pairs = [f"{namespace}={address}" for namespace, address in hosts]
    return [sys.executable, "-m", "torsweep.engines.emulation.downloads", str(port), *pairs]


def request(request_bytes: int, response_bytes: int) -> bytes:
    """A request of ``request_bytes``, at least a header's, for ``response_bytes``."""
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
