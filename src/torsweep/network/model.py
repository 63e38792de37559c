"""The network directory: ``network.json`` and ``latency.npy``.

In and out: :class:`Network` with the latency matrix. Reading checks everything an engine relies on;
writing gives the same bytes for the same network.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, StrictBool, model_validator

from torsweep.config.reading import RefusedValue, validate
from torsweep.config.traffic import AnyKind
from torsweep.config.where import Position as Position
from torsweep.errors import InputError
from torsweep.formats.arrays import map_array
from torsweep.formats.json_file import read_json
from torsweep.network.bandwidth_weights import WEIGHTS_OF_HOPS
from torsweep.provenance import sha256_of_file
from torsweep.ranges import (
    MOST_CONFIGURED_BYTES,
    MOST_CONSENSUS_WEIGHT,
    MOST_LOSS_SHARE,
    MOST_NODES,
    MOST_RTT_US,
)
from torsweep.seeds import MOST_SEED
from torsweep.storage import whole_directory
from torsweep.storage.folders import NETWORK
from torsweep.storage.manifest import changed_since
from torsweep.tornet.folder import is_tornet

NETWORK_FILE = "network.json"
LATENCY_FILE = "latency.npy"

LATENCY_FLOOR_US = 2_000
"""No RTT is below this. Shadow advances hosts in steps of the smallest latency of the graph, so a
single pair of hosts in one room would slow the whole simulation down."""


POSITIONS: tuple[Position, ...] = ("guard_exit", "exit", "guard", "middle")

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+$", max_length=64)]
Node = Annotated[int, Field(strict=True, ge=0, lt=MOST_NODES)]
Rate = Annotated[int, Field(strict=True, ge=1, le=MOST_CONFIGURED_BYTES)]
Weight = Annotated[int, Field(strict=True, ge=1, le=MOST_CONSENSUS_WEIGHT)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Relay(_Part):
    """A relay. Its bucket refills at ``rate_bytes_per_s`` and holds ``burst_bytes``; its link carries
    ``capacity_bytes_per_s`` each way. ``refill_phase`` is when its refills happen, in fractions of
    the refill interval."""

    name: Name
    node: Node
    position: Position
    rate_bytes_per_s: Rate
    burst_bytes: Rate
    capacity_bytes_per_s: Rate
    consensus_weight: Weight
    refill_phase: Annotated[float, Field(strict=True, ge=0, lt=1)]
    rate_floored: StrictBool

    @property
    def bucket_binds(self) -> bool:
        """Whether the token bucket, not the link, limits what the relay carries in the long run."""
        return self.rate_bytes_per_s < self.capacity_bytes_per_s

    @property
    def usable_bytes_per_s(self) -> int:
        """What the relay can carry in the long run, each way."""
        return min(self.rate_bytes_per_s, self.capacity_bytes_per_s)


class Authority(_Part):
    """A directory authority."""

    name: Name
    node: Node


class Client(_Part):
    """A client and the rates of its access link."""

    name: Name
    node: Node
    kind: AnyKind
    down_bytes_per_s: Rate
    up_bytes_per_s: Rate


class Server(_Part):
    """A server outside the Tor network and the rates of its link."""

    name: Name
    node: Node
    down_bytes_per_s: Rate
    up_bytes_per_s: Rate


class Network(_Part):
    """What ``network.json`` holds. Nodes are rows of the latency matrix, one a host, in the order
    relays, authorities, clients (web, then bulk, then perf), servers. ``latency_sha256`` is the checksum of
    ``latency.npy``; :func:`write_network` fills it in. ``loss_share`` of the packets between two hosts is
    lost; a network without loss does not say so. ``tornettools`` is the checksum of the folder of a network
    that tornettools made; it has no latencies here."""

    format: Literal["torsweep-network"] = "torsweep-network"
    format_version: Literal[2] = 2
    config: dict[str, Any]
    config_sha256: str
    inputs_sha256: dict[str, str]
    seed: Annotated[int, Field(strict=True, ge=0, le=MOST_SEED)]
    bandwidth_weights: dict[str, Annotated[int, Field(strict=True, ge=0, le=10_000)]]
    latency_floor_us: Annotated[int, Field(strict=True, ge=1, le=MOST_RTT_US)]
    latency_sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] = Field(
        default="", exclude_if=lambda sha256: sha256 == ""
    )
    tornettools: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = Field(
        default=None, exclude_if=lambda sha256: sha256 is None
    )
    loss_share: Annotated[float, Field(strict=True, ge=0, le=MOST_LOSS_SHARE)] = Field(
        default=0.0, exclude_if=lambda share: share == 0
    )
    relays: tuple[Relay, ...]
    authorities: tuple[Authority, ...]
    clients: tuple[Client, ...]
    servers: tuple[Server, ...]

    @model_validator(mode="after")
    def _weights_are_there(self) -> Self:
        """Each bandwidth-weight that the choice of a path asks for is told."""
        for name in WEIGHTS_OF_HOPS:
            if name not in self.bandwidth_weights:
                raise RefusedValue("is missing", key=f"bandwidth_weights.{name}", accepted="0 to 10000")
        return self

    @model_validator(mode="after")
    def _hosts_are_told_apart(self) -> Self:
        """Each host has the node of its place and a name of its own."""
        hosts: list[Any] = [*self.relays, *self.authorities, *self.clients, *self.servers]
        for place, host in enumerate(hosts):
            if host.node != place:
                problem = f"the node of {host.name} is not that of its place"
                raise RefusedValue(problem, key="node", value=host.node, accepted=str(place))
        names = [host.name for host in hosts]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise RefusedValue("a name stands twice", key="name", value=twice)
        return self

    @property
    def node_count(self) -> int:
        """The number of hosts, each its own node."""
        return len(self.relays) + len(self.authorities) + len(self.clients) + len(self.servers)

    def clients_of(self, kind: AnyKind) -> tuple[Client, ...]:
        """The clients of ``kind``."""
        return tuple(client for client in self.clients if client.kind == kind)


def canonical_sha256(document: Any) -> str:
    """SHA-256 of ``document`` as compact JSON with sorted keys."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def write_network(network: Network, latency_rows: Iterable[NDArray[np.int32]], directory: Path) -> None:
    """Write ``directory`` as a whole, replacing what stood there.

    ``latency_rows`` yields blocks of rows of the RTT matrix, each (rows, nodes) int32 in
    microseconds, in order; a whole matrix in a list is one block.
    """
    with whole_directory(directory, NETWORK) as temporary:
        _write_matrix(temporary / LATENCY_FILE, latency_rows, network.node_count)
        latency_sha256 = sha256_of_file(temporary / LATENCY_FILE)
        document = network.model_dump(mode="json") | {"latency_sha256": latency_sha256}
        text = json.dumps(document, sort_keys=True, indent=1, ensure_ascii=False)
        (temporary / NETWORK_FILE).write_text(text + "\n", encoding="utf-8")


