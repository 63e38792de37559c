"""The network directory: ``network.json`` and ``latency.npy``.

In and out: :class:`Network` with its :class:`Latencies`. Reading checks everything
an engine relies on; writing gives the same bytes for the same network.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, StrictBool, model_validator

from torsweep.config.option_bundle import Position as Position
from torsweep.config.option_bundle import Role
from torsweep.config.reading import RefusedValue, left_out, validate
from torsweep.config.traffic import ONION, AnyKind
from torsweep.errors import InputError
from torsweep.formats.files import read_json
from torsweep.formats.frames import map_array
from torsweep.network.bandwidth_weights import WEIGHTS_OF_HOPS
from torsweep.provenance import sha256_of_file
from torsweep.seeds import MOST_SEED
from torsweep.storage import changed_since, whole_directory
from torsweep.storage.folders import NETWORK_FOLDER
from torsweep.units import (
    MOST_CONFIGURED_BYTES,
    MOST_CONSENSUS_WEIGHT,
    MOST_LINK_BYTES_PER_S,
    MOST_LOSS_SHARE,
    MOST_NETWORK_BYTES,
    MOST_PLACES,
    MOST_RTT_US,
)

NETWORK_FILE = "network.json"
LATENCY_FILE = "latency.npy"

LATENCY_FLOOR_US = 2_000
"""No RTT is below this. Shadow advances hosts in steps of the smallest latency of the graph, so a
single pair of hosts in one room would slow the whole simulation down."""


POSITIONS: tuple[Position, ...] = ("guard_exit", "exit", "guard", "middle")

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+$", max_length=64)]
PlaceNumber = Annotated[int, Field(strict=True, ge=0, lt=MOST_PLACES)]
Access = Annotated[int, Field(strict=True, ge=0, le=MOST_RTT_US)]
Rate = Annotated[int, Field(strict=True, ge=1, le=MOST_CONFIGURED_BYTES)]
LinkRate = Annotated[int, Field(strict=True, ge=1, le=MOST_LINK_BYTES_PER_S)]
Weight = Annotated[int, Field(strict=True, ge=1, le=MOST_CONSENSUS_WEIGHT)]


Country = Annotated[str, Field(pattern=r"^[A-Z]{2}$")]
Continent = Literal["Africa", "Asia", "Europe", "North America", "Oceania", "South America"]
CONTINENTS: tuple[str, ...] = get_args(Continent)


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Host(_Part):
    """A host: ``place`` is its row of the matrix of round trips, ``access_us`` what its access link adds to
    each of them, microseconds; ``country`` (two letters, ISO 3166) and ``continent`` where they are known."""

    name: Name
    place: PlaceNumber
    access_us: Access
    country: Country | None = left_out()
    continent: Continent | None = left_out()


class Relay(_Host):
    """A relay. Its bucket refills at ``rate_bytes_per_s`` and holds ``burst_bytes``; its link carries
    ``capacity_bytes_per_s`` each way. ``refill_phase`` is when its refills happen, in fractions of
    the refill interval."""

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
        """Bytes per second that the relay can carry in the long run, in each direction."""
        return min(self.rate_bytes_per_s, self.capacity_bytes_per_s)


class Authority(_Host):
    """A directory authority."""


class Client(_Host):
    """A client and the rates of its access link. ``server`` is the only one that it downloads from, and
    nobody else; without it, the client draws one of the others each time. ``tor`` is the client before it
    whose tor and link it uses; without it, it has its own."""

    kind: AnyKind
    down_bytes_per_s: LinkRate
    up_bytes_per_s: LinkRate
    server: Name | None = left_out()
    tor: Name | None = left_out()


class Server(_Host):
    """A server outside the Tor network and the rates of its link. With ``onion``, a tor beside it makes it an
    onion service, too."""

    down_bytes_per_s: LinkRate
    up_bytes_per_s: LinkRate
    onion: StrictBool = left_out(False)


class ProgramHost(_Host):
    """A host that programs of a run have for themselves, and the rates of its link; ``torrc`` are the lines
    of its tor, if it has one. It is in run.json, and no part of the network."""

    down_bytes_per_s: Rate
    up_bytes_per_s: Rate
    torrc: dict[str, str] | None = left_out()


Host = Relay | Authority | Client | Server | ProgramHost


def link_rates(host: Host, authority_bytes_per_s: int) -> tuple[int, int]:
    """Bytes per second of a host's link, down and up; an authority has ``authority_bytes_per_s``."""
    if isinstance(host, Relay):
        return host.capacity_bytes_per_s, host.capacity_bytes_per_s
    if isinstance(host, Authority):
        return authority_bytes_per_s, authority_bytes_per_s
    return host.down_bytes_per_s, host.up_bytes_per_s


