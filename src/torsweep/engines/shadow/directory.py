"""Everything that Shadow reads of a run, written below the run directory's ``shadow`` folder.

In: run.json, its network, the keys. Out: shadow.yaml, the graph, torrcs, TGen's graphs, layout.json.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

import numpy as np

from torsweep.config.conflux import circuit_events
from torsweep.config.option_bundle import Role
from torsweep.config.traffic import ONION
from torsweep.engines.cell_ring import RING_FILE
from torsweep.engines.circuit_paths import drawn_guards
from torsweep.engines.cost_tables import VEGAS_LOG, logs_round_trips
from torsweep.engines.draws import client_start_ns, draw
from torsweep.engines.host_files import (
    CIRCUIT_PATHS_FILE,
    CONTROL_PORT,
    DIR_PORT,
    ONION_FOLDER,
    OR_PORT,
    PATHS_OPTION,
    PROGRAM_SOCKS_PORT,
    SOCKS_PORT,
    address,
    arti_config,
    arti_guards,
    cell_lines,
    host_torrc,
    onion_keys,
    paths_text,
    recording_lines,
    server_name,
    service_lines,
)
from torsweep.engines.programs import CAPTURED_BYTES, HostProgram, captures, host_programs
from torsweep.engines.run_spec import RunSpec
from torsweep.engines.shadow.keys import Keys
from torsweep.engines.shadow.read.oniontrace import CLIENT_EVENTS
from torsweep.engines.shadow.simulate import (
    BOOTSTRAP_NS,
    EPOCH_S,
    SHADOW_YAML,
    TEMPLATE_HOSTS,
    GraphHost,
    Layout,
    Process,
    ShadowSettings,
    ShadowSimulation,
    followed_hosts,
    graph_text,
)
from torsweep.engines.shadow.tools import ShadowTools
from torsweep.engines.shadow.traffic import User, client_graph, server_graph
from torsweep.engines.shadow.watch import MAY_BE_LATE
from torsweep.errors import InputError
from torsweep.network.model import (
    LATENCY_FILE,
    NETWORK_FILE,
    Client,
    Latencies,
    Network,
    ProgramHost,
    Server,
    link_rates,
)
from torsweep.tor.arti_client import ARTI_ENVIRONMENT, GUARDS_FILE
from torsweep.tor.torrc import bandwidths_text, check_network, environment
from torsweep.units import SECOND_NS

AUTHORITY_BYTES_PER_S = 125_000_000
"""Directory authorities are no part of what is studied: their links never bind."""


AUTHORITIES_NS = 1 * SECOND_NS
RELAYS_NS = 3 * SECOND_NS
CLIENTS_NS = 28 * SECOND_NS
CLIENTS_SPREAD_NS = 14 * SECOND_NS
"""Clients start when relays have the first consensus, spread out so that they do not all reach a relay at
once."""

INITIAL_VOTING_INTERVAL_S = 20
VOTE_DELAY_S = 3
VOTING_INTERVAL_S = 3600
"""The first consensus after 20 s; no second one falls into a run of less than an hour. Relays have ten
seconds to make themselves known before the vote; authorities share a place."""

CONSENSUS_VALID_S = 3600
"""Clients spread their requests for the next consensus over this time."""

RELAYS_ASK_AFTER_S = 18
"""Seconds after its start when a relay asks for the consensus. If there is none yet, tor waits for up to half
a minute before it asks again."""


def shared_nodes(network: Network) -> list[list[int]]:
    """The hosts at each node of Shadow's graph: those with the same place, access delay and rates, as nodes
    have the rates (:func:`.simulate.graph_text`)."""
    nodes: dict[tuple[int, int, tuple[int, int]], list[int]] = {}
    for number, host in enumerate(network.hosts):
        rates = link_rates(host, AUTHORITY_BYTES_PER_S)
        nodes.setdefault((host.place, host.access_us, rates), []).append(number)
    return list(nodes.values())


def write_graph(network: Network, latencies: Latencies, floor_us: int) -> tuple[str, int]:
    """The graph of ``network``, and how many pairs of hosts are closer than its least latency ``floor_us``.

    The latency of an edge is half the RTT; the edge of a node with itself is between two hosts there. A
    packet crosses one edge, which loses the network's share of packets. Raises InputError when a pair of
    hosts has no latency.
    """
    nodes, every = shared_nodes(network), network.hosts
    source, target = np.triu_indices(len(nodes))
    first, last = (np.array([at[end] for at in nodes]) for end in (0, -1))
    hosts = np.array([len(at) for at in nodes])
    one_way_us = latencies.between(first[source], last[target]) // 2
    within = source == target
    pairs = np.where(within, hosts[source] * (hosts[source] - 1) // 2, hosts[source] * hosts[target])
    missing = np.flatnonzero((pairs > 0) & (one_way_us <= 0))
    if len(missing):
        one, other = (every[int(each[missing[0]])] for each in (first[source], last[target]))
        raise InputError(
            "a pair of hosts has no latency",
            file=LATENCY_FILE,
            key=f"{one.name} and {other.name}",
            accepted="an RTT of at least 2 µs",
        )
    floored = int(pairs[one_way_us < floor_us].sum())
    ends = zip(source.tolist(), target.tolist(), np.maximum(one_way_us, floor_us).tolist(), strict=True)
    edges = ((one, other, f"{latency_us} us") for one, other, latency_us in ends)
    rates = (link_rates(every[at[0]], AUTHORITY_BYTES_PER_S) for at in nodes)
    return graph_text(rates, edges, network.loss_share), floored


MOST_SHADOW_SEED = 2**32 - 1
"""general.seed is an unsigned number of 32 bits."""

ARTI_CONFIG = "arti.toml"

_SHARED = "../../../shared"
"""The folder of files that hosts share, seen from a host's working directory."""


