"""The measured part of a run: clients that download until it ends, and the times that they measured.

In: a network that is ready. Out: :class:`MeasuredRun`, what was seen from time 0 to the end.

A client keeps ``parallel_streams`` downloads under way. It opens the next when tor has reported the one
before, so that a circuit has its streams in the order of their numbers. A client that loads a page opens
the first object, and when that has ended, ``parallel_streams`` chains of the others.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from torsweep.engines.cost_tables import Cost, cost_of
from torsweep.engines.draws import client_start_ns
from torsweep.engines.emulation.control import ClientFollower, Unfollowed
from torsweep.engines.emulation.downloads import (
    Download,
    DownloadOrder,
    LoopbackPort,
    SocksError,
    connect,
    request,
)
from torsweep.engines.emulation.network import RunningNetwork
from torsweep.engines.emulation.pace import Pace
from torsweep.engines.emulation.process_layout import ProcessLayout
from torsweep.engines.emulation.processes import all_of, sleep_until
from torsweep.engines.emulation.programs import RunningPrograms, capture_command
from torsweep.engines.host_files import SERVER_PORT, server_name
from torsweep.engines.programs import captures, host_programs
from torsweep.engines.run_spec import RunTraffic
from torsweep.network.model import Client
from torsweep.units import SECOND_NS

READ_BYTES = 64 * 1024


class Generator:
    """The traffic of all clients of a run. ``received`` has payload bytes by second and kind of client."""

    def __init__(
        self,
        layout: ProcessLayout,
        followers: Mapping[str, ClientFollower | Unfollowed],
        start_ns: int,
        *,
        progress: bool,
    ) -> None:
        self.received: Counter[tuple[int, str]] = Counter()
        self._order = DownloadOrder(layout.run, layout.network)
        self._layout = layout
        self._followers = followers
        self._opening = {name: asyncio.Lock() for name in followers}
        self._start_ns = start_ns
        self._end_ns = start_ns + layout.run.duration_ns
        self._progress = progress
        network = layout.network
        self._name_of = {
            (client.kind, server.name): server_name(network, server, client.kind)
            for client in network.clients
            for server in network.servers_of(client)
        }

    @property
    def downloads(self) -> list[Download]:
        """All downloads so far, in the order in which they were opened."""
        return self._order.opened

    async def run(self) -> None:
        """Download until the end, or until no client has anything left to do before it."""
        clients = enumerate(self._layout.network.clients)
        try:
            async with asyncio.timeout((self._end_ns - time.monotonic_ns()) / 1e9):
                await all_of(self._client(index, client) for index, client in clients)
        except TimeoutError:
            pass
        finally:
            self._settle()

    def _settle(self) -> None:
        """The downloads under way are cut off here."""
        for download in self.downloads:
            if download.end_ns is None:
                download.end_ns = min(time.monotonic_ns(), self._end_ns)
            download.circuit = self._follower(download).circuit_of.get(download.tag)

    def _follower(self, download: Download) -> ClientFollower | Unfollowed:
        """The follower of the tor that carries ``download``."""
        return self._followers[download.client.tor or download.client.name]

    async def _client(self, index: int, client: Client) -> None:
        run = self._layout.run
        first_ns = client_start_ns(run.seed, index, run.client_start_window_ns)
        await sleep_until(self._start_ns + first_ns)
        opening, traffic = self._opening[client.tor or client.name], run.traffic[client.kind]
        if traffic.has_pages:
            await self._pages(index, opening, traffic.parallel_streams)
        else:
            await all_of(self._lane(index, opening) for _ in range(traffic.parallel_streams))

    async def _lane(self, index: int, opening: asyncio.Lock) -> None:
        """One download after the other, with a pause between them."""
        going_on = True
        while going_on:
            download = await self._get(opening, lambda: self._order.open_next(index))
            going_on = await self._pause(index, download.number)

    async def _pages(self, index: int, opening: asyncio.Lock, parallel: int) -> None:
        """One page after the other: the first object, then lanes of the others, then a pause."""

        async def objects(page: int, numbers: Iterable[int]) -> None:
            for which in numbers:
                await self._get(opening, partial(self._order.open_object, index, page, which))

        page, going_on = 0, True
        while going_on:
            page += 1
            end = self._order.objects(index, page) + 1
            await objects(page, [1])
            await all_of(objects(page, range(2 + lane, end, parallel)) for lane in range(parallel))
            going_on = await self._pause(index, page)

    async def _get(self, opening: asyncio.Lock, open_next: Callable[[], Download]) -> Download:
        """The download that ``open_next`` opens, when it has ended; others wait until tor knows of it."""
        async with opening:
            download = open_next()
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
        return download

    async def _pause(self, index: int, number: int) -> bool:
        """Wait after the client's download, or page, ``number``; False when the run ends before that."""
        again_ns = time.monotonic_ns() + self._order.pause_ns(index, number)
        if again_ns >= self._end_ns:
            return False
        await sleep_until(again_ns)
        return True

    async def _known_to_tor(self, download: Download, task: asyncio.Future[Any]) -> None:
        """Wait until tor reports the stream, or until the download is over without such a report."""
        reported, follower = asyncio.Event(), self._follower(download)
        if isinstance(follower, Unfollowed):
            return

        def tell(number: int) -> None:
            if number == download.tag:
                reported.set()

        follower.on_new = tell
        waiting: asyncio.Future[Any] = asyncio.ensure_future(reported.wait())
        try:
            await asyncio.wait([waiting, task], return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()

    async def _download(self, download: Download) -> None:
        traffic = self._layout.run.traffic[download.client.kind]
        limit_s = None if traffic.timeout_ns is None else traffic.timeout_ns / 1e9
        follower = self._follower(download)
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
                reason = follower.error_of.get(download.tag)
                download.error = reason or str(error) or type(error).__name__
        download.end_ns = time.monotonic_ns()

    async def _transfer(self, download: Download, traffic: RunTraffic) -> None:
        loop = asyncio.get_running_loop()
        follower = self._follower(download)
        where = self._name_of[download.client.kind, download.server.name]
        socks: Path | LoopbackPort = self._layout.socks(download.client.name)
        name = str(download.tag)
        if isinstance(follower, Unfollowed):
            socks, name = follower.socks, name if follower.isolated else download.client.name
        connection = await connect(socks, where, SERVER_PORT, name)
        try:
            download.socks_reply_ns = download.command_ns = time.monotonic_ns()
            await loop.sock_sendall(connection, request(traffic.request_bytes, download.size))
            buffer = bytearray(READ_BYTES)
            while download.got < download.size:
                size = await loop.sock_recv_into(connection, buffer)
                if size == 0:
                    raise ConnectionError("the stream was closed before its end")
                now_ns = time.monotonic_ns()
                download.take_in(size, now_ns, progress=self._progress)
                self.received[(now_ns - self._start_ns) // SECOND_NS, download.client.kind] += size
        finally:
            connection.close()


SAY_S = 10.0
LAST_SECOND_S = 1.1
LEAD_S = 0.5
"""Seconds between the end of preparations and the time that counts as 0."""


@dataclass(frozen=True)
class MeasuredRun:
    """Monotonic times in ns of what counts as 0 and of the end; the downloads; who waited for processors.

    ``zero`` is time 0 by the local clock, as tor's logs have it. ``received`` has the payload bytes by second
    and kind of client. ``costs`` is what each tor took from time 0 on; memory is that of its whole life.
    """

    zero_ns: int
    end_ns: int
    downloads: list[Download]
    pace: Pace
    zero: datetime
    received: Mapping[tuple[int, str], int]
    costs: Mapping[str, Cost]
    programs: RunningPrograms


async def measure(running: RunningNetwork) -> MeasuredRun:
    """Let the clients download until the end of the run; raise what ended it before, such as FellBehind."""
    run, before = running.layout.run, _costs(running)
    zero_ns = time.monotonic_ns() + int(LEAD_S * 1e9)
    zero = datetime.now() + timedelta(seconds=LEAD_S)
    generator = Generator(running.layout, running.followers, zero_ns, progress=run.tables.progress)
    pace = Pace({name: child.handle.pid for name, child in running.children.items()}, running.tally)
    fingerprints = running.identities.relays
    filled = host_programs(
        run, running.layout.network, running.layout.folder.parent, fingerprints, zero.timestamp()
    )
    captured = captures(run, capture_command() if run.tracing and run.tracing.packets else ())
    programs = RunningPrograms(running, [*filled, *captured], zero_ns)
    traffic = asyncio.ensure_future(generator.run())
    # The others only end by themselves when something has gone wrong.
    others = [
        asyncio.ensure_future(_watch(running, generator, pace, programs)),
        asyncio.ensure_future(programs.run()),
    ]
    try:
        await asyncio.wait([traffic, *others], return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (*others, traffic):
            task.cancel()
        await asyncio.gather(traffic, *others, return_exceptions=True)
    for task in others:
        if not task.cancelled():
            task.result()
    traffic.result()
    end_ns = min(time.monotonic_ns(), zero_ns + run.duration_ns)
    # Relays have not reported the second that contains the end yet.
    await asyncio.sleep(LAST_SECOND_S)
    # If all downloads fail at once, the run ends before the watch has looked for the reason.
    running.processes.check()
    programs.require_ended()
    costs = {
        name: replace(cost, cpu_us=cost.cpu_us - before[name].cpu_us)
        for name, cost in _costs(running).items()
    }
    return MeasuredRun(zero_ns, end_ns, generator.downloads, pace, zero, generator.received, costs, programs)


def _costs(running: RunningNetwork) -> dict[str, Cost]:
    names = [place.name for place in running.layout.places]
    costs = {name: cost_of(running.children[name].handle.pid) for name in names}
    return {name: cost for name, cost in costs.items() if cost is not None}


async def _watch(
    running: RunningNetwork, generator: Generator, pace: Pace, programs: RunningPrograms
) -> None:
    """Each second look after processes, programs and pace, ask for queues; say now and then how far it is."""
    zero_ns = programs.zero_ns
    duration_s = running.layout.run.duration_ns / 1e9
    second, reported_s = 0, time.monotonic()
    pace.look()
    whole_s = (zero_ns - pace.began_ns) / 1e9 + duration_s
    while True:
        second += 1
        await sleep_until(zero_ns + second * SECOND_NS)
        running.processes.check()
        programs.check()
        await asyncio.gather(*(meter.ask_for_queues() for meter in running.meters.values()))
        pace.look()
        pace.refuse_when_late(running.layout.folder, whole_s)
        if time.monotonic() - reported_s >= SAY_S:
            reported_s = time.monotonic()
            done = sum(download.outcome == "complete" for download in generator.downloads)
            megabytes = sum(download.got for download in generator.downloads) / 1e6
            running.say(
                f"{(time.monotonic_ns() - zero_ns) / 1e9:.0f} of at most {duration_s:.0f} s, {done} of"
                f" {len(generator.downloads)} downloads complete, {megabytes:.1f} MB"
            )
