"""shadow.yaml: what Shadow is asked to simulate, with which settings, and the memory that it takes.

In: hosts with their processes, a graph, times. Out: a configuration, as JSON, which YAML 1.2 contains: that
is much faster to write for a thousand hosts, and the same hosts give the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

from torsweep.errors import InputError, TorsweepError
from torsweep.machine import read_machine
from torsweep.units import SECOND_NS

SHADOW_BYTES = 180_000_000
HOST_BYTES = 830_000
PROGRAM_BYTES = {"tor": 3_000_000, "tgen": 1_430_000, "oniontrace": 530_000}
"""Half as much again as the proportional set sizes measured under load in a network of 316 hosts (a
client's tor 1.8 MB, a relay's 5.2 MB, TGen 0.95 MB, OnionTrace 0.35 MB): queues grow with load."""

OTHER_PROGRAM_BYTES = 5_000_000

LEAST_AVAILABLE_BYTES = 300_000_000
"""With less memory than this, the kernel may soon kill processes."""


def projected_bytes(simulation: ShadowSimulation) -> int:
    """What ``simulation`` may take when all its processes run."""
    names = [Path(process.path).name for host in simulation.hosts.values() for process in host.processes]
    return (
        SHADOW_BYTES
        + HOST_BYTES * len(simulation.hosts)
        + sum(PROGRAM_BYTES.get(name, OTHER_PROGRAM_BYTES) for name in names)
    )


def require_memory(simulation: ShadowSimulation) -> None:
    """TorsweepError when less memory is available than is projected for ``simulation``."""
    needed, available = projected_bytes(simulation), read_machine().available_bytes
    if available is not None and needed + LEAST_AVAILABLE_BYTES > available:
        raise TorsweepError(
            f"not enough memory: {len(simulation.hosts)} hosts need up to {needed / 1e9:.1f} GB,"
            f" {available / 1e9:.1f} GB are available; run fewer side by side, or a smaller network"
        )


SHADOW_YAML = "shadow.yaml"

EPOCH_S = 946_684_800
"""The wall clock of a simulation at its start: 2000-01-01 00:00:00 UTC, the same in every run."""

BOOTSTRAP_NS = 60 * SECOND_NS
"""From Shadow's start to the opening of the clients' window: a run's own time is counted from here."""

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


@dataclass(frozen=True)
class ShadowSettings:
    """How Shadow is asked to simulate. ``parallelism`` 0 takes a thread for each core that it may use.

    ``latency_floor_us`` is the least one-way latency of the graph; Shadow lets hosts run ahead of each
    other by it, so a single pair of hosts in one room would set the pace of all.
    """

    parallelism: int = 0
    latency_floor_us: int = 5_000

    def as_provenance(self) -> dict[str, Any]:
        """The settings and Shadow's options, as JSON takes them."""
        return {**asdict(self), "bootstrap_s": BOOTSTRAP_NS / SECOND_NS, "options": EXPERIMENTAL}


EXPERIMENTAL: dict[str, Any] = {
    # Rounds as long as the shortest latency that has been used so far, not as the shortest there is.
    "use_dynamic_runahead": True,
    # Pinning is by core number: two runs side by side would sit on the same ones. The set of cores that
    # a run may use is given to its processes from outside.
    "use_cpu_pinning": False,
    # Spinning workers keep whole cores busy while they wait, which other runs could use.
    "use_worker_spinning": False,
    # Counters are only printed.
    "use_object_counters": False,
    "use_syscall_counters": False,
    # The new TCP lacks the ioctl for the length of the send queue, which KIST asks for.
    "use_new_tcp": False,
    # Shadow would let send buffers grow to 4 MiB, also where the window is not used; Linux's stay near what a
    # path carries: docs/shadow.md compares sizes with real kernels.
    "socket_send_autotune": False,
    "socket_send_buffer": "256 KiB",
}

MODEL_UNBLOCKED_SYSCALL_LATENCY = False
"""Whether a system call that does not block takes simulated time. It would add noise to a relay's timing
that depends on how often tor happens to ask for the time, and has been seen not to be repeatable."""


