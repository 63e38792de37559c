"""Plans in turns, measured: small requests through a chain, then as much as it carries.

In: a plan, a build of tor. Out: :class:`Sample` s, one per relay, chain and turn, and how many cores
other programs used meanwhile (waiting adds no CPU time, but caches are shared).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import socket
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from torsweep.chain.turns import (
    CLIENT_NAME,
    ENDLESS_BYTES,
    REQUEST_BYTES,
    ChainNetwork,
    RelayChain,
    TurnsPlan,
    network_of,
    run_of,
    turns,
)
from torsweep.engines.circuit_paths import PLACES_OF_A_PATH
from torsweep.engines.contract import Say
from torsweep.engines.cost_tables import PROC, process_cpu_ns
from torsweep.engines.emulation.control import Control, close_quietly
from torsweep.engines.emulation.downloads import connect, request
from torsweep.engines.emulation.pace import busiest, process_times
from torsweep.engines.emulation.process_layout import ProcessLayout
from torsweep.engines.emulation.processes import ProcessSet
from torsweep.engines.emulation.run import READY_LIMIT_S
from torsweep.engines.host_files import SERVER_PORT, address
from torsweep.engines.host_tors import HostTors
from torsweep.errors import TorsweepError
from torsweep.tor.builds import BuiltTor

SETTING_UP_S = 1.0
"""Seconds that a turn may take beside its measured time: enough to build four circuits."""

ANSWER_BYTES = 400
"""Bytes of the answer to a small request: less than a cell holds."""

_READINGS = re.compile(r"precise=(\d+) coarse=(\d+)")


@dataclass(frozen=True)
class Lengths:
    """How long small requests and the load of a turn last, in seconds."""

    small_s: float
    load_s: float


@dataclass(frozen=True)
class Sample:
    """A relay in one turn. ``small_us`` is the median of the turn's small requests, over the whole chain."""

    round: int
    turn: int
    variant: str
    position: str
    relay: str
    span_s: float
    cpu_s: float
    bytes_read: int
    bytes_written: int
    readings_precise: int
    readings_coarse: int
    small_requests: int
    small_us: float


@dataclass(frozen=True)
class TurnSamples:
    """The samples of a plan, and the cores that other programs used meanwhile."""

    samples: list[Sample]
    cores_beside: float


class RelayUsage(NamedTuple):
    """A relay's processor time, bytes and clock readings so far, with the time."""

    at_ns: int
    cpu_ns: int
    read: int
    written: int
    precise: int
    coarse: int


def measure_turns(
    plan: TurnsPlan, rounds: int, folder: Path, tor: BuiltTor, lengths: Lengths, say: Say
) -> TurnSamples:
    """Run ``plan`` in the network namespace of this process, with the processes' files in ``folder``.

    The files of a network that failed stay there to tell why.
    """
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "processes").mkdir(parents=True)
    chains = plan.chains(rounds)
    order = list(turns(chains, together=plan.together))
    run = run_of(plan, chains, len(order) * (lengths.small_s + lengths.load_s + plan.ramp_s + SETTING_UP_S))
    with tempfile.TemporaryDirectory(prefix="torsweep-", ignore_cleanup_errors=True) as sockets:
        running = ChainNetwork(
            ProcessLayout(run, network_of(plan, chains), (folder / "processes").resolve(), Path(sockets)),
            HostTors(tor),
            Path(),
            {},
            ProcessSet(),
            say,
            time.monotonic() + READY_LIMIT_S,
            variants=plan.variant_of(chains),
        )
        try:
            measured = asyncio.run(_live(running, plan, order, lengths))
        finally:
            running.processes.stop()
    shutil.rmtree(folder, ignore_errors=True)
    return measured


async def _live(
    running: ChainNetwork, plan: TurnsPlan, order: Sequence[tuple[RelayChain, ...]], lengths: Lengths
) -> TurnSamples:
    samples: list[Sample] = []
    try:
        await running.bring_up()
        turn = Turns(running, plan, lengths)
        await turn.begin()
        pids = {os.getpid(), *(child.handle.pid for child in running.children.values())}
        began, before = time.monotonic(), process_times(PROC)
        for number, chosen in enumerate(order, 1):
            names = ", ".join(chain.variant.name for chain in chosen)
            running.say(f"turn {number} of {len(order)}, round {chosen[0].number}: {names}")
            samples += await turn.measure(number, chosen)
        others = busiest(before, process_times(PROC), time.monotonic() - began, pids)
        return TurnSamples(samples, sum(other.cores for other in others))
    finally:
        running.close()


