"""A private network of tor, from its first process to the moment a client has fetched bytes through it.

In: a layout, a build of tor. Out: :class:`RunningNetwork`, whose clients each have downloaded something end
to end and whose relays have come to rest. Every wait has a limit, and ends at once when a process does.
"""

from __future__ import annotations

import asyncio
import functools
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import stem
from stem.control import Controller

from torsweep.engines.loopback import addresses
from torsweep.engines.loopback.control import (
    POLL_S,
    BandwidthMeter,
    StreamDesk,
    consensus_relays,
    known_relays,
    open_control,
)
from torsweep.engines.loopback.keys import authority_lines
from torsweep.engines.loopback.layout import Layout, Place
from torsweep.engines.loopback.processes import Child, ProcessSet
from torsweep.engines.loopback.traffic import fetch
from torsweep.errors import TorsweepError
from torsweep.tor.build import BuiltTor
from torsweep.tor.torrc import environment

CONTROL_PATIENCE_S = 30.0
VOTING_INTERVAL_S = 5
"""Of the one vote that makes the network: the least that tor takes."""

READY_BYTES = 20_000
FETCH_LIMIT_S = 10.0

REST_SECONDS = 3
REST_BYTES_PER_S = 4_000
REST_LIMIT_S = 30.0
"""A relay at rest has moved so little for so many seconds; after the limit it is taken as it is."""

Say = Callable[[str], None]


