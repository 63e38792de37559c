"""The downloads of a run: which comes next at a client, and what became of each.

In: a run and its network, a client's number. Out: :class:`Download` records with monotonic times in
nanoseconds, and bytes against time where asked for; pauses. Servers and pauses are drawn as in the other
engines (:mod:`torsweep.engines.draws`).
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from torsweep.engines.draws import pause_ns, server_index
from torsweep.engines.run_spec import RunSpec
from torsweep.network.model import Client, Network, Server

PROGRESS_STEP_NS = 1_000_000
"""The least time between two points of progress, except for the first and the last."""


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

    def take_in(self, size: int, now_ns: int, *, progress: bool) -> None:
        """``size`` more bytes have come; with ``progress``, some such moments are kept."""
        self.got += size
        whole = self.got >= self.wanted
        if self.first_byte_ns is None:
            self.first_byte_ns = now_ns
        if whole:
            self.last_byte_ns = now_ns
        points = self.progress
        if progress and (whole or not points or now_ns - points[-1][0] >= PROGRESS_STEP_NS):
            points.append((now_ns, self.got))


class DownloadOrder:
    """What each client downloads, one after the other; ``opened`` holds all downloads so far."""

    def __init__(self, run: RunSpec, network: Network) -> None:
        self.opened: list[Download] = []
        self._run = run
        self._network = network
        self._counts: dict[int, int] = {}

    def open_next(self, index: int) -> Download:
        """The next download of client number ``index`` (from 0), which starts now."""
        client, servers = self._network.clients[index], self._network.servers
        number = self._counts[index] = self._counts.get(index, 0) + 1
        server = servers[server_index(self._run.seed, index, number, len(servers))]
        wanted = self._run.traffic[client.kind].response_bytes
        download = Download(client, number, server, wanted, time.monotonic_ns())
        self.opened.append(download)
        return download

    def pause_ns(self, index: int, download: Download) -> int:
        """How long client number ``index`` waits after ``download``."""
        traffic = self._run.traffic[download.client.kind]
        least, most, step = traffic.think_min_ns, traffic.think_max_ns, traffic.think_step_ns
        return pause_ns(self._run.seed, index, download.number, least, most, step)