class Turns:
    """Measures the chains of one network; streams are numbered in the order of opening."""

    def __init__(self, running: ChainNetwork, plan: TurnsPlan, lengths: Lengths) -> None:
        self._running = running
        self._plan = plan
        self._lengths = lengths
        self._opened = 0
        network = running.layout.network
        self._server = address(network.node_of[network.servers[0].name])

    async def begin(self) -> None:
        """Close the circuits that are ready: one that no stream uses would take cells from the others."""
        await self._running.controls[CLIENT_NAME].ask("SETCONF __DisablePredictedCircuits=1")
        await self._close_circuits()

    async def measure(self, number: int, chains: tuple[RelayChain, ...]) -> list[Sample]:
        """Load ``chains`` at once; each takes the next paths of the client's.

        Small requests before the load are made on one chain after the other, while nothing else runs.
        """
        opened: list[list[socket.socket]] = []
        try:
            for chain in chains:
                opened.append([await self._open(chain) for _ in range(self._plan.streams)])
            before = [
                [] if self._plan.small_beside else await small_requests(connections[0], self._lengths.small_s)
                for connections in opened
            ]
            work = [self._loaded(number, *each) for each in zip(chains, opened, before, strict=True)]
            measured = await asyncio.gather(*work)
        finally:
            for connection in (connection for of_chain in opened for connection in of_chain):
                connection.close()
        await self._close_circuits()
        self._running.processes.check()
        return [sample for samples in measured for sample in samples]

    async def _open(self, chain: RelayChain) -> socket.socket:
        """A connection to the server through the relays of ``chain``."""
        layout, self._opened = self._running.layout, self._opened + 1
        connection = await connect(layout.clients[0].socks, self._server, SERVER_PORT, str(self._opened))
        follower = self._running.followers[CLIENT_NAME]
        path = follower.circuits[follower.circuit_of[self._opened]].path
        if path != ",".join(chain.relays):
            connection.close()
            raise TorsweepError(f"stream {self._opened} went by {path}, not by {','.join(chain.relays)}")
        return connection

    async def _close_circuits(self) -> None:
        """Close the circuits of this turn, so that none disturbs the next turn."""
        control = self._running.controls[CLIENT_NAME]
        for seen in list(self._running.followers[CLIENT_NAME].circuits.values()):
            if seen.closed_ns is None:
                await close_quietly(control, f"CLOSECIRCUIT {seen.number}")

    async def _loaded(
        self, number: int, chain: RelayChain, connections: list[socket.socket], took_ns: list[int]
    ) -> list[Sample]:
        """The samples of ``chain``; its small requests took ``took_ns``, or are made beside its load."""
        if not self._plan.small_beside:
            accounts = await self._under_load(chain, connections)
        else:
            accounts, took_ns = await asyncio.gather(
                self._under_load(chain, connections[1:]), self._small_beside(connections[0])
            )
        small = len(took_ns), round(statistics.median(took_ns) / 1e3, 1)
        return [_sample(number, chain, place, *ends, *small) for place, ends in enumerate(accounts)]

    async def _small_beside(self, connection: socket.socket) -> list[int]:
        """Small requests as long as the load counts."""
        await asyncio.sleep(self._plan.ramp_s)
        return await small_requests(connection, self._lengths.load_s)

    async def _under_load(
        self, chain: RelayChain, connections: list[socket.socket]
    ) -> list[tuple[RelayUsage, RelayUsage]]:
        """The accounts of the relays of ``chain`` at both ends of the time that counts."""
        loads = [asyncio.ensure_future(load(connection)) for connection in connections]
        try:
            await asyncio.sleep(self._plan.ramp_s)
            before = await self._accounts(chain)
            await asyncio.sleep(self._lengths.load_s)
            after = await self._accounts(chain)
        finally:
            for each in loads:
                each.cancel()
            ended = await asyncio.gather(*loads, return_exceptions=True)
        for end in ended:
            if isinstance(end, Exception):
                raise end
        return list(zip(before, after, strict=True))

    async def _accounts(self, chain: RelayChain) -> list[RelayUsage]:
        controls, children = self._running.controls, self._running.children
        return await asyncio.gather(
            *(usage_of(controls[relay], children[relay].handle.pid) for relay in chain.relays)
        )


def _sample(
    turn: int,
    chain: RelayChain,
    place: int,
    before: RelayUsage,
    after: RelayUsage,
    requests: int,
    small_us: float,
) -> Sample:
    took = RelayUsage(*(now - then for then, now in zip(before, after, strict=True)))
    return Sample(
        round=chain.number,
        turn=turn,
        variant=chain.variant.name,
        position=PLACES_OF_A_PATH[place],
        relay=chain.relays[place],
        span_s=took.at_ns / 1e9,
        cpu_s=took.cpu_ns / 1e9,
        bytes_read=took.read,
        bytes_written=took.written,
        readings_precise=took.precise,
        readings_coarse=took.coarse,
        small_requests=requests,
        small_us=small_us,
    )


async def usage_of(control: Control, pid: int) -> RelayUsage:
    """The usage of the relay with the control port ``control`` and the process ``pid``; OSError when it has
    ended."""
    answer = "\n".join(await control.ask("GETINFO traffic/read traffic/written"))
    read, written = (int(value) for value in re.findall(r"traffic/\w+=(\d+)", answer))
    # A relay whose readings are not counted does not answer.
    readings = _READINGS.search(await control.value("clock-readings") or "precise=0 coarse=0")
    precise, coarse = (int(value) for value in readings.groups()) if readings else (0, 0)
    return RelayUsage(time.monotonic_ns(), process_cpu_ns(pid), read, written, precise, coarse)


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
    loop, buffer = asyncio.get_running_loop(), bytearray(256 * 1024)
    with contextlib.suppress(asyncio.CancelledError):
        await loop.sock_sendall(connection, request(REQUEST_BYTES, ENDLESS_BYTES))
        while await loop.sock_recv_into(connection, buffer):
            pass
        raise ConnectionError("a download was closed before its end")
