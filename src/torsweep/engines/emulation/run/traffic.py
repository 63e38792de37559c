"""Clients that download, and what they saw.

In: the layout, a :class:`~torsweep.engines.emulation.run.desk.Desk` for each client, the time that counts
as 0. Out: :class:`Download` records with monotonic times in nanoseconds, and bytes against time where asked
for.

A client keeps ``parallel_streams`` downloads under way. It opens them one after the other: the next when
tor has told of the last, so that streams stand on a circuit in the order of their numbers. Starts, servers
and pauses are drawn as in the other engines (:mod:`torsweep.engines.draws`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from torsweep.engines.addresses import SERVER_PORT, address
from torsweep.engines.draws import client_start_ns, pause_ns, server_index
from torsweep.engines.emulation.directory.layout import Layout
from torsweep.engines.emulation.run.desk import Desk
from torsweep.engines.emulation.run.servers import request
from torsweep.engines.emulation.run.socks import SocksError, connect
from torsweep.engines.run_spec import RunTraffic
from torsweep.network.model import Client, Server

READ_BYTES = 64 * 1024
PROGRESS_STEP_NS = 1_000_000
"""A point of progress is at least so long after the last one, but for the first and the last."""


@dataclass
class Download:
    """One download; times are monotonic nanoseconds, None for what it never reached."""

    client: Client
    number: int
    server: Server
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

    def __init__(self, layout: Layout, desks: Mapping[str, Desk], start_ns: int, *, progress: bool) -> None:
        self.downloads: list[Download] = []
        self._layout = layout
        self._desks = desks
        self._start_ns = start_ns
        self._end_ns = start_ns + layout.run.duration_ns
        self._progress = progress
        self._opened: dict[str, int] = {}

    async def run(self) -> None:
        """Download until the end, or until no client has anything left to do before it."""
        clients = [
            asyncio.ensure_future(self._client(index, client))
            for index, client in enumerate(self._layout.network.clients)
        ]
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

    async def _client(self, index: int, client: Client) -> None:
        run = self._layout.run
        first_ns = client_start_ns(run.seed, index, run.client_start_window_ns)
        await self._sleep_until(self._start_ns + first_ns)
        opening = asyncio.Lock()
        count = run.traffic[client.kind].parallel_streams
        lanes = [asyncio.ensure_future(self._lane(index, client, opening)) for _ in range(count)]
        try:
            await asyncio.gather(*lanes)
        finally:
            for lane in lanes:
                lane.cancel()
            await asyncio.gather(*lanes, return_exceptions=True)

    async def _lane(self, index: int, client: Client, opening: asyncio.Lock) -> None:
        """One download after the other, with a pause between them."""
        while True:
            async with opening:
                download = self._next_download(index, client)
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
            again_ns = time.monotonic_ns() + self._pause_ns(index, download)
            if again_ns >= self._end_ns:
                return
            await self._sleep_until(again_ns)

    def _next_download(self, index: int, client: Client) -> Download:
        run, servers = self._layout.run, self._layout.network.servers
        number = self._opened[client.name] = self._opened.get(client.name, 0) + 1
        server = servers[server_index(run.seed, index, number, len(servers))]
        wanted = run.traffic[client.kind].response_bytes
        download = Download(client, number, server, wanted, time.monotonic_ns())
        self.downloads.append(download)
        return download

    def _pause_ns(self, index: int, download: Download) -> int:
        run = self._layout.run
        traffic = run.traffic[download.client.kind]
        least, most, step = traffic.think_min_ns, traffic.think_max_ns, traffic.think_step_ns
        return pause_ns(run.seed, index, download.number, least, most, step)

    async def _known_to_tor(self, download: Download, task: asyncio.Future[Any]) -> None:
        """Until tor tells of the stream, or the download is over without."""
        told, desk = asyncio.Event(), self._desks[download.client.name]

        def tell(number: int) -> None:
            if number == download.number:
                told.set()

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
        except (SocksError, OSError) as error:
            # A time limit is an OSError too.
            if isinstance(error, TimeoutError):
                download.outcome, download.error = "timeout", "time limit"
            else:
                download.outcome = "failed"
                told = desk.error_of.get(download.number)
                download.error = told or str(error) or type(error).__name__
        download.end_ns = time.monotonic_ns()

    async def _transfer(self, download: Download, traffic: RunTraffic) -> None:
        loop = asyncio.get_running_loop()
        place = self._layout.clients[self._layout.network.clients.index(download.client)]
        where = address(download.server.node)
        connection = await connect(place.socks, where, SERVER_PORT, str(download.number))
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