_HOSTS = ("relays", "authorities", "clients", "servers")
NETWORK_FORMAT: Literal["torsweep-network"] = "torsweep-network"
_NETWORK_VERSION: Literal[3] = 3

HostNumbers = NDArray[np.integer] | int


@dataclass(frozen=True)
class Latencies:
    """Round trips in microseconds.

    ``matrix_us`` (places, places) int32, symmetric, whose diagonal is the round trip of two hosts at one
    place; ``place`` (hosts,) is each host's row of it and ``access_us`` (hosts,) int64 what its access link
    adds to each round trip. No round trip is below ``floor_us``, none is above a minute.
    """

    matrix_us: NDArray[np.int32]
    place: NDArray[np.integer]
    access_us: NDArray[np.int64]
    floor_us: int

    def between(self, first: HostNumbers, second: HostNumbers) -> NDArray[np.int64]:
        """The round trips of hosts ``first`` and ``second``, of the shape that both broadcast to. A host and
        itself are ``floor_us`` apart."""
        first, second = np.asarray(first), np.asarray(second)
        rtt_us = self.matrix_us[self.place[first], self.place[second]].astype(np.int64)
        rtt_us = np.clip(rtt_us + self.access_us[first] + self.access_us[second], self.floor_us, MOST_RTT_US)
        return np.where(first == second, self.floor_us, rtt_us)