@dataclass(frozen=True)
class Process:
    """A process of a host: what it is, when it starts, and whether it is still to run at the end."""

    path: Path | str
    arguments: Sequence[str]
    start_ns: int
    environment: Mapping[str, str] = field(default_factory=dict)
    runs_to_the_end: bool = True


@dataclass(frozen=True)
class GraphHost:
    """A host at a node of the graph; ``captured_bytes`` of each of its packets are kept in a capture."""

    node: int
    address: str
    processes: Sequence[Process]
    captured_bytes: int = 0


@dataclass(frozen=True)
class ShadowSimulation:
    """A whole simulation. ``folder`` holds the template of the hosts' folders, the graph and the data."""

    hosts: Mapping[str, GraphHost]
    stop_ns: int
    seed: int
    parallelism: int = 0
    unlimited_until_ns: int = 0
    runahead_us: int = 1_000
    graph: str = "graph.gml"

    def text(self, folder: Path) -> str:
        """The configuration, for a simulation in ``folder``.

        Raises InputError for a process that would start after the end of the simulation: Shadow would wait
        for it for ever.
        """
        document: dict[str, Any] = {
            "general": {
                "bootstrap_end_time": _ns(self.unlimited_until_ns),
                "data_directory": str((folder / "data").absolute()),
                "heartbeat_interval": None,
                "log_level": "warning",
                "model_unblocked_syscall_latency": MODEL_UNBLOCKED_SYSCALL_LATENCY,
                "parallelism": self.parallelism,
                "progress": True,
                "seed": self.seed,
                "stop_time": _ns(self.stop_ns),
                "template_directory": str((folder / "template").absolute()),
            },
            "network": {
                "graph": {"type": "gml", "file": {"path": str((folder / self.graph).absolute())}},
                "use_shortest_path": False,
            },
            "experimental": {**EXPERIMENTAL, "runahead": f"{self.runahead_us} us"},
            "hosts": {name: self._host(name, host) for name, host in self.hosts.items()},
        }
        return json.dumps(document, indent=1, sort_keys=True) + "\n"

    def _host(self, name: str, host: GraphHost) -> dict[str, Any]:
        for process in host.processes:
            if process.start_ns >= self.stop_ns:
                raise InputError(
                    "a process starts when the simulation is over",
                    file=SHADOW_YAML,
                    key=f"hosts.{name}.{Path(process.path).name}.start_time",
                    value=_ns(process.start_ns),
                    accepted=f"before stop_time, {_ns(self.stop_ns)}",
                )
        captured = {"pcap_enabled": True, "pcap_capture_size": f"{host.captured_bytes} B"}
        return {
            "network_node_id": host.node,
            "ip_addr": host.address,
            "host_options": captured if host.captured_bytes else {},
            "processes": [
                {
                    "path": str(process.path),
                    "args": list(process.arguments),
                    "environment": dict(process.environment),
                    "start_time": _ns(process.start_ns),
                    "expected_final_state": "running" if process.runs_to_the_end else {"exited": 0},
                }
                for process in host.processes
            ],
        }


def graph_text(rates: Iterable[tuple[int, int]], edges: Iterable[tuple[int, int, str]], loss: float) -> str:
    """Shadow's graph in GML: nodes by their rates, bytes per second down and up; edges by their ends and
    latency, which lose a share of packets.

    Rates stand on the nodes: Shadow up to 3.3.0 gives a host whose rates stand in its configuration its
    downstream rate both ways.
    """
    # Reading a run's tables needs this module, too, but no graph.
    import networkx

    graph = networkx.Graph()
    for node, (down, up) in enumerate(rates):
        graph.add_node(node, host_bandwidth_down=f"{down * 8} bit", host_bandwidth_up=f"{up * 8} bit")
    for source, target, latency in edges:
        graph.add_edge(source, target, latency=latency, packet_loss=loss)
    return "\n".join([*networkx.generate_gml(graph), ""])


def uniform_graph(rates: Sequence[tuple[int, int]], latency_ms: int) -> str:
    """A graph of nodes with ``rates`` (see :func:`graph_text`) that are all ``latency_ms`` apart."""
    pairs = combinations_with_replacement(range(len(rates)), 2)
    return graph_text(rates, ((*pair, f"{latency_ms} ms") for pair in pairs), 0.0)


def _ns(time_ns: int) -> str:
    return f"{time_ns} ns"
