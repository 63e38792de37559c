"""A network from a configuration and a seed.

In: a :class:`~torsweep.config.network.NetworkConfig`, a seed. Out: a :class:`Network` and its latencies, a
pure function of both and of the tables the configuration names. ``topologies/countries/NAME.json`` has shares
of hosts by country, which are divided among the places of the table of latency there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from torsweep.config.network import InputSource, LatencySource, NetworkConfig
from torsweep.config.reading import Section, validate
from torsweep.config.traffic import CLIENT_GROUPS, ClientGroup
from torsweep.errors import InputError
from torsweep.formats.files import read_json
from torsweep.home import find, find_all
from torsweep.network.clients import BANDWIDTH_FILE, read_bandwidth, sample_client_rates
from torsweep.network.exact import Floats
from torsweep.network.latency import (
    MODEL_FILE,
    PlacesOf,
    Whereabouts,
    central_place,
    modelled_matrix,
    places_of,
    read_measured,
    read_model,
    with_diagonal,
)
from torsweep.network.model import (
    LATENCY_FLOOR_US,
    Authority,
    Client,
    Latencies,
    Network,
    Relay,
    Server,
    canonical_sha256,
)
from torsweep.network.plain_tables import read_round_trips, with_values
from torsweep.network.relays import (
    POPULATION_FILE,
    chain_relays,
    network_bandwidth_weights,
    read_population,
    sample_relays,
)
from torsweep.network.tornet_folder import TORNET_FILE
from torsweep.provenance import sha256_of_file

_Shares = Annotated[Mapping[str, Annotated[float, Field(ge=0, le=1)]], Field(min_length=1)]


class Countries(Section):
    """Shares by country, of two letters (ISO 3166): of ``clients``, of ``relays`` (and servers and
    authorities), and of a group of clients that is elsewhere; ``origin`` says where they are from."""

    origin: str
    clients: _Shares
    relays: _Shares
    perf: _Shares


RELAY_TABLES, BANDWIDTH_TABLES, LATENCY_TABLES, COUNTRIES_TABLES, RELAY_VALUE_TABLES = (
    Path("topologies", kind) for kind in ("relays", "bandwidth", "latency", "countries", "relay_values")
)
COUNTRIES_FILE, RELAY_VALUES_FILE = "countries.json", "values.csv"
"""Folders of tables that a configuration names."""

ClientRates = Callable[[str, int], tuple[NDArray[np.int64], NDArray[np.int64]]]
"""(kind, count) → rates down and up of the clients of that kind, bytes per second."""


@dataclass(frozen=True)
class SampledNetwork:
    """A network and the round trips between its places, (places, places) microseconds."""

    network: Network
    matrix_us: NDArray[np.int32]

    @property
    def latencies(self) -> Latencies:
        """The round trips between the network's hosts."""
        return self.network.latencies(self.matrix_us)


def sample_network(config: NetworkConfig, seed: int) -> SampledNetwork:
    """The network of ``config`` and ``seed``.

    The round trips between its places depend on the table and ``seed`` alone, not on the hosts. Raises
    InputError when a table that ``config`` names is missing or damaged, or cannot give what is asked of it.
    """
    paths = input_paths(config)
    by_name = read_round_trips(paths["latency"]) if paths["latency"].suffix == ".csv" else None
    matrix_us, whereabouts = (
        (by_name.matrix_us, None) if by_name else _latencies(config.latency, paths["latency"], seed)
    )
    if "countries" in paths:
        whereabouts = _in_countries(whereabouts, paths["countries"])
    places = places_of(len(matrix_us), config.access_delay, seed, whereabouts)
    places = by_name.places_of(places) if by_name else places
    relays = _relays(config, paths, seed, places)
    clients = _clients(config, _client_rates(config, paths, seed), places)
    document = config.model_dump(mode="json")
    network = Network(
        config=document,
        config_sha256=canonical_sha256(document),
        inputs_sha256={kind: sha256_of_file(path) for kind, path in paths.items()},
        seed=seed,
        bandwidth_weights=network_bandwidth_weights(relays),
        latency_floor_us=LATENCY_FLOOR_US,
        loss_share=config.loss.share,
        relays=relays,
        authorities=_authorities(config.authorities, relays, matrix_us, whereabouts),
        clients=clients,
        servers=_servers(config, places) + _own_servers(clients),
    )
    return SampledNetwork(network, matrix_us)


def input_paths(config: NetworkConfig) -> dict[str, Path]:
    """The files that the network is sampled from, by what they hold: relays, bandwidth, latency; or those
    that say what networks of tornettools are. InputError when one that ``config`` names is missing."""
    if config.tornettools:
        folders = enumerate(config.tornettools, start=1)
        return {f"tornettools {number}": find(folder) / TORNET_FILE for number, folder in folders}
    paths = {}
    if config.chain is None:
        paths["relays"] = source_path(config.relay_population, RELAY_TABLES, POPULATION_FILE)
    if config.client_bandwidth.rate is None:
        paths["bandwidth"] = source_path(config.client_bandwidth, BANDWIDTH_TABLES, BANDWIDTH_FILE)
    if config.countries is not None:
        paths["countries"] = source_path(config.countries, COUNTRIES_TABLES, COUNTRIES_FILE)
    if config.relay_values is not None:
        paths["relay values"] = source_path(config.relay_values, RELAY_VALUE_TABLES, RELAY_VALUES_FILE)
    return {**paths, "latency": source_path(config.latency, LATENCY_TABLES, MODEL_FILE)}


