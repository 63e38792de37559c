"""shadow.yaml and layout.json: what Shadow is asked to simulate, and what readers of its logs have to know.

In: hosts with their processes, a graph, times. Out: a configuration, as JSON, which YAML 1.2 contains, and
which is much faster to write for a thousand hosts; :class:`Layout`; the folder with compressed logs.
"""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import polars as pl

from torsweep.config.reading import validate
from torsweep.config.shadow_options import SHADOWS_DEFAULTS, ShadowOptions
from torsweep.config.tracing import Tracing
from torsweep.errors import InputError
from torsweep.formats.files import read_json
from torsweep.network.model import Network
from torsweep.storage import write_text
from torsweep.units import SECOND_NS

SHADOW_BYTES = 180_000_000
HOST_BYTES = 830_000
PROGRAM_BYTES = {"tor": 3_000_000, "tgen": 1_430_000, "oniontrace": 530_000}
"""Half as much again as the proportional set sizes measured under load in a network of 316 hosts (a
client's tor 1.8 MB, a relay's 5.2 MB, TGen 0.95 MB, OnionTrace 0.35 MB): queues grow with load."""

LEAST_AVAILABLE_BYTES = 300_000_000
"""With less memory than this, the kernel may soon kill processes."""


SHADOW_YAML = "shadow.yaml"

EPOCH_S = 946_684_800
"""The wall clock of a simulation at its start: 2000-01-01 00:00:00 UTC, the same in every run."""

BOOTSTRAP_NS = 60 * SECOND_NS
"""From Shadow's start to the opening of the clients' window: a run's own time is counted from here."""


@dataclass(frozen=True)
class ShadowSettings:
    """How Shadow is asked to simulate: on ``parallelism`` threads, 0: one for each core that it may use.
    Shadow lets hosts run ahead of each other by the least one-way latency of the graph, so a single pair of
    hosts in one room would set the pace of all."""

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


@dataclass(frozen=True)
class Process:
    """A process of a host, which still runs at the end or not; SIGTERM ends it at ``until_ns``."""

    path: Path | str
    arguments: Sequence[str]
    start_ns: int
    environment: Mapping[str, str] = field(default_factory=dict)
    runs_to_the_end: bool = True
    until_ns: int | None = None

    def document(self) -> dict[str, Any]:
        """The process in Shadow's configuration."""
        document: dict[str, Any] = {
            "path": str(self.path),
            "args": list(self.arguments),
            "environment": dict(self.environment),
            "start_time": _ns(self.start_ns),
            "expected_final_state": "running" if self.runs_to_the_end else {"exited": 0},
        }
        if self.until_ns is not None:
            document |= {"shutdown_time": _ns(self.until_ns), "expected_final_state": {"signaled": "SIGTERM"}}
        return document


@dataclass(frozen=True)
class GraphHost:
    """A host at a node of the graph; ``captured_bytes`` of each of its packets are kept in a capture."""

    node: int
    address: str
    processes: Sequence[Process]
    captured_bytes: int = 0


@dataclass(frozen=True)
class ShadowSimulation:
    """A whole simulation."""

    hosts: Mapping[str, GraphHost]
    stop_ns: int
    seed: int
    parallelism: int = 0
    unlimited_until_ns: int = 0
    runahead_us: int = 1_000
    options: ShadowOptions = SHADOWS_DEFAULTS

    def text(self, folder: Path) -> str:
        """The configuration of a simulation in ``folder``; InputError for a process that would start after
        the end, for which Shadow would wait for ever, and for options of a host that is not there."""
        document: dict[str, Any] = {
            "general": {
                "bootstrap_end_time": _ns(self.unlimited_until_ns),
                "data_directory": str((folder / "data").absolute()),
                "heartbeat_interval": None,
                "log_level": "warning",
                # System calls that took time would add noise to a relay's timing that depends on how often
                # tor happens to ask for the time, and have been seen not to be repeatable.
                "model_unblocked_syscall_latency": False,
                "parallelism": self.parallelism,
                "progress": True,
                "seed": self.seed,
                "stop_time": _ns(self.stop_ns),
                "template_directory": str((folder / "template").absolute()),
            },
            "network": {
                "graph": {"type": "gml", "file": {"path": str((folder / "graph.gml").absolute())}},
                "use_shortest_path": False,
            },
            "experimental": {**EXPERIMENTAL, "runahead": f"{self.runahead_us} us"},
            "hosts": {name: self._host(name, host) for name, host in self.hosts.items()},
        }
        return json.dumps(self.options.into(document), indent=1, sort_keys=True) + "\n"

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
            "processes": [process.document() for process in host.processes],
        }


