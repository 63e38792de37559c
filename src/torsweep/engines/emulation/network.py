"""A private network of tor, from its first process to the moment it has come to rest.

In: a layout, builds of tor, the link emulator. Out: :class:`RunningNetwork`, whose clients know the
network and have circuits. Every wait has a limit of its own, and ends at once when a process does. No limit
depends on how far apart hosts are: authorities share a place, and other waits end only when nothing goes on.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from torsweep.config.conflux import circuit_events
from torsweep.engines.contract import Say
from torsweep.engines.emulation.control import (
    ENOUGH_PERCENT,
    ClientFollower,
    Control,
    Unfollowed,
    bootstrap_percent,
    consensus_relays,
    known_relays,
    open_control,
    wait_s,
)
from torsweep.engines.emulation.downloads import LoopbackPort, servers_command
from torsweep.engines.emulation.pace import RelayMeter
from torsweep.engines.emulation.process_layout import Identities, Place, ProcessLayout, put_keys
from torsweep.engines.emulation.processes import (
    POLL_S,
    STALLED_S,
    Child,
    NotReady,
    ProcessSet,
    all_of,
    some_of,
    until,
)
from torsweep.engines.host_files import ONION_FOLDER, SERVER_PORT, SOCKS_PORT, address, onion_keys, paths_text
from torsweep.engines.host_tors import HostTors, read_consensus, require_consensus
from torsweep.errors import InputError, ToolMissing, TorsweepError
from torsweep.tor.arti_client import ARTI_ENVIRONMENT, READY
from torsweep.tor.program import parse_config
from torsweep.tor.torrc import bandwidths_text, environment

CONTROL_PATIENCE_S = 60.0
FIRST_VOTE_INTERVAL_S = 5
"""Seconds of the only vote before a run: the shortest interval that tor accepts."""

VOTE_AHEAD_S = 4
"""Seconds from the request for the vote to its consensus. Votes are sent two seconds before it, and tor's
clock may be a second late."""

VOTED_WITHIN_S = 30.0
"""Seconds that authorities have for the vote and its consensus, which take four."""

CLIENTS_AT_ONCE = 64
"""The most clients that start at the same time: more would only wait for processors."""

START_POLL_S = 0.1
"""Seconds between two questions about how far the start of a client is."""

DIRECTORY_CACHES = ("cached-certs", "cached-microdesc-consensus", "cached-microdescs.new")
"""Files in which a tor keeps what it has learned of the network. Clients start with an authority's."""

REST_SECONDS = 2
REST_BYTES_PER_S = 20_000
REST_LIMIT_S = 8.0
"""A relay at rest has moved so little for so many seconds; after the limit it is taken as it is."""

_READY = re.compile(r"^\{.*\}$", re.MULTILINE)
"""The line of JSON in which the link emulator says that the hosts are there, and where."""


def _count(actions: Counter[str], words: list[str], now_ns: int) -> None:
    """HS_DESC action address …"""
    actions[words[0]] += 1


