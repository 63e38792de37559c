"""Clients that download, and what they saw.

In: the layout, a :class:`.control.StreamDesk` for each client, the time that counts as 0.
Out: :class:`Download` records with monotonic times in nanoseconds, and bytes against time where asked for.

A client keeps ``parallel_streams`` downloads under way. It opens them one after the other: the next when tor
has told of the last, so that streams stand on a circuit in the order of their numbers. Each is a SOCKS
connection of its own, from a port that its number is known by.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from python_socks import ProxyConnectionError, ProxyError, ProxyTimeoutError, ProxyType
from python_socks.async_.asyncio import Proxy

from torsweep.engines.loopback.addresses import SOCKS_PORT, STREAM_PORTS
from torsweep.engines.loopback.control import StreamDesk
from torsweep.engines.loopback.layout import Layout
from torsweep.engines.loopback.servers import request
from torsweep.engines.run_spec import RunTraffic
from torsweep.network.model import Client
from torsweep.seeds import stream

SOCKS_LIMIT_S = 130.0
"""tor gives a SOCKS request up after 120 s (SocksTimeout) and says so."""

READ_BYTES = 64 * 1024
PROGRESS_STEP_NS = 1_000_000
"""A point of progress is at least so long after the last one, but for the first and the last."""

PASSWORD = "torsweep"
"""SOCKS has no user name without one; tor takes any."""


@dataclass
class Download:
    """One download; times are monotonic nanoseconds, None for what it never reached."""

    client: Client
    number: int
    server: str
    wanted: int
    start_ns: int
    socks_reply_ns: int | None = None
    command_ns: int | None = None
    first_byte_ns: int | None = None
    last_byte_ns: int | None = None
    end_ns: int | None = None
    got: int = 0
    outcome: str = "unfinished"
    error: str | None = None
    circuit: int | None = None
    progress: list[tuple[int, int]] = field(default_factory=list)


class Generator:
    """The traffic of all clients of a run."""

    def __init__(
        self, layout: Layout, desks: Mapping[str, StreamDesk], start_ns: int, *, progress: bool
    ) -> None:
        self.downloads: list[Download] = []
        self._layout = layout
        self._desks = desks
        self._start_ns = start_ns
        self._end_ns = start_ns + layout.run.duration_ns
        self._progress = progress

    async def run(self) -> None:
        """Download until the end, or until no client has anything left to do before it."""
        clients = [asyncio.ensure_future(self._client(client)) for client in self._layout.network.clients]
        try:
            async with asyncio.timeout((self._end_ns - time.monotonic_ns()) / 1e9):
                await asyncio.gather(*clients)
        except TimeoutError:
            pass
        finally:
            for task in clients:
                task.cancel()
            await asyncio.gather(*clients, return_exceptions=True)
            self._settle()

    def _settle(self) -> None:
        """The downloads under way are cut off here."""
        for download in self.downloads:
            if download.end_ns is None:
                download.end_ns = min(time.monotonic_ns(), self._end_ns)
            download.circuit = self._desks[download.client.name].circuit_of.get(download.number)

    async def _client(self, client: Client) -> None:
        run = self._layout.run
        window_ns = max(1, run.client_start_window_ns)
        first_ns = int(stream(run.seed, "loopback", "client start", client.name).integers(window_ns))
        await self._sleep_until(self._start_ns + first_ns)
        opening = asyncio.Lock()
        count = run.traffic[client.kind].parallel_streams
        lanes = [asyncio.ensure_future(self._lane(client, opening)) for _ in range(count)]
        try:
            await asyncio.gather(*lanes)
        finally:
            for lane in lanes:
                lane.cancel()
            await asyncio.gather(*lanes, return_exceptions=True)

    async def _lane(self, client: Client, opening: asyncio.Lock) -> None:
        """One download after the other, with a pause between them."""
        while True:
            async with opening:
                download = self._next_download(client)
                task = asyncio.ensure_future(self._download(download))
                try:
                    await self._known_to_tor(download, task)
                except asyncio.CancelledError:
                    task.cancel()
                    raise
            try:
                await task
            finally:
                task.cancel()
            again_ns = time.monotonic_ns() + self._pause_ns(download)
            if again_ns >= self._end_ns:
                return
            await self._sleep_until(again_ns)

    def _next_download(self, client: Client) -> Download:
        run = self._layout.run
        number = 1 + sum(download.client is client for download in self.downloads)
        servers = self._layout.network.servers
        choice = int(stream(run.seed, "loopback", "server", client.name, number).integers(len(servers)))
        download = Download(
            client, number, servers[choice].name, run.traffic[client.kind].response_bytes, time.monotonic_ns()
        )
        self.downloads.append(download)
        return download

    def _pause_ns(self, download: Download) -> int:
        run = self._layout.run
        traffic = run.traffic[download.client.kind]
        steps = (traffic.think_max_ns - traffic.think_min_ns) // traffic.think_step_ns
        draws = stream(run.seed, "loopback", "think", download.client.name, download.number)
        return traffic.think_min_ns + traffic.think_step_ns * int(draws.integers(steps + 1))

    async def _known_to_tor(self, download: Download, task: asyncio.Future[Any]) -> None:
        """Until tor tells of the stream, or the download is over without."""
        loop, told = asyncio.get_running_loop(), asyncio.Event()
        desk = self._desks[download.client.name]

        def tell(number: int) -> None:
            if number == download.number:
                loop.call_soon_threadsafe(told.set)

        desk.on_new = tell
        waiting: asyncio.Future[Any] = asyncio.ensure_future(told.wait())
        try:
            await asyncio.wait([waiting, task], return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()

    async def _download(self, download: Download) -> None:
        traffic = self._layout.run.traffic[download.client.kind]
        limit_s = None if traffic.timeout_ns is None else traffic.timeout_ns / 1e9
        desk = self._desks[download.client.name]
        try:
            async with asyncio.timeout(limit_s):
                await self._transfer(download, traffic)
            download.outcome = "complete"
        except (ProxyError, ProxyTimeoutError, ProxyConnectionError, ConnectionError) as error:
            download.outcome = "failed"
            download.error = desk.error_of.get(download.number) or str(error) or type(error).__name__
        except TimeoutError:
            download.outcome, download.error = "timeout", "time limit"
        download.end_ns = time.monotonic_ns()

    async def _transfer(self, download: Download, traffic: RunTraffic) -> None:
        loop = asyncio.get_running_loop()
        address = self._layout.block.address(download.client.node)
        endpoint = self._layout.server_endpoint(download.server)
        connection = await self._open(download, address, endpoint)
        try:
            download.socks_reply_ns = download.command_ns = time.monotonic_ns()
            await loop.sock_sendall(connection, request(traffic.request_bytes, download.wanted))
            buffer = bytearray(READ_BYTES)
            while download.got < download.wanted:
                size = await loop.sock_recv_into(connection, buffer)
                if size == 0:
                    raise ConnectionError("the stream was closed before its end")
                self._note(download, size, time.monotonic_ns())
        finally:
            connection.close()

    async def _open(self, download: Download, address: str, endpoint: tuple[str, int]) -> socket.socket:
        """A connection for ``download``, from a port that no connection of a moment ago still has."""
        desk = self._desks[download.client.name]
        for _ in STREAM_PORTS:
            try:
                source = (address, desk.port_for(download.number))
                return await connect(source, endpoint, SOCKS_LIMIT_S)
            except ProxyConnectionError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
        raise ConnectionError("every port for downloads is in use")

    def _note(self, download: Download, size: int, now_ns: int) -> None:
        """Account for ``size`` more bytes."""
        download.got += size
        whole = download.got >= download.wanted
        if download.first_byte_ns is None:
            download.first_byte_ns = now_ns
        if whole:
            download.last_byte_ns = now_ns
        points = download.progress
        if self._progress and (whole or not points or now_ns - points[-1][0] >= PROGRESS_STEP_NS):
            points.append((now_ns, download.got))

    async def _sleep_until(self, moment_ns: int) -> None:
        await asyncio.sleep(max(0, moment_ns - time.monotonic_ns()) / 1e9)


async def connect(source: tuple[str, int], endpoint: tuple[str, int], limit_s: float) -> socket.socket:
    """A connection to ``endpoint`` through the SOCKS port at the address ``source``, and from there.

    The user name is the port: where streams are isolated, no two share a circuit. Raises ProxyError when tor
    refuses the request, ProxyTimeoutError after ``limit_s``, OSError when nothing listens.
    """
    address, port = source
    proxy = Proxy(ProxyType.SOCKS5, address, SOCKS_PORT, username=str(port), password=PASSWORD, rdns=False)
    return await proxy.connect(*endpoint, timeout=limit_s, local_addr=source)


async def fetch(address: str, endpoint: tuple[str, int], wanted: int, limit_s: float) -> bool:
    """Whether ``wanted`` bytes came through the client at ``address`` within ``limit_s``."""
    loop = asyncio.get_running_loop()
    with contextlib.suppress(ProxyError, ProxyTimeoutError, OSError, TimeoutError):
        async with asyncio.timeout(limit_s):
            connection = await connect((address, 0), endpoint, limit_s)
            try:
                await loop.sock_sendall(connection, request(64, wanted))
                while wanted > 0:
                    size = len(await loop.sock_recv(connection, READ_BYTES))
                    if size == 0:
                        return False
                    wanted -= size
            finally:
                connection.close()
            return True
    return False
