"""What a plan compares, in which order, and on which network."""

from __future__ import annotations

import asyncio
import os
import socket
from collections import Counter
from pathlib import Path

import pytest

from tests.stand_ins import stand_in_tor
from torsweep.chain.measuring import load, small_requests, usage_of
from torsweep.chain.turns import (
    CLIENT_NAME,
    ChainNetwork,
    clocks_plan,
    network_of,
    quantum_plan,
    run_of,
    tracing_plan,
    turns,
)
from torsweep.engines.emulation.downloads import answer
from torsweep.engines.emulation.process_layout import Identities, ProcessLayout
from torsweep.engines.emulation.processes import ProcessSet
from torsweep.engines.host_tors import HostTors

PLANS = {"clocks": clocks_plan(28), "tracing": tracing_plan(), "quantum": quantum_plan()}


@pytest.fixture(params=PLANS)
def plan(request):
    return PLANS[request.param]


def running(plan, folder: Path, rounds: int = 2) -> ChainNetwork:
    chains = plan.chains(rounds)
    layout = ProcessLayout(run_of(plan, chains, 60.0), network_of(plan, chains), folder, folder)
    tors = HostTors(stand_in_tor(folder))
    return ChainNetwork(layout, tors, folder, {}, ProcessSet(), print, 0.0, variants=plan.variant_of(chains))


def test_each_variant_has_relays_of_its_own_in_each_round(plan):
    chains = plan.chains(3)
    assert len(chains) == 3 * len(plan.variants)
    own = [chain.relays[1] if plan.shared_ends else chain.relays for chain in chains]
    assert len(set(own)) == len(chains)
    variants = plan.variant_of(chains)
    for chain in chains:
        assert variants[chain.relays[1]] is chain.variant
        assert (chain.relays[0] in variants) != plan.shared_ends


def test_turns_go_forwards_and_backwards_and_each_variant_is_first_once():
    plan = tracing_plan()
    order = [turn[0] for turn in turns(plan.chains(2), together=False)]
    assert [chain.variant.name for chain in order] == [
        *("off", "every_cell", "one_in_10", "round_trips", "round_trips", "one_in_10", "every_cell", "off"),
        *("every_cell", "one_in_10", "round_trips", "off", "off", "round_trips", "one_in_10", "every_cell"),
    ]
    assert [chain.number for chain in order] == [1] * 8 + [2] * 8


def test_what_is_measured_together_has_one_turn_for_all():
    plan = quantum_plan()
    order = list(turns(plan.chains(2), together=True))
    assert [len(turn) for turn in order] == [len(plan.variants)] * 4
    middles = Counter(chain.relays[1] for turn in order for chain in turn)
    assert middles == {chain.relays[1]: 2 for chain in plan.chains(2)}


def test_a_client_has_a_path_for_each_stream_of_each_turn(plan):
    chains = plan.chains(2)
    run = run_of(plan, chains, 60.0)
    order = [chain.relays for turn in turns(chains, together=plan.together) for chain in turn]
    count = plan.streams
    assert run.paths[CLIENT_NAME][::count] == tuple(order)
    assert len(run.paths[CLIENT_NAME]) == count * len(order)


def test_relays_are_where_their_chains_need_them(plan):
    chains = plan.chains(2)
    seats = {relay.name: relay.position for relay in network_of(plan, chains).relays}
    for chain in chains:
        assert [seats[relay] for relay in chain.relays] == ["guard", "middle", "exit"]


def test_only_a_relay_with_a_variant_has_its_environment_and_its_lines(tmp_path):
    network = running(tracing_plan(), tmp_path)
    off, on = network.layout.relays[1], network.layout.relays[4]
    assert network.lines_of(off) == ()
    assert network.lines_of(on)[0] == f"CellTraceFile {on.ring}"
    slow = running(clocks_plan(28), tmp_path)
    guard, *middles = (place for place in slow.layout.relays if place.name != "relay2")
    assert "TOR_MONOTIME_SYSTEM_CALLS" not in slow.environment_of(guard)
    told = [slow.environment_of(place)["TOR_MONOTIME_SYSTEM_CALLS"] for place in middles[:5]]
    assert told == ["0", "0", "1", "1", "28"]
    clocks = [slow.environment_of(place)["TOR_MONOTIME_COARSE_CLOCK"] for place in middles[:5]]
    assert clocks == ["coarse", "precise", "coarse", "precise", "precise"]


def test_a_bucket_binds_in_the_middle_alone(tmp_path):
    layout = running(quantum_plan(), tmp_path).layout
    names = [place.name for place in [*layout.relays, *layout.authorities]]
    identities = Identities(dict.fromkeys(names, "A" * 40), dict.fromkeys(names, "B" * 40))
    rates = {
        place.name: line
        for place in layout.relays
        for line in layout.torrc(place, identities).splitlines()
        if line.startswith("BandwidthRate")
    }
    assert rates["relay1"] == rates["relay2"] == "BandwidthRate 1000000000 bytes"
    assert {rate for name, rate in rates.items() if name not in ("relay1", "relay2")} == {
        "BandwidthRate 204800 bytes"
    }


async def _served(do) -> object:
    """What ``do`` makes of a socket whose other end is a server."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    reader, writer = await asyncio.open_connection(sock=theirs)
    serving = asyncio.ensure_future(answer(reader, writer))
    try:
        return await do(ours)
    finally:
        ours.close()
        await serving


def test_small_requests_are_one_after_the_other_and_at_least_one():
    took = asyncio.run(_served(lambda connection: small_requests(connection, 0.0)))
    assert len(took) == 1
    assert took[0] > 0


def test_a_load_that_is_closed_is_an_error():
    async def closed() -> None:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        theirs.shutdown(socket.SHUT_WR)
        with ours, theirs:
            await load(ours)

    with pytest.raises(ConnectionError, match="before its end"):
        asyncio.run(closed())


def test_a_relay_that_counts_no_readings_has_none():
    class Control:
        async def ask(self, command):
            return ["traffic/read=70", "traffic/written=60"]

        async def value(self, key):
            return self.told

    control = Control()
    for told, readings in (("", (0, 0)), ("precise=3 coarse=40", (3, 40))):
        control.told = told
        account = asyncio.run(usage_of(control, os.getpid()))
        assert (account.read, account.written) == (70, 60)
        assert (account.precise, account.coarse) == readings
