"""A network from a configuration and a seed.

In: a :class:`~torsweep.config.network.NetworkConfig`, a seed. Out: a :class:`Network` and its
latencies, a pure function of both and of the tables the configuration names.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from torsweep.config.knobs import USUAL_WEIGHTS
from torsweep.config.network import LatencySource, NetworkConfig, Source
from torsweep.config.traffic import KINDS, PERF_KINDS
from torsweep.errors import InputError
from torsweep.home import find, find_all
from torsweep.network.clients import BANDWIDTH_FILE, read_bandwidth, sample_client_rates
from torsweep.network.latency import (
    MODEL_FILE,
    LatencyField,
    MeasuredPairs,
    ModelledPairs,
    PairLatency,
    access_round_trips,
    read_measured,
    read_model,
)
from torsweep.network.model import (
    LATENCY_FLOOR_US,
    Authority,
    Client,
    Network,
    Relay,
    Server,
    canonical_sha256,
)
from torsweep.network.population import POPULATION_FILE, read_population
from torsweep.network.relays import chain_relays, network_bandwidth_weights, sample_relays
from torsweep.network.weights import read_weights, weighted, weights_path
from torsweep.provenance import sha256_of_file
from torsweep.tornet.folder import CONFIGURATION

TOPOLOGIES = Path("topologies")

ClientRates = Callable[[str, int], tuple[NDArray[np.int64], NDArray[np.int64]]]
"""(kind, count) → rates down and up of the clients of that kind, bytes per second."""


@dataclass(frozen=True)
class SampledNetwork:
    """A network and the field that yields its RTT matrix."""

    network: Network
    latency: LatencyField


def sample_network(config: NetworkConfig, seed: int) -> SampledNetwork:
    """The network of ``config`` and ``seed``.

    Raises InputError when a table that ``config`` names is missing or damaged, or cannot give what
    is asked of it.
    """
    paths = input_paths(config)
    relays = _relays(config, paths, seed)
    counts = {
        "relay": len(relays),
        "authority": config.authorities,
        "web": config.web_client_count,
        "bulk": config.bulk_client_count,
        "perf": config.perf_clients,
        "server": config.servers,
    }
    document = config.model_dump(mode="json")
    first_client = len(relays) + config.authorities
    clients = _clients(counts, _client_rates(config, paths, seed), first_client)
    clients += _perf_clients(config, first_client + len(clients))
    network = Network(
        config=document,
        config_sha256=canonical_sha256(document),
        inputs_sha256={kind: sha256_of_file(path) for kind, path in paths.items()},
        seed=seed,
        bandwidth_weights=network_bandwidth_weights(relays),
        latency_floor_us=LATENCY_FLOOR_US,
        loss_share=config.loss.share,
        relays=relays,
        authorities=tuple(
            Authority(name=f"authority{number + 1}", node=len(relays) + number)
            for number in range(config.authorities)
        ),
        clients=clients,
        servers=_servers(config, first_client + len(clients)),
    )
    pairs = _pair_latency(config.latency, paths["latency"], counts, seed)
    return SampledNetwork(network, LatencyField(pairs, access_round_trips(counts, config.access_delay, seed)))


def input_paths(config: NetworkConfig) -> dict[str, Path]:
    """The files that the network is sampled from, by what they hold: relays, bandwidth, weights, latency; or
    those that say what networks of tornettools are.

    Raises InputError when one that ``config`` names is missing.
    """
    if config.tornettools:
        folders = enumerate(config.tornettools, start=1)
        return {f"tornettools {number}": find(folder) / CONFIGURATION for number, folder in folders}
    paths = {}
    if config.chain is None:
        paths["relays"] = source_path(config.relay_population, "relays", POPULATION_FILE)
    if config.client_bandwidth.rate is None:
        paths["bandwidth"] = source_path(config.client_bandwidth, "bandwidth", BANDWIDTH_FILE)
    if config.weights.name != USUAL_WEIGHTS:
        paths["weights"] = weights_path(config.weights)
    return {**paths, "latency": source_path(config.latency, "latency", MODEL_FILE)}


def source_path(source: Source, kind: str, file_name: str) -> Path:
    """The file that ``source`` names, or ``file_name`` in the folder of an importer that it names.

    ``kind`` is the folder of derived tables of this sort in ``topologies/``, of the study or of
    the checkout (:mod:`torsweep.home`).
    """
    suffix = Path(file_name).suffix
    if source.file is not None:
        given = find(source.file)
        path = given / file_name if given.is_dir() else given
        if not path.is_file():
            raise InputError("no such file", file=path, accepted=f"a {file_name} made by torsweep")
        return path
    path = find(TOPOLOGIES / kind / f"{source.name}{suffix}")
    if path.is_file():
        return path
    names = [file.stem for file in find_all(TOPOLOGIES / kind, f"*{suffix}")]
    problem = f"no derived table of this name under {TOPOLOGIES / kind}"
    accepted = ", ".join(names) or f"start torsweep where {TOPOLOGIES} is, or give {{file: PATH}}"
    raise InputError(problem, key=kind, value=source.name, accepted=accepted)


def _relays(config: NetworkConfig, paths: dict[str, Path], seed: int) -> tuple[Relay, ...]:
    if config.chain is not None:
        return chain_relays(config.chain, seed)
    relays = sample_relays(config, read_population(paths["relays"]), seed)
    weights = paths.get("weights")
    return weighted(relays, read_weights(weights), weights) if weights is not None else relays


def _client_rates(config: NetworkConfig, paths: dict[str, Path], seed: int) -> ClientRates:
    rate = config.client_bandwidth.rate
    if rate is not None:
        return lambda kind, count: (np.full(count, rate), np.full(count, rate))
    table = read_bandwidth(paths["bandwidth"])
    return lambda kind, count: sample_client_rates(table, count, seed, kind)


def _pair_latency(source: LatencySource, path: Path, counts: dict[str, int], seed: int) -> PairLatency:
    if source.file is None or source.use == "fit":
        return ModelledPairs(read_model(path), counts, seed)
    measured = read_measured(path)
    hosts = sum(counts.values())
    if hosts > len(measured):
        problem, accepted = (
            "has fewer rows than the network has hosts",
            "fit, which makes any number of hosts",
        )
        value = f"direct, {len(measured)} rows for {hosts} hosts"
        raise InputError(problem, file=path, key="latency.use", value=value, accepted=accepted)
    return MeasuredPairs(measured, counts, seed)


def _clients(counts: dict[str, int], rates: ClientRates, node: int) -> tuple[Client, ...]:
    clients: list[Client] = []
    for kind in KINDS:
        down, up = rates(kind, counts[kind])
        for number in range(counts[kind]):
            clients.append(
                Client(
                    name=f"{kind}{number + 1}",
                    node=node + len(clients),
                    kind=kind,
                    down_bytes_per_s=int(down[number]),
                    up_bytes_per_s=int(up[number]),
                )
            )
    return tuple(clients)


def _perf_clients(config: NetworkConfig, node: int) -> tuple[Client, ...]:
    rate = config.server_bandwidth
    return tuple(
        Client(
            name=f"perf{number + 1}",
            node=node + number,
            kind=PERF_KINDS[number % len(PERF_KINDS)],
            down_bytes_per_s=rate,
            up_bytes_per_s=rate,
        )
        for number in range(config.perf_clients)
    )


def _servers(config: NetworkConfig, node: int) -> tuple[Server, ...]:
    rate = config.server_bandwidth
    return tuple(
        Server(name=f"server{number + 1}", node=node + number, down_bytes_per_s=rate, up_bytes_per_s=rate)
        for number in range(config.servers)
    )