@dataclass
class RunningNetwork:
    """The processes of a network and the ways to talk to them."""

    layout: Layout
    tor: BuiltTor
    processes: ProcessSet
    say: Say
    deadline: float
    """Monotonic time, in seconds, by which the network must be ready."""
    controls: dict[str, Controller] = field(default_factory=dict)
    children: dict[str, Child] = field(default_factory=dict)
    desks: dict[str, StreamDesk] = field(default_factory=dict)
    meters: dict[str, BandwidthMeter] = field(default_factory=dict)

    def bring_up(self) -> None:
        """Start everything and return when the network is ready.

        Raises ProcessEnded when a process ends, TorsweepError when a control port refuses or the deadline
        passes, OutputError when a port is taken or the disk is full.
        """
        layout = self.layout
        addresses.require_free(layout.endpoints())
        for place in [*layout.authorities, *layout.relays, *layout.clients]:
            place.data.mkdir(parents=True, mode=0o700)
        self.say("making the authorities' keys")
        lines = authority_lines(layout, self.tor)
        self._start_helpers()
        for place in [*layout.authorities, *layout.relays]:
            self._start_tor(place, lines)
        self._vote()
        for place in layout.clients:
            self._start_tor(place, lines)
        self._watch_relays()
        self._open_desks()
        for place in layout.clients:
            control = self._control(place)
            self._until(functools.partial(_bootstrapped, control), functools.partial(_bootstrap, control))
        asyncio.run(self._fetch_everywhere())
        self._rest()
        for desk in self.desks.values():
            desk.start_over()

    def close(self) -> None:
        """Hang up on every tor."""
        for control in self.controls.values():
            control.close()

    def _start_helpers(self) -> None:
        """The links and the servers; both say when they listen."""
        layout, started = self.layout, []
        if layout.delayed:
            file = layout.folder / "links.json"
            file.write_text(json.dumps(layout.links_document()), encoding="utf-8")
            started.append(self._start_module("links", "links", str(file)))
        for server in layout.network.servers:
            address = layout.block.address(server.node)
            started.append(self._start_module(server.name, "servers", address, str(layout.server_listens_at)))
        for child in started:
            self._until(functools.partial(_listens, child), f"{child.name} does not listen")

    def _start_module(self, name: str, module: str, *arguments: str) -> Child:
        log = self.layout.folder / f"{name}.log"
        command = [sys.executable, "-m", f"torsweep.engines.loopback.{module}", *arguments]
        # The package is found where this process has found it, whatever the folder.
        source = str(Path(__file__).parents[3])
        return self.processes.start(name, command, log, {"PYTHONPATH": source})

    def _start_tor(self, place: Place, lines: str) -> None:
        place.torrc.write_text(self.layout.torrc(place, lines), encoding="utf-8")
        command: list[str | Path] = [
            self.tor.program.resolve(),
            "-f",
            place.torrc,
            "--defaults-torrc",
            place.folder / "no-defaults",
        ]
        command += ["--ignore-missing-torrc"]
        settings = environment(self.layout.run.tor)
        self.children[place.name] = self.processes.start(place.name, command, place.log, settings)

    def _control(self, place: Place) -> Controller:
        if place.name not in self.controls:
            self.controls[place.name] = open_control(place, CONTROL_PATIENCE_S, self.processes.check)
        return self.controls[place.name]

    def _until(self, done: Callable[[], bool], otherwise: str | Callable[[], str]) -> None:
        """Wait for ``done``; TorsweepError with ``otherwise`` when the deadline passes first."""
        while not done():
            self.processes.check()
            if time.monotonic() > self.deadline:
                problem = otherwise if isinstance(otherwise, str) else otherwise()
                raise TorsweepError(f"the network was not ready in time: {problem}")
            time.sleep(POLL_S)

    def _vote(self) -> None:
        """One vote, when every authority has every descriptor, and its consensus."""
        layout = self.layout
        relays = {relay.name for relay in layout.relays}
        authorities = [self._control(place) for place in layout.authorities]
        self.say(f"waiting for the descriptors of {len(relays)} relays")

        def missing() -> set[str]:
            return relays.difference(_common([known_relays(control) for control in authorities]))

        self._until(lambda: not missing(), lambda: f"no descriptor came from {', '.join(sorted(missing()))}")
        # All authorities have to come to the vote: it is called well before it starts.
        self._until(lambda: time.time() % VOTING_INTERVAL_S < VOTING_INTERVAL_S / 4, "no vote")
        self.say("the authorities vote")
        for control in authorities:
            control.set_conf("TestingV3AuthInitialVotingInterval", str(VOTING_INTERVAL_S))

        def without() -> set[str]:
            return relays.difference(_common([consensus_relays(control) for control in authorities]))

        self._until(lambda: not without(), lambda: f"no consensus has {', '.join(sorted(without()))}")

    def _watch_relays(self) -> None:
        for place in self.layout.relays:
            self.meters[place.name] = BandwidthMeter(
                self._control(place), self.children[place.name].handle.pid
            )

    def _open_desks(self) -> None:
        layout = self.layout
        identities = {place.name: _fingerprint(self._control(place)) for place in layout.relays}
        for place, client in zip(layout.clients, layout.network.clients, strict=True):
            paths = tuple(tuple(identities[name] for name in path) for path in layout.paths_of(place.name))
            isolated = layout.run.traffic[client.kind].streams_per_circuit_isolation
            self.desks[place.name] = StreamDesk(place.name, self._control(place), paths, isolated=isolated)

    async def _fetch_everywhere(self) -> None:
        """Until each client has fetched something from a server."""
        layout = self.layout
        waiting = {place.name: place for place in layout.clients}
        endpoint = layout.server_endpoint(layout.network.servers[0].name)
        while waiting:
            self.say(
                f"{len(layout.clients) - len(waiting)} of {len(layout.clients)} clients have fetched bytes"
            )
            self.processes.check()
            if time.monotonic() > self.deadline:
                name = next(iter(waiting))
                last = self.children[name].last_lines()
                problem = f"{name} has fetched nothing; {_bootstrap(self.controls[name])}"
                raise TorsweepError(f"the network was not ready in time: {problem}:{last}")
            limit_s = min(FETCH_LIMIT_S, max(1.0, self.deadline - time.monotonic()))
            names = list(waiting)
            fetched = await asyncio.gather(
                *(fetch(waiting[name].address, endpoint, READY_BYTES, limit_s) for name in names)
            )
            waiting = {name: waiting[name] for name, done in zip(names, fetched, strict=True) if not done}
            if waiting:
                await asyncio.sleep(POLL_S)

    def _rest(self) -> None:
        """Until every relay is at rest: first contacts, descriptors and bandwidth tests are over."""
        self.say("waiting for the relays to come to rest")
        limit = time.monotonic() + REST_LIMIT_S
        while time.monotonic() < limit:
            self.processes.check()
            if all(meter.quiet(REST_SECONDS, REST_BYTES_PER_S) for meter in self.meters.values()):
                return
            time.sleep(POLL_S)
        self.say(f"the relays were still busy after {REST_LIMIT_S:g} s")


def _common(sets: list[set[str]]) -> set[str]:
    return sets[0].intersection(*sets[1:])


def _listens(child: Child) -> bool:
    return child.log.read_bytes().startswith(b"ready")


def _fingerprint(control: Controller) -> str:
    return str(control.get_info("fingerprint"))


def _bootstrapped(control: Controller) -> bool:
    return "PROGRESS=100" in _bootstrap(control)


def _bootstrap(control: Controller) -> str:
    """How far the tor behind ``control`` has come, in its own words."""
    try:
        return str(control.get_info("status/bootstrap-phase"))
    except stem.ControllerError:
        return "its control port is silent"