@dataclass
class RunningNetwork:
    """The processes of a network and the ways to talk to them."""

    layout: ProcessLayout
    tors: HostTors
    linkem: Path
    links: dict
    """What the link emulator reads."""
    processes: ProcessSet
    say: Say
    deadline: float
    """Monotonic time, in seconds, by which the network must be ready."""
    parameters: Mapping[str, int] = field(default_factory=dict)
    """The consensus parameters that the clients have, once the network is ready."""
    controls: dict[str, Control] = field(default_factory=dict)
    children: dict[str, Child] = field(default_factory=dict)
    followers: dict[str, ClientFollower | Unfollowed] = field(default_factory=dict)
    meters: dict[str, RelayMeter] = field(default_factory=dict)
    namespaces: dict[str, str] = field(default_factory=dict)
    identities: Identities = field(default_factory=lambda: Identities({}, {}))
    ready_us: dict[str, int] = field(default_factory=dict)
    """How long each client that began without any document took until it could be used."""
    tally: Path = Path()
    """Where the link emulator counts packets, once there are links."""

    async def bring_up(self) -> None:
        """Start everything and return when the network is ready.

        Raises ProcessEnded when a process ends, NotReady when a wait is in vain, TorsweepError when a control
        port refuses, OutputError when the disk is full.
        """
        layout = self.layout
        for place in [*layout.places, *layout.services, *layout.own_tors]:
            place.data.mkdir(parents=True, mode=0o700)
        self.identities = put_keys(layout, self.tors.usual, self.say)
        measured = bandwidths_text(layout.network, self.identities.relays, int(time.time()))
        layout.bandwidths_file.write_text(measured, encoding="utf-8")
        await self._start_links()
        servers_listen = self._start_servers()
        await self._let_votes_pass()
        self.say(f"starting {len(layout.authorities)} authorities and {len(layout.relays)} relays")
        for place in [*layout.authorities, *layout.relays]:
            self._start_tor(place)
        await self._until(servers_listen, lambda: "the servers do not listen")
        await self._vote()
        for place in layout.relays:
            pid = self.children[place.name].handle.pid
            self.meters[place.name] = await RelayMeter.on(await self._control(place), pid, place.folder)
        self._require_consensus()
        await self._start_clients()
        await self._start_services()
        await self._start_own_tors()
        await self._rest()

    def close(self) -> None:
        """Hang up on every tor."""
        for control in self.controls.values():
            control.close()

    async def _start_links(self) -> None:
        """The link emulator, which makes the hosts."""
        self.say(f"making {len(self.links['hosts'])} hosts")
        file = self.layout.folder / "linkem.json"
        file.write_text(json.dumps(self.links), encoding="utf-8")
        log = self.layout.folder / "linkem.log"
        child = self.processes.start("linkem", [self.linkem, "run", file], log)
        self.children["linkem"] = child

        async def made() -> bool:
            self._require_links(child)
            ready = _READY.search(log.read_text(encoding="utf-8", errors="replace"))
            if ready is None:
                return False
            told = json.loads(ready[0])
            self.namespaces, self.tally = told["hosts"], Path(told["tally"])
            return True

        await self._until(made, lambda: "linkem has not made the hosts")

    def _require_links(self, child: Child) -> None:
        """If the link emulator has ended, raise its last words as the error of its exit code."""
        code = child.handle.poll()
        if code is not None:
            words = child.last_words(1) or f"linkem: ended with exit code {code} and said nothing"
            kinds = {error.exit_code: error for error in (InputError, ToolMissing)}
            raise kinds.get(code, TorsweepError)(words)

    def _start_servers(self) -> Callable[[], Awaitable[bool]]:
        """Start the process that listens on the hosts of all servers; return the question whether it does."""
        nodes = self.layout.network.node_of
        servers = self.layout.network.servers
        hosts = [(self.namespaces[server.name], address(nodes[server.name])) for server in servers]
        command = servers_command(SERVER_PORT, hosts)
        log = self.layout.folder / "servers.log"
        # The package is found where this process has found it, whatever the folder.
        source = str(Path(__file__).parents[3])
        child = self.processes.start("servers", command, log, {"PYTHONPATH": source})
        self.children["servers"] = child

        async def listen() -> bool:
            return log.read_bytes().startswith(b"ready")

        return listen

    async def _let_votes_pass(self) -> None:
        """Wait until no vote of the authorities' own will fall into the run; the deadline moves by it."""
        due_s = wait_s(time.time(), len(self.layout.clients), self.layout.run.duration_ns / 1e9)
        if due_s:
            self.say(f"waiting {due_s:.0f} s, so that no vote but the first falls into the run")
            self.deadline += due_s
            await asyncio.sleep(due_s)

    def _start_tor(self, place: Place) -> None:
        program = self.tors.of(place.name).program.resolve()
        if self.tors.is_arti(place.name):
            self.layout.write_arti(place, self.identities)
            command: list[str | Path] = [program, "proxy", "-c", place.arti_config]
            variables = ARTI_ENVIRONMENT
        else:
            known = self.tors.options(place.name)
            if paths := paths_text(self.layout.run, self.identities, place.name, known):
                place.paths.write_text(paths, encoding="utf-8")
            place.torrc.write_text(self.layout.torrc(place, self.identities, known), encoding="utf-8")
            command = [program, "-f", place.torrc, "--defaults-torrc", place.folder / "no-defaults"]
            command.append("--ignore-missing-torrc")
            variables = environment(self.layout.run.tor, known)
        self.children[place.name] = self.processes.start(
            place.name, command, place.log, variables, self.namespaces[place.name]
        )

    async def _control(self, place: Place) -> Control:
        if place.name not in self.controls:
            self.controls[place.name] = await open_control(
                place.name, place.control, CONTROL_PATIENCE_S, self.processes.check
            )
        return self.controls[place.name]

    async def _until(
        self,
        done: Callable[[], Awaitable[bool]],
        missing: Callable[[], str],
        *,
        stalled_s: float = STALLED_S,
        poll_s: float = POLL_S,
    ) -> None:
        """:func:`until`, for as long as all processes live."""
        await until(done, missing, self.processes.check, self.deadline, stalled_s=stalled_s, poll_s=poll_s)

    async def _vote(self) -> None:
        """One vote, when every authority has every descriptor, and its consensus."""
        layout = self.layout
        relays = {relay.name for relay in layout.relays}
        authorities = [await self._control(place) for place in layout.authorities]
        self.say(f"waiting for the descriptors of {len(relays)} relays")
        missing, behind = set[str](), set[str]()

        async def all_have(ask: Callable[[Control], Awaitable[set[str]]]) -> bool:
            missing.clear()
            behind.clear()
            for authority in authorities:
                lacking = relays - await ask(authority)
                missing.update(lacking)
                behind.update([authority.name] if lacking else [])
            return not missing

        await self._until(
            lambda: all_have(known_relays), lambda: f"no descriptor came from {some_of(missing)}"
        )
        self.say("the authorities vote")
        offset_s = (int(time.time()) + VOTE_AHEAD_S) % FIRST_VOTE_INTERVAL_S
        interval = f'TestingV3AuthInitialVotingInterval="{FIRST_VOTE_INTERVAL_S} seconds"'
        moment = f'TestingV3AuthVotingStartOffset="{offset_s} seconds"'
        await asyncio.gather(*(control.ask(f"SETCONF {interval} {moment}") for control in authorities))
        await self._until(
            lambda: all_have(consensus_relays),
            lambda: f"{some_of(behind)} came to no consensus with {some_of(missing)}",
            stalled_s=VOTED_WITHIN_S,
        )
        # A relay that asked too early would wait up to half a minute before it asks again.
        caches = [await self._control(place) for place in layout.relays]
        await asyncio.gather(*(control.ask("SIGNAL RELOAD") for control in caches))

        async def spread() -> bool:
            missing.clear()
            missing.update({one.name for one in caches if not await consensus_relays(one)})
            return not missing

        self.say("the relays fetch the consensus")
        await self._until(spread, lambda: f"the consensus has not come to {some_of(missing)}")

    async def _start_clients(self) -> None:
        """Let clients into the network, a few at a time, with what an authority knows of it.

        The first tor and those that run Arti learn it over their links.
        """
        turn, ready = asyncio.Semaphore(CLIENTS_AT_ONCE), 0
        with_documents = [place for place in self.layout.clients if not self.tors.is_arti(place.name)][1:]
        names = {fingerprint: name for name, fingerprint in self.identities.relays.items()}
        self.say(f"starting {len(self.layout.clients)} clients")

        async def start(place: Place) -> None:
            nonlocal ready
            async with turn:
                if place in with_documents:
                    self._inform(place)
                self._start_tor(place)
                knowing_us = await self._started(place)
                if place not in with_documents:
                    self.ready_us[place.name] = knowing_us
                await self._follow_client(place, names)
                ready += 1
                if ready % 10 == 0 or ready == len(self.layout.clients):
                    self.say(f"{ready} of {len(self.layout.clients)} clients are ready")

        await all_of(start(place) for place in self.layout.clients)

    def _inform(self, place: Place) -> None:
        """Give ``place``, before its start, what an authority knows of the network."""
        for name in DIRECTORY_CACHES:
            shutil.copyfile(self.layout.authorities[0].data / name, place.data / name)

    async def _start_services(self) -> None:
        """Start the tor of each onion service, and wait until the relays have its descriptors."""
        actions: dict[str, Counter[str]] = {place.name: Counter() for place in self.layout.services}
        for place in self.layout.services:
            onion_keys(self.layout.network.seed, place.name).write(place.folder / ONION_FOLDER)
            self._inform(place)
            self._start_tor(place)
            control = await self._control(place)
            await control.listen({"HS_DESC": partial(_count, actions[place.name])})

        async def uploaded() -> bool:
            return all(
                each["UPLOADED"] and each["UPLOAD"] == each["UPLOADED"] + each["FAILED"]
                for each in actions.values()
            )

        await self._until(uploaded, lambda: f"descriptors of onion services: {actions}")

    async def _start_own_tors(self) -> None:
        """Start the tors of programs' own hosts, and wait until they can be used."""
        for place in self.layout.own_tors:
            self._inform(place)
            self._start_tor(place)
        await asyncio.gather(*(self._started(place) for place in self.layout.own_tors))

    async def _started(self, place: Place) -> int:
        """Wait until the client can be used; the µs in which it knew enough of the network for circuits."""
        began_ns, knowing_ns, percent = time.monotonic_ns(), 0, 0
        control = None if self.tors.is_arti(place.name) else await self._control(place)

        async def started() -> bool:
            nonlocal knowing_ns, percent
            if control is not None:
                percent = await bootstrap_percent(control)
            elif READY in place.log.read_text(encoding="utf-8", errors="replace"):
                percent = 100
            if percent >= ENOUGH_PERCENT and not knowing_ns:
                knowing_ns = time.monotonic_ns()
            return percent == 100

        await self._until(
            started, lambda: f"{place.name} has come to {percent} % of its start", poll_s=START_POLL_S
        )
        return (knowing_ns - began_ns) // 1000

    def _require_consensus(self) -> None:
        """Raise NotReady unless the consensus that clients start with has the network's relays, and the
        parameters that the user gave. Where a vote comes late, weights are missing."""
        layout = self.layout
        consensus = read_consensus(layout.authorities[0].data)
        try:
            require_consensus(consensus, layout.network, layout.run.given.consensus, voted=True)
        except TorsweepError as error:
            raise NotReady(str(error)) from None
        self.parameters = consensus.parameters

    async def _follow_client(self, place: Place, names: dict[str, str]) -> None:
        if self.tors.is_arti(place.name):
            client = next(client for client in self.layout.network.clients if client.name == place.name)
            isolated = self.layout.run.traffic[client.kind].streams_per_circuit_isolation
            socks = LoopbackPort(self.namespaces[place.name], SOCKS_PORT)
            self.followers[place.name] = Unfollowed(socks, isolated)
            return
        more = circuit_events(self.layout.run.tor)
        follower = ClientFollower(await self._control(place), names, more)
        self.followers[place.name] = follower
        await follower.open()

    async def options(self) -> dict[str, dict[str, str]]:
        """By host, the options of its tor that are not as tor has them by default; Arti has none."""
        texts = await asyncio.gather(*(one.value("config-text") for one in self.controls.values()))
        return {name: parse_config(text) for name, text in zip(self.controls, texts, strict=True)}

    async def _rest(self) -> None:
        """Wait until every relay is at rest: clients have their first circuits and all descriptors."""
        self.say("waiting for the relays to come to rest")
        limit = time.monotonic() + REST_LIMIT_S
        while time.monotonic() < limit:
            self.processes.check()
            if all(meter.quiet(REST_SECONDS, REST_BYTES_PER_S) for meter in self.meters.values()):
                return
            await asyncio.sleep(POLL_S)
        self.say(f"some relays were still busy after {REST_LIMIT_S:g} s")