@dataclass(frozen=True)
class Written:
    """What was written. ``floored_pairs`` of hosts are closer than the simulation's least latency;
    ``ready_ns`` after its start clients have to be ready, all but the share ``may_be_late``."""

    simulation: ShadowSimulation
    floored_pairs: int
    ready_ns: int = BOOTSTRAP_NS
    may_be_late: float = MAY_BE_LATE
    programs: Sequence[HostProgram] = ()


def write_directory(
    run: RunSpec,
    network: Network,
    latencies: Latencies,
    keys: Keys,
    tools: ShadowTools,
    settings: ShadowSettings,
    folder: Path,
) -> Written:
    """Write ``folder`` anew; InputError when real tor cannot be this network, or a pair of hosts has no
    latency."""
    check_network(network, NETWORK_FILE)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    graph, floored_pairs = write_graph(network, latencies, settings.latency_floor_us)
    (folder / "graph.gml").write_text(graph)
    builder = _Builder(run, network, keys, tools, folder)
    programs = list(simulated_programs(run, network, folder.parent, keys.identities.relays))
    simulation = ShadowSimulation(
        hosts=_with_programs(builder.hosts(), programs),
        stop_ns=BOOTSTRAP_NS + run.duration_ns,
        seed=shadow_seed(run.seed, run.repeat),
        parallelism=settings.parallelism,
        unlimited_until_ns=BOOTSTRAP_NS,
        runahead_us=settings.latency_floor_us,
        options=run.shadow,
    )
    (folder / SHADOW_YAML).write_text(simulation.text(folder))
    layout = Layout(
        epoch_s=EPOCH_S,
        bootstrap_ns=BOOTSTRAP_NS,
        duration_ns=run.duration_ns,
        clients={client.name: client.kind for client in network.tor_clients},
        relays={relay.name: keys.identities.relays[relay.name] for relay in network.relays},
        authorities={host.name: keys.identities.relays[host.name] for host in network.authorities},
        servers={
            **{address(builder.nodes[server.name]): server.name for server in network.servers},
            **{server_name(network, server, ONION): server.name for server in network.servers_for(ONION)},
        },
    )
    layout.write(folder)
    return Written(simulation, floored_pairs, programs=programs)


def shadow_seed(seed: int, repeat: int) -> int:
    """The seed of Shadow's own draws, and so of tor's; what clients ask for has seeds of its own."""
    return draw(seed, "repeat", repeat, 0, MOST_SHADOW_SEED) if repeat else seed + 1


def simulated_programs(
    run: RunSpec, network: Network, run_directory: Path, fingerprints: Mapping[str, str]
) -> Iterator[HostProgram]:
    """The programs of ``run``, by the clock of a simulation."""
    zero_s = EPOCH_S + BOOTSTRAP_NS / SECOND_NS
    return host_programs(run, network, run_directory, fingerprints, zero_s)


def _with_programs(hosts: dict[str, GraphHost], programs: Sequence[HostProgram]) -> dict[str, GraphHost]:
    for program in programs:
        host, does = hosts[program.host], program.does
        until_ns = None if does.until_ns is None else BOOTSTRAP_NS + does.until_ns
        path, *arguments = program.command
        process = Process(path, arguments, BOOTSTRAP_NS + does.begin_ns, {}, not does.ends, until_ns)
        hosts[program.host] = replace(host, processes=[*host.processes, process])
    return hosts