class Network(_Part):
    """The content of ``network.json``. Hosts are in the order relays, authorities, clients (by group),
    servers; the number of a host, its node in an engine, is its position in it. ``latency_sha256`` is the
    checksum of ``latency.npy``; :func:`write_network` fills it in. ``loss_share`` of the packets between two
    hosts is lost; a network without loss does not say so. ``tornettools`` is the checksum of the folder of a
    network that tornettools made; it has no latencies here, and all its hosts are at place 0.
    ``program_hosts`` are those of a run; a file has none."""

    format: Literal["torsweep-network"] = NETWORK_FORMAT
    format_version: Literal[3] = _NETWORK_VERSION
    config: dict[str, Any]
    config_sha256: str
    inputs_sha256: dict[str, str]
    seed: Annotated[int, Field(strict=True, ge=0, le=MOST_SEED)]
    bandwidth_weights: dict[str, Annotated[int, Field(strict=True, ge=0, le=10_000)]]
    latency_floor_us: Annotated[int, Field(strict=True, ge=1, le=MOST_RTT_US)]
    latency_sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] = left_out("")
    tornettools: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = left_out()
    loss_share: Annotated[float, Field(strict=True, ge=0, le=MOST_LOSS_SHARE)] = left_out(0.0)
    relays: tuple[Relay, ...]
    authorities: tuple[Authority, ...]
    clients: tuple[Client, ...]
    servers: tuple[Server, ...]
    program_hosts: tuple[ProgramHost, ...] = left_out(())

    @model_validator(mode="after")
    def _has_weights_of_hops(self) -> Self:
        for name in WEIGHTS_OF_HOPS:
            if name not in self.bandwidth_weights:
                raise RefusedValue("is missing", key=f"bandwidth_weights.{name}", accepted="0 to 10000")
        return self

    @model_validator(mode="after")
    def _own_servers_come_last(self) -> Self:
        own = [client.server for client in self.clients if client.server is not None]
        last = [server.name for server in self.servers[len(self.servers) - len(own) :]]
        if sorted(own) != sorted(last) or (own and len(own) >= len(self.servers)):
            accepted = "the last servers, one each"
            raise RefusedValue("is not a client's own", key="clients.server", accepted=accepted)
        return self

    @model_validator(mode="after")
    def _tors_are_shared_within_a_kind(self) -> Self:
        kinds = {client.name: client.kind for client in self.tor_clients}
        for client in self.clients:
            if client.tor is not None and kinds.get(client.tor) != client.kind:
                accepted = f"a {client.kind} client with a tor of its own"
                raise RefusedValue("has no such tor", key=f"{client.name}.tor", accepted=accepted)
        return self

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        names = [host.name for host in self.hosts]
        if len(set(names)) < len(names):
            ((twice, _),) = Counter(names).most_common(1)
            raise RefusedValue("a name is given twice", key="name", value=twice)
        return self

    @property
    def hosts(self) -> tuple[Host, ...]:
        """All hosts in order."""
        return (*self.relays, *self.authorities, *self.clients, *self.servers, *self.program_hosts)

    @property
    def node_of(self) -> dict[str, int]:
        """The number of each host by its name."""
        return {host.name: node for node, host in enumerate(self.hosts)}

    @property
    def node_count(self) -> int:
        """The number of hosts."""
        return len(self.hosts)

    def latencies(self, matrix_us: NDArray[np.int32]) -> Latencies:
        """The round trips of the hosts, whose places have ``matrix_us`` (places, places)."""
        place = np.fromiter((host.place for host in self.hosts), np.int32, self.node_count)
        access_us = np.fromiter((host.access_us for host in self.hosts), np.int64, self.node_count)
        return Latencies(matrix_us, place, access_us, self.latency_floor_us)

    @property
    def tor_clients(self) -> tuple[Client, ...]:
        """The clients that have a tor of their own."""
        return tuple(client for client in self.clients if client.tor is None)

    @property
    def tor_hosts(self) -> dict[Role, tuple[Host, ...]]:
        """The hosts that run tor, by role; those of programs are none of them."""
        return {"authority": self.authorities, "relay": self.relays, "client": self.tor_clients}

    @property
    def users(self) -> dict[str, tuple[Client, ...]]:
        """For each of :attr:`tor_clients` the clients that use its tor, itself first."""
        users: dict[str, list[Client]] = {}
        for client in self.clients:
            users.setdefault(client.tor or client.name, []).append(client)
        return {tor: tuple(clients) for tor, clients in users.items()}

    def clients_of(self, kind: AnyKind) -> tuple[Client, ...]:
        """The clients of ``kind``."""
        return tuple(client for client in self.clients if client.kind == kind)

    @cached_property
    def _shared_servers(self) -> tuple[Server, ...]:
        own = {client.server for client in self.clients}
        return tuple(server for server in self.servers if server.name not in own)

    def servers_for(self, kind: AnyKind) -> tuple[Server, ...]:
        """The servers that clients of ``kind`` without a server of their own download from."""
        return tuple(server for server in self._shared_servers if server.onion or kind != ONION)

    def servers_of(self, client: Client) -> tuple[Server, ...]:
        """The servers that ``client`` downloads from."""
        if client.server is None:
            return self.servers_for(client.kind)
        return tuple(server for server in self.servers if server.name == client.server)


