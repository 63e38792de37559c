"""One turn after the other: small requests through a chain, then as much as it carries.

In: a loopback network that is ready, its chains in order. Out: :class:`Sample` s, one a relay, chain and
turn: what the relay used, moved and asked the clock while the load lasted, and how long small requests took.
"""

from __future__ import annotations

import asyncio
import socket
import statistics
from dataclasses import dataclass

from torsweep.engines.addresses import SERVER_PORT, address
from torsweep.engines.emulation.run.control import close_quietly
from torsweep.engines.emulation.run.socks import connect
from torsweep.errors import TorsweepError
from torsweep.loopback.account import Account, account_of
from torsweep.loopback.network import (
    LoopbackNetwork,
    streams_of,
)
from torsweep.loopback.plan import CLIENT, POSITIONS, Chain, Plan
from torsweep.loopback.requests import load, small_requests


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


class Measuring:
    """Measures the chains of one network; streams are numbered in the order of opening."""

    def __init__(self, running: LoopbackNetwork, plan: Plan, lengths: Lengths) -> None:
        self._running = running
        self._plan = plan
        self._lengths = lengths
        self._opened = 0
        self._turn = 0

    async def turn(self, chains: tuple[Chain, ...]) -> list[Sample]:
        """Load ``chains`` at once; each takes the next paths of the client's.

        Small requests before the load are made on one chain after the other, while nothing else runs.
        """
        self._turn += 1
        opened: list[list[socket.socket]] = []
        try:
            for chain in chains:
                opened.append([await self._open(chain) for _ in range(streams_of(self._plan))])
            if self._plan.small_beside:
                work = [self._with_requests_beside(*each) for each in zip(chains, opened, strict=True)]
            else:
                small = [await small_requests(own[0], self._lengths.small_s) for own in opened]
                work = [self._after_requests(*each) for each in zip(chains, opened, small, strict=True)]
            measured = await asyncio.gather(*work)
        finally:
            for connection in (connection for of_chain in opened for connection in of_chain):
                connection.close()
        await self._close_circuits()
        self._running.processes.check()
        return [sample for samples in measured for sample in samples]

    async def _open(self, chain: Chain) -> socket.socket:
        """A connection to the server through the relays of ``chain``."""
        layout, self._opened = self._running.layout, self._opened + 1
        where = address(layout.network.servers[0].node)
        connection = await connect(layout.clients[0].socks, where, SERVER_PORT, str(self._opened))
        desk = self._running.desks[CLIENT]
        path = desk.circuits[desk.circuit_of[self._opened]].path
        if path != ",".join(chain.relays):
            connection.close()
            raise TorsweepError(f"stream {self._opened} went by {path}, not by {','.join(chain.relays)}")
        return connection

    async def _close_circuits(self) -> None:
        """Close the circuits of this turn, so that none disturbs the next turn."""
        control = self._running.controls[CLIENT]
        for seen in list(self._running.desks[CLIENT].circuits.values()):
            if seen.closed_ns is None:
                await close_quietly(control, f"CLOSECIRCUIT {seen.number}")

    async def _with_requests_beside(self, chain: Chain, connections: list[socket.socket]) -> list[Sample]:
        asking, *loading = connections
        small = asyncio.ensure_future(self._small_beside(asking))
        accounts = await self._under_load(chain, loading)
        return self._samples(chain, accounts, await small)

    async def _after_requests(
        self, chain: Chain, connections: list[socket.socket], took_ns: list[int]
    ) -> list[Sample]:
        return self._samples(chain, await self._under_load(chain, connections), took_ns)

    def _samples(
        self, chain: Chain, accounts: list[tuple[Account, Account]], took_ns: list[int]
    ) -> list[Sample]:
        return [
            self._sample(chain, position, relay, *account, took_ns)
            for position, relay, account in zip(POSITIONS, chain.relays, accounts, strict=True)
        ]

    async def _small_beside(self, connection: socket.socket) -> list[int]:
        """Small requests as long as the load counts."""
        await asyncio.sleep(self._plan.ramp_s)
        return await small_requests(connection, self._lengths.load_s)

    async def _under_load(
        self, chain: Chain, connections: list[socket.socket]
    ) -> list[tuple[Account, Account]]:
        """The accounts of the relays of ``chain`` at both ends of the time that counts."""
        loads = [asyncio.ensure_future(load(connection)) for connection in connections]
        try:
            await asyncio.sleep(self._plan.ramp_s)
            before = await asyncio.gather(*(self._account(relay) for relay in chain.relays))
            await asyncio.sleep(self._lengths.load_s)
            after = await asyncio.gather(*(self._account(relay) for relay in chain.relays))
        finally:
            for load in loads:
                load.cancel()
            ended = await asyncio.gather(*loads, return_exceptions=True)
        for end in ended:
            if isinstance(end, Exception):
                raise end
        return list(zip(before, after, strict=True))

    async def _account(self, relay: str) -> Account:
        return await account_of(self._running.controls[relay], self._running.children[relay].handle.pid)

    def _sample(
        self,
        chain: Chain,
        position: str,
        relay: str,
        before: Account,
        after: Account,
        took_ns: list[int],
    ) -> Sample:
        return Sample(
            round=chain.number,
            turn=self._turn,
            variant=chain.variant.name,
            position=position,
            relay=relay,
            span_s=(after.at_ns - before.at_ns) / 1e9,
            cpu_s=(after.cpu_ns - before.cpu_ns) / 1e9,
            bytes_read=after.read - before.read,
            bytes_written=after.written - before.written,
            readings_precise=after.precise - before.precise,
            readings_coarse=after.coarse - before.coarse,
            small_requests=len(took_ns),
            small_us=round(statistics.median(took_ns) / 1e3, 1),
        )
