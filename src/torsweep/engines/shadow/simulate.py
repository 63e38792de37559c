"""shadow.yaml: what Shadow is asked to simulate.

In: hosts with their processes, a graph, times. Out: the text of a configuration. It is written as JSON,
which YAML 1.2 contains: a thousand hosts take a fraction of a second so, and the same hosts give the same
bytes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torsweep.engines.shadow.settings import EXPERIMENTAL, MODEL_UNBLOCKED_SYSCALL_LATENCY
from torsweep.errors import InputError


@dataclass(frozen=True)
class Process:
    """A process of a host: what it is, when it starts, and whether it is still to run at the end."""

    path: Path | str
    arguments: Sequence[str]
    start_ns: int
    environment: Mapping[str, str] = field(default_factory=dict)
    runs_to_the_end: bool = True


@dataclass(frozen=True)
class Host:
    """A host at a node of the graph; ``captured_bytes`` of each of its packets are kept in a capture."""

    node: int
    address: str
    processes: Sequence[Process]
    captured_bytes: int = 0


@dataclass(frozen=True)
class Simulation:
    """A whole simulation. ``folder`` holds the template of the hosts' folders, the graph and the data."""

    hosts: Mapping[str, Host]
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

    def _host(self, name: str, host: Host) -> dict[str, Any]:
        for process in host.processes:
            if process.start_ns >= self.stop_ns:
                raise InputError(
                    "a process starts when the simulation is over",
                    file="shadow.yaml",
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


def _ns(time_ns: int) -> str:
    return f"{time_ns} ns"