def source_path(source: InputSource, folder: Path, file_name: str) -> Path:
    """The file that ``source`` names, or ``file_name`` in the folder of an importer that it names.

    ``folder`` is that of tables of this sort, in the study or in the checkout (:mod:`torsweep.home`). Raises
    InputError, listing the names there are, when there is none.
    """
    suffix = Path(file_name).suffix
    if source.file is not None:
        path = find(source.file)
        path = path / file_name if path.is_dir() else path
        if not path.is_file():
            raise InputError("no such file", file=path, accepted=f"a {file_name}")
        return path
    named = (find(folder / f"{source.name}{each}") for each in dict.fromkeys((suffix, ".csv")))
    found = next((path for path in named if path.is_file()), None)
    if found is None:
        names = ", ".join(file.stem for file in find_all(folder, f"*{suffix}"))
        accepted = names or f"start torsweep where {folder} is, or give {{file: PATH}}"
        problem = f"there is no table of this name under {folder}"
        raise InputError(problem, key=folder.name, value=source.name, accepted=accepted)
    return found


def _relays(config: NetworkConfig, paths: dict[str, Path], seed: int, places: PlacesOf) -> tuple[Relay, ...]:
    if config.chain is not None:
        return chain_relays(config.chain, seed, places)
    population = read_population(paths["relays"])
    told = with_values(population, paths["relay values"]) if "relay values" in paths else population
    return sample_relays(config, population, told, seed, places)


def _client_rates(config: NetworkConfig, paths: dict[str, Path], seed: int) -> ClientRates:
    rate = config.client_bandwidth.rate
    if rate is not None:
        return lambda kind, count: (np.full(count, rate), np.full(count, rate))
    table = read_bandwidth(paths["bandwidth"])
    return lambda kind, count: sample_client_rates(table, count, seed, kind)


def _latencies(source: LatencySource, path: Path, seed: int) -> tuple[NDArray[np.int32], Whereabouts | None]:
    """The round trips between places, and where these are, if the table says so."""
    if source.use == "direct":
        return with_diagonal(read_measured(path)), None
    model, whereabouts = read_model(path)
    return modelled_matrix(model, seed), whereabouts


def _authorities(
    count: int, relays: tuple[Relay, ...], matrix_us: NDArray[np.int32], whereabouts: Whereabouts | None
) -> tuple[Authority, ...]:
    place = central_place(matrix_us, [relay.place for relay in relays])
    named = whereabouts.named(place) if whereabouts else {}
    at = {"place": place, "access_us": 0, **named}
    return tuple(Authority(name=f"authority{number}", **at) for number in range(1, count + 1))


def _clients(config: NetworkConfig, rates: ClientRates, places: PlacesOf) -> tuple[Client, ...]:
    groups = CLIENT_GROUPS.values()
    return tuple(client for group in groups for client in _of_group(group, config, rates, places))


def _of_group(
    group: ClientGroup, config: NetworkConfig, rates: ClientRates, places: PlacesOf
) -> Iterator[Client]:
    name, count = group.name, config.client_counts[group.name]
    each = config.clients_per_tor if group.shares_tor else 1
    server_rates = np.full(count, config.server_bandwidth)
    down, up = (server_rates, server_rates) if group.does else rates(name, count)
    kinds, has_servers = list(group.kinds), config.own_server_count(group)
    for tor, at in enumerate(places(name, -(-count // each))):
        users = range(tor * each, min((tor + 1) * each, count))
        for user in users:
            yield Client(
                name=f"{name}{user + 1}",
                kind=kinds[user % len(kinds)],
                server=f"{name}server{user + 1}" if has_servers else None,
                tor=None if user == users[0] else f"{name}{users[0] + 1}",
                down_bytes_per_s=int(down[users].sum()),
                up_bytes_per_s=int(up[users].sum()),
                **at,
            )


def tor_hosts(config: NetworkConfig) -> list[str]:
    """The names of the hosts that run tor in a network that is sampled from ``config``."""
    names = [f"relay{number + 1}" for number in range(config.relay_count)]
    for group in CLIENT_GROUPS.values():
        each = config.clients_per_tor if group.shares_tor else 1
        names += [f"{group.name}{user + 1}" for user in range(0, config.client_counts[group.name], each)]
    return names + [f"authority{number + 1}" for number in range(config.authorities)]


def _in_countries(places: Whereabouts | None, path: Path) -> Whereabouts:
    """``places`` with the shares of countries in ``path``; InputError where none of these has a place."""
    if places is None:
        problem, accepted = "needs a table of latency whose places have countries", "wonderproxy-2020"
        raise InputError(problem, key="countries", value=str(path), accepted=f"latency: {accepted}")
    countries = validate(Countries, read_json(path), path)
    codes, count = places.codes, Counter(places.codes)

    def shares(key: str, of_country: Mapping[str, float]) -> Floats:
        of_place = np.array([of_country.get(code, 0.0) / count[code] for code in codes])
        if not of_place.sum():
            accepted = ", ".join(sorted(count))
            raise InputError("no country of these has a place", file=path, key=key, accepted=accepted)
        return of_place / of_place.sum()

    return replace(
        places,
        client_share=shares("clients", countries.clients),
        relay_share=shares("relays", countries.relays),
        own_share={group: shares(group, of) for group, of in countries if group in CLIENT_GROUPS},
    )


def _own_servers(clients: tuple[Client, ...]) -> tuple[Server, ...]:
    """The server beside each of ``clients`` that has one."""
    return tuple(
        Server(name=client.server, **client.model_dump(exclude={"name", "kind", "server"}))
        for client in clients
        if client.server is not None
    )


def _servers(config: NetworkConfig, places: PlacesOf) -> tuple[Server, ...]:
    link = {"down_bytes_per_s": config.server_bandwidth, "up_bytes_per_s": config.server_bandwidth}
    return tuple(
        Server(name=f"server{number}", onion=number <= config.onion_servers, **link, **at)
        for number, at in enumerate(places("server", config.server_count), 1)
    )