def canonical_sha256(document: Any) -> str:
    """SHA-256 of ``document`` as compact JSON with sorted keys."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def network_text(network: Network) -> str:
    """``network`` as JSON with sorted keys: a line for each host and for each other key.

    The standard library's indented JSON takes several times as long for a hundred thousand hosts.
    """

    def text(value: object) -> str:
        return json.dumps(value, sort_keys=True, ensure_ascii=False)

    lines = []
    for key, value in sorted(network.model_dump(mode="json").items()):
        several = key in _HOSTS and value
        written = "[\n  " + ",\n  ".join(map(text, value)) + "\n ]" if several else text(value)
        lines.append(f" {text(key)}: {written}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def write_network(network: Network, matrix_us: NDArray[np.int32], directory: Path) -> None:
    """Write ``directory`` as a whole, replacing what stood there. ``matrix_us`` holds the round trips between
    places, (places, places) int32 in microseconds."""
    with whole_directory(directory, NETWORK_FOLDER) as temporary:
        with (temporary / LATENCY_FILE).open("wb") as file:
            # ndarray.tofile, which write_array calls, does not say why a file could not be written.
            header = {"descr": "<i4", "fortran_order": False, "shape": matrix_us.shape}
            np.lib.format.write_array_header_1_0(file, header)
            file.write(np.ascontiguousarray(matrix_us, dtype="<i4").data)
        latency_sha256 = sha256_of_file(temporary / LATENCY_FILE)
        whole = network.model_copy(update={"latency_sha256": latency_sha256})
        (temporary / NETWORK_FILE).write_text(network_text(whole), encoding="utf-8")


def read_network(directory: Path, *, latency: bool = True) -> tuple[Network, Latencies]:
    """The network in ``directory`` and the round trips of its hosts; their matrix is mapped.

    With ``latency=False`` an empty matrix stands in for it. Raises InputError when a file is missing,
    damaged, of an older version, or does not fit the other, when two places have no round trip or a host is
    at a place that does not exist; and for the latencies of a network of tornettools, which are in its own
    graph.
    """
    path = directory / NETWORK_FILE
    if not path.exists():
        problem, accepted = "is not a network directory: no network.json in it", "what `network sample` wrote"
        raise InputError(problem, file=directory, accepted=accepted)
    document = read_json(path, most_bytes=MOST_NETWORK_BYTES)
    if document.get("format") == NETWORK_FORMAT and document.get("format_version") in (1, 2):
        # These had a round trip for each two hosts.
        problem = "the network is of an older version: sample it anew (torsweep network sample)"
        version = document["format_version"]
        raise InputError(
            problem, file=path, key="format_version", value=version, accepted=str(_NETWORK_VERSION)
        )
    network = validate(Network, document, path)
    if not latency:
        return network, network.latencies(np.empty((0, 0), dtype=np.int32))
    return network, read_latency(directory, network)


def read_latency(directory: Path, network: Network) -> Latencies:
    """The round trips of ``network``, which is in ``directory``; errors as :func:`read_network`."""
    if network.tornettools:
        problem = "is a network that tornettools made: only Shadow runs it, on the network's own graph"
        raise InputError(problem, file=directory / NETWORK_FILE, accepted="engine shadow")
    matrix = _read_matrix(directory / LATENCY_FILE, network.latency_sha256)
    latencies = network.latencies(matrix)
    wrong = np.flatnonzero(latencies.place >= len(matrix))
    if len(wrong):
        host = network.hosts[int(wrong[0])]
        raise InputError(
            "is at a place that does not exist",
            file=directory / NETWORK_FILE,
            key=host.name,
            value=host.place,
            accepted=f"0 to {len(matrix) - 1}, the rows of {LATENCY_FILE}",
        )
    return latencies


def _read_matrix(path: Path, sha256: str) -> NDArray[np.int32]:
    if not path.exists():
        raise changed_since("is missing", path, path.parent)
    matrix = map_array(path)
    require_matrix(matrix, path)
    if sha256_of_file(path) != sha256:
        raise changed_since(f"has changed: its SHA-256 is not the one in {NETWORK_FILE}", path, path.parent)
    require_round_trips(matrix, path)
    return matrix


def require_matrix(matrix: NDArray, file: Path, least: int = 1) -> None:
    """InputError unless ``matrix`` is one of whole numbers, in rows, with ``least`` places or more."""
    square = matrix.ndim == 2 and least <= matrix.shape[0] == matrix.shape[1] <= MOST_PLACES
    if not square or matrix.dtype != np.dtype("<i4") or not matrix.flags.c_contiguous:
        value = f"{matrix.dtype} {matrix.shape}"
        accepted = f"int32 (places, places), {least} to {MOST_PLACES}"
        raise InputError("is no matrix of round trips", file=file, value=value, accepted=accepted)


def require_round_trips(matrix_us: NDArray, file: Path, *, diagonal: bool = True) -> None:
    """InputError, naming ``file`` and two places, unless each two places have a round trip, the same both
    ways; without ``diagonal``, none is asked for within a place."""
    fits = (matrix_us >= 1) & (matrix_us <= MOST_RTT_US)
    if not diagonal:
        np.fill_diagonal(fits, True)
    for wrong, problem in (
        (~fits, "two places have no round trip"),
        (matrix_us != matrix_us.T, "two places have another round trip the other way"),
    ):
        if wrong.any():
            one, other = np.argwhere(wrong)[0].tolist()
            value, accepted = matrix_us[one, other].item(), f"1 to {MOST_RTT_US} µs, the same both ways"
            raise InputError(problem, file=file, key=f"[{one}, {other}]", value=value, accepted=accepted)