def _write_matrix(path: Path, blocks: Iterable[NDArray[np.int32]], nodes: int) -> None:
    header = {"descr": "<i4", "fortran_order": False, "shape": (nodes, nodes)}
    written = 0
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for block in blocks:
            if block.dtype != np.int32 or block.ndim != 2 or block.shape[1] != nodes:
                raise ValueError(f"a block of {block.dtype} {block.shape} in a matrix of {nodes} nodes")
            file.write(np.ascontiguousarray(block, dtype="<i4").data)
            written += len(block)
    if written != nodes:
        raise ValueError(f"{written} rows in a matrix of {nodes} nodes")


def read_network(directory: Path, *, latency: bool = True) -> tuple[Network, NDArray[np.int32]]:
    """The network in ``directory`` and its RTT matrix, (nodes, nodes) int32 in microseconds.

    The matrix is mapped. With ``latency=False`` an empty matrix stands in for it. Raises InputError when a
    file is missing, damaged, or does not fit the other, or an RTT is out of range; and for the latencies of a
    network of tornettools, which are in its own graph.
    """
    path = directory / NETWORK_FILE
    if not path.exists():
        raise _not_a_network(directory)
    network = validate(Network, read_json(path), path)
    return network, read_latency(directory, network) if latency else np.empty((0, 0), dtype=np.int32)


def read_latency(directory: Path, network: Network) -> NDArray[np.int32]:
    """The RTT matrix of ``network``, which is in ``directory``; errors as :func:`read_network`."""
    if network.tornettools:
        problem = "is a network that tornettools made: Shadow alone plays it, on the network's own graph"
        raise InputError(problem, file=directory / NETWORK_FILE, accepted="engine shadow")
    matrix = _read_matrix(directory / LATENCY_FILE, network.node_count)
    _check_content(directory / LATENCY_FILE, matrix, network.latency_sha256)
    return matrix


def _not_a_network(directory: Path) -> InputError:
    if is_tornet(directory):
        problem = "was made by tornettools generate, and is no network directory"
        return InputError(problem, file=directory, accepted=f"`torsweep compare --network {directory}`")
    return InputError("is not a network directory: no network.json in it", file=directory)


def _read_matrix(path: Path, nodes: int) -> NDArray[np.int32]:
    if not path.exists():
        raise changed_since("is missing", path, path.parent)
    matrix = map_array(path)
    if matrix.shape != (nodes, nodes) or matrix.dtype != np.dtype("<i4"):
        value, accepted = f"{matrix.dtype} {matrix.shape}", f"int32 ({nodes}, {nodes})"
        raise InputError("does not fit network.json", file=path, value=value, accepted=accepted)
    return matrix


def _check_content(path: Path, matrix: NDArray[np.int32], sha256: str) -> None:
    found = sha256_of_file(path)
    if found != sha256:
        raise changed_since(f"has changed: its SHA-256 is not the one in {NETWORK_FILE}", path, path.parent)
    for rtt_us in (int(matrix.min()), int(matrix.max())):
        if not 1 <= rtt_us <= MOST_RTT_US:
            accepted = f"1 to {MOST_RTT_US} µs"
            raise InputError("holds an RTT out of range", file=path, value=rtt_us, accepted=accepted)