def graph_text(rates: Iterable[tuple[int, int]], edges: Iterable[tuple[int, int, str]], loss: float) -> str:
    """Shadow's graph in GML: nodes by their rates, bytes per second down and up; edges by their ends and
    latency, which lose the share ``loss`` of packets. Nodes have the rates because Shadow up to 3.3.0 gives a
    host with rates of its own the downstream one both ways."""
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


def followed_hosts(tracing: Tracing | None, network: Network) -> list[str]:
    """All hosts that may be on the way of a followed download; none if no download is followed, or no cells
    are traced that lead from host to host."""
    if tracing is None or not tracing.downloads or not tracing.hosts:
        return []
    clients = [client.name for client in network.clients]
    return [*tracing.hosts, *clients, *(server.name for server in network.servers)]


_KEPT_SUFFIXES = (".stdout", ".stderr", ".graphml", ".log")


def compress_logs(folder: Path) -> None:
    """Compress the logs of every host in ``folder``; empty ones go, and so does what run.json and the network
    give again. While a plain log is there, it counts before a compressed one."""
    for made in ("template", "graph.gml"):
        _remove(folder / made)
    for entry in sorted((folder / HOSTS_FOLDER).glob("*/*")):
        if entry.suffix == ".gz":
            continue
        if not entry.is_dir() and entry.suffix in _KEPT_SUFFIXES and entry.stat().st_size:
            packed = entry.with_name(f"{entry.name}.gz")
            with entry.open("rb") as plain, gzip.open(packed, "wb", compresslevel=6) as file:
                shutil.copyfileobj(plain, file)
        _remove(entry)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


LAYOUT_FILE = "layout.json"

SHADOW_FOLDER = "shadow"
"""Below a run directory: everything that Shadow reads and leaves."""

HOSTS_FOLDER = "data/hosts"
"""Below the ``shadow`` folder: a folder for each host, in it ``PROGRAM.PID.stdout`` of each of its
processes."""

TEMPLATE_HOSTS = "template/hosts"
"""Below the ``shadow`` folder: the folder of each host as it is when the simulation starts."""


@dataclass(frozen=True)
class Layout:
    """Times and names of a simulation.

    The run's time 0 is ``epoch_s`` (the simulated wall clock at Shadow's start, seconds since 1970) plus
    ``bootstrap_ns``, and the run ends ``duration_ns`` later. ``clients`` gives the kind of each client
    with a tor, ``relays`` and ``authorities`` the fingerprint of each by name, ``servers`` the name by
    address, that of an onion service too.
    """

    epoch_s: int
    bootstrap_ns: int
    duration_ns: int
    clients: Mapping[str, str]
    relays: Mapping[str, str]
    authorities: Mapping[str, str]
    servers: Mapping[str, str]

    @property
    def start_us(self) -> int:
        """The run's time 0, µs since 1970 of the simulated clock."""
        return self.epoch_s * 1_000_000 + self.bootstrap_ns // 1000

    @property
    def end_us(self) -> int:
        """The run's end, likewise."""
        return self.start_us + self.duration_ns // 1000

    def since_start(self, column: str) -> pl.Expr:
        """``column``, µs since 1970, counted from the run's time 0."""
        return pl.col(column) - self.start_us

    def write(self, folder: Path) -> None:
        """Write layout.json into ``folder``."""
        write_text(folder / LAYOUT_FILE, json.dumps(asdict(self), indent=1, sort_keys=True) + "\n")


def read_layout(folder: Path) -> Layout:
    """The layout in ``folder``; InputError when it is missing or of another version."""
    file = folder / LAYOUT_FILE
    return validate(Layout, read_json(file), file)