class _Builder:
    """Makes the hosts of one run, and writes their files on the way."""

    def __init__(self, run: RunSpec, network: Network, keys: Keys, tools: ShadowTools, folder: Path) -> None:
        self.run, self.network, self.keys, self.tools = run, network, keys, tools
        self.nodes = network.node_of
        self.graph_nodes = {host: node for node, at in enumerate(shared_nodes(network)) for host in at}
        self.users = network.users
        self.numbers = {client.name: number for number, client in enumerate(network.clients)}
        self.shared = folder / "shared"
        self.template = folder / TEMPLATE_HOSTS
        self.client_torrcs: dict[str, str] = {}

    def hosts(self) -> dict[str, GraphHost]:
        self.shared.mkdir()
        (self.shared / "server.graphml").write_text(server_graph())
        (self.shared / "bandwidths").write_text(
            bandwidths_text(self.network, self.keys.identities.relays, EPOCH_S)
        )
        self.template.mkdir(parents=True)
        hosts = {
            **{host.name: self._authority(host.name) for host in self.network.authorities},
            **{relay.name: self._relay(index) for index, relay in enumerate(self.network.relays)},
            **{each.name: self._client(turn, each) for turn, each in enumerate(self.network.tor_clients)},
            **{server.name: self._server(server) for server in self.network.servers},
            **{host.name: self._own(host) for host in self.network.program_hosts},
        }
        captured = {capture.host for capture in captures(self.run)}
        captured.update(followed_hosts(self.run.tracing, self.network))
        return hosts | {name: replace(hosts[name], captured_bytes=CAPTURED_BYTES) for name in captured}

    def _torrc(self, role: Role, host: str, lines: Sequence[str] = (), socks: int = SOCKS_PORT) -> str:
        values = {
            "data_directory": ".",
            "control_port": str(CONTROL_PORT),
            # Shadow has no IPv6.
            "or_port": f"{OR_PORT} IPv4Only",
            "dir_port": str(DIR_PORT),
            "socks_port": str(socks),
            "initial_voting_interval_s": str(INITIAL_VOTING_INTERVAL_S),
            "vote_delay_s": str(VOTE_DELAY_S),
            "voting_interval_s": str(VOTING_INTERVAL_S),
        }
        known = self.tools.tors.options(host)
        return host_torrc(self.run, self.network, self.keys.identities, role, host, values, lines, known)

    def _client_torrc(self, name: str) -> str:
        """The file of the client's torrc, which clients with the same torrc share."""
        paths = paths_text(self.run, self.keys.identities, name, self.tools.tors.options(name))
        if paths:
            (self.template / name / CIRCUIT_PATHS_FILE).write_text(paths)
        lines = [f"{PATHS_OPTION} {CIRCUIT_PATHS_FILE}"] if paths else []
        text = self._torrc("client", name, lines + cell_lines(self.run, name, RING_FILE))
        if text not in self.client_torrcs:
            number = len(self.client_torrcs)
            self.client_torrcs[text] = f"client{number or ''}.torrc"
            (self.shared / self.client_torrcs[text]).write_text(text)
        return f"{_SHARED}/{self.client_torrcs[text]}"

    def _host(self, name: str, processes: list[Process]) -> GraphHost:
        node = self.nodes[name]
        return GraphHost(self.graph_nodes[node], address(node), processes)

    def _authority(self, name: str) -> GraphHost:
        valid = CONSENSUS_VALID_S // INITIAL_VOTING_INTERVAL_S
        lines = [f"V3BandwidthsFile {_SHARED}/bandwidths", f"V3AuthNIntervalsValid {valid}"]
        self._keyed_folder(name, self._torrc("authority", name, lines))
        return self._host(name, [self._tor(name, "torrc", AUTHORITIES_NS)])

    def _relay(self, index: int) -> GraphHost:
        relay = self.network.relays[index]
        lines = [f"TestingServerConsensusDownloadInitialDelay {RELAYS_ASK_AFTER_S}"]
        lines += recording_lines(self.run, relay, RING_FILE, VEGAS_LOG)
        self._keyed_folder(relay.name, self._torrc("relay", relay.name, lines))
        start_ns = RELAYS_NS + index * SECOND_NS // max(1, len(self.network.relays))
        tor = self._tor(relay.name, "torrc", start_ns)
        if logs_round_trips(self.run.tor, relay):
            # tor logs local time, which a simulation takes from the machine.
            tor = replace(tor, environment={**tor.environment, "TZ": "UTC"})
        processes = [tor, self._oniontrace("BW", start_ns + 2 * SECOND_NS)]
        return self._host(relay.name, processes)

    def _client(self, turn: int, client: Client) -> GraphHost:
        start_ns = CLIENTS_NS + turn * CLIENTS_SPREAD_NS // len(self.network.tor_clients)
        window_ns, users = self.run.client_start_window_ns, self.users[client.name]
        starts = {
            user.name: client_start_ns(self.run.seed, self.numbers[user.name], window_ns) for user in users
        }
        first_ns = min(starts.values())
        asking = [User(self.numbers[name], name, start_ns - first_ns) for name, start_ns in starts.items()]
        graph = client_graph(self.run, asking, client.kind, self._names_for(client))
        self._host_folder(client.name, "tgen.graphml", graph)
        if self.tools.tors.is_arti(client.name):
            processes = [self._arti(client.name, start_ns)]
        else:
            events = ",".join((*circuit_events(self.run.tor), CLIENT_EVENTS))
            tor = self._tor(client.name, self._client_torrc(client.name), start_ns)
            processes = [tor, self._oniontrace(events, start_ns + SECOND_NS)]
        processes.append(self._tgen("tgen.graphml", BOOTSTRAP_NS + first_ns))
        return self._host(client.name, processes)

    def _names_for(self, client: Client) -> list[str]:
        """The servers of ``client``, as TGen finds them."""
        servers = self.network.servers_of(client)
        onion = client.kind == ONION
        return [server_name(self.network, each, ONION) if onion else each.name for each in servers]

    def _server(self, server: Server) -> GraphHost:
        processes = [self._tgen(f"{_SHARED}/server.graphml", SECOND_NS)]
        if server.onion:
            torrc = self._torrc("client", server.name, service_lines(ONION_FOLDER, "127.0.0.1"))
            self._host_folder(server.name, "torrc", torrc)
            onion_keys(self.network.seed, server.name).write(self.template / server.name / ONION_FOLDER)
            processes.append(self._tor(server.name, "torrc", CLIENTS_NS))
        return self._host(server.name, processes)

    def _own(self, host: ProgramHost) -> GraphHost:
        if host.torrc is None:
            return self._host(host.name, [])
        torrc = self._torrc("client", host.name, socks=PROGRAM_SOCKS_PORT)
        self._host_folder(host.name, "torrc", torrc)
        return self._host(host.name, [self._tor(host.name, "torrc", CLIENTS_NS)])

    def _host_folder(self, name: str, file: str, text: str) -> None:
        (self.template / name).mkdir(exist_ok=True)
        (self.template / name / file).write_text(text)

    def _keyed_folder(self, name: str, torrc: str) -> None:
        shutil.copytree(self.keys.of(name), self.template / name)
        self._host_folder(name, "torrc", torrc)

    def _tor(self, host: str, file: str, start_ns: int) -> Process:
        tors = self.tools.tors
        clock = environment(self.run.tor, tors.options(host))
        return Process(tors.of(host).program.absolute(), ["-f", file], start_ns, clock)

    def _arti(self, client: str, start_ns: int) -> Process:
        config, identities = self.shared / ARTI_CONFIG, self.keys.identities

        def keys(host: str) -> Path:
            return self.keys.of(host) / "keys"

        if not config.exists():
            config.write_text(arti_config(self.run, self.network, identities, keys, "."))
        guards = self.template / client / GUARDS_FILE
        guards.parent.mkdir(parents=True)
        chosen = datetime.fromtimestamp(EPOCH_S, UTC)
        guards.write_text(arti_guards(self.network, identities, keys, self._guards[client], chosen))
        program = self.tools.tors.of(client).program.absolute()
        return Process(program, ["proxy", "-c", f"{_SHARED}/{ARTI_CONFIG}"], start_ns, dict(ARTI_ENVIRONMENT))

    @cached_property
    def _guards(self) -> dict[str, tuple[str, ...]]:
        return drawn_guards(self.network, self.run.tor.guards)

    def _tgen(self, file: str, start_ns: int) -> Process:
        return Process(self.tools.tgen, [file], start_ns, {"OPENBLAS_NUM_THREADS": "1"})

    def _oniontrace(self, events: str, start_ns: int) -> Process:
        arguments = ["Mode=log", f"TorControlPort={CONTROL_PORT}", "LogLevel=warning", f"Events={events}"]
        return Process(self.tools.oniontrace, arguments, start_ns)
