"""Prepare a run: the settings of a variant, on a network.

In: a run's settings, a variant, a network directory, the builds of tor. Out: :class:`RunSpec`, all that an
engine needs.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Set
from pathlib import Path
from typing import Any

from torsweep.config.conflux import CONFLUX, LEAST_RELAYS
from torsweep.config.eras import usual_levels
from torsweep.config.knob import AUTO
from torsweep.config.knobs import find_knob
from torsweep.config.network import NetworkConfig
from torsweep.config.reading import apply_overrides, validate
from torsweep.config.tor_settings import Codel, TorSettings, Transport
from torsweep.config.traffic import MEASURING_TRAFFIC, ONION, AnyKind
from torsweep.config.variant import FREE, Variant
from torsweep.engines.circuit_paths import drawn_paths
from torsweep.engines.host_choice import STOCK_ALONE, RunTors
from torsweep.engines.registry import find_engine, real_engines
from torsweep.engines.run_spec import RunSettings, RunSpec, RunTraffic
from torsweep.errors import InputError
from torsweep.machine import read_machine
from torsweep.network.model import NETWORK_FILE, Network, read_network
from torsweep.network.relays import only_paths
from torsweep.provenance import sha256_of_file


def build_run(
    settings: RunSettings,
    variant: Variant,
    network: Path,
    run_directory: Path,
    tors: RunTors = STOCK_ALONE,
) -> RunSpec:
    """The run of ``settings`` on the network in the directory ``network``, with ``tors``; InputError when
    that is no whole network, or one on which the run cannot be made."""
    file = network / NETWORK_FILE
    sampled, _ = read_network(network, latency=not find_engine(settings.engine).takes_tornettools)
    check = _check_tornet if sampled.tornettools else _check_sampled
    check(settings, variant, sampled, file)
    fields = {**dict(settings), "pairing": FREE, "tor": _with_conflux(settings, sampled)}
    if not sampled.tornettools:
        fields |= _paths_and_traffic(settings, sampled, file)
        fields["transport"] = _transport(settings, sampled)
    return RunSpec(
        **fields,
        network=os.path.relpath(network.resolve(), run_directory.resolve()),
        network_sha256=sha256_of_file(file),
        tor_build=tors.main_build,
        other_builds=tors.other_builds(variant, sampled),
        given=tors.given(variant, sampled),
        repeat=tors.tors.repeat,
        seed=sampled.seed,
    )


def _with_conflux(settings: RunSettings, network: Network) -> TorSettings:
    """The settings with Conflux on or off: ``auto`` is on where it works and the network is large enough. A
    network of tornettools has torrc files of its own."""
    if {**usual_levels(settings.era), **settings.variant}[CONFLUX.name] != AUTO:
        return settings.tor
    possible = find_engine(settings.engine).runs_tor and not network.tornettools
    works = settings.pairing == FREE and settings.tor.congestion.kind == "vegas"
    large = len(network.relays) >= LEAST_RELAYS
    return settings.tor.model_copy(update={CONFLUX.sets: possible and works and large})


def _transport(settings: RunSettings, network: Network) -> Transport | None:
    """The transport of the settings, with the network's queue where no knob says which."""
    queue = network.config.get("link_queue")
    if settings.transport is None or queue is None or "link_queue" in settings.variant:
        return settings.transport
    return settings.transport.model_copy(update={"link_queue": Codel(kind=queue)})


def _paths_and_traffic(settings: RunSettings, sampled: Network, file: Path) -> dict[str, Any]:
    paths, kinds = only_paths(sampled), {client.kind for client in sampled.clients}
    traffic: dict[AnyKind, RunTraffic] = dict(settings.traffic)
    traffic.update((kind, RunTraffic.of(does)) for kind, does in MEASURING_TRAFFIC.items() if kind in kinds)
    if paths is None and settings.pairing != FREE:
        paths = drawn_paths(sampled, settings.tor.guards, traffic, settings.duration_ns, file)
    return {"paths": paths, "traffic": traffic}


def _check_tornet(settings: RunSettings, variant: Variant, sampled: Network, file: Path) -> None:
    """InputError for anything but tor and its options: no more can be changed in a network of tornettools, or
    traced."""
    if settings.pairing != FREE:
        problem = "cannot be had in a network of tornettools: tor chooses its paths there"
        raise InputError(problem, file=file, key="pairing", value=settings.pairing, accepted=FREE)
    if settings.tracing:
        problem = (
            f"experiment {settings.experiment} traces hosts, which cannot be had in a network of tornettools"
        )
        raise InputError(problem, file=file, key="tracing", accepted="an experiment without it")
    for knob, level in variant.levels:
        if find_knob(knob).target not in ("tor_build", "options"):
            problem = "is nothing that can be changed in a network of tornettools"
            raise InputError(problem, file=file, key=knob, value=level, accepted="the knobs tor and options")


def _check_sampled(settings: RunSettings, variant: Variant, sampled: Network, file: Path) -> None:
    possible = sum(relay.position in ("guard", "guard_exit") for relay in sampled.relays)
    if only_paths(sampled) is None and settings.tor.guards > possible:
        raise InputError(
            "a client keeps more guards than there are relays that can be one",
            file=file,
            key="guards",
            value=settings.tor.guards,
            accepted=f"at most {possible}",
        )
    if sampled.servers_for(ONION) and not find_engine(settings.engine).runs_tor:
        problem, accepted = "onion services are not in the model", real_engines()
        raise InputError(problem, file=file, key="onion_servers", value=settings.engine, accepted=accepted)
    _check_network_levels(variant, sampled.config, file)
    _check_traffic(settings, {client.kind for client in sampled.clients} - MEASURING_TRAFFIC.keys(), file)
    _check_traced(settings, sampled, file)


def require_memory(engine: str, directory: Path) -> None:
    """InputError where a run in ``engine`` on the network in ``directory`` takes more memory than is here."""
    network, _ = read_network(directory, latency=False)
    config = validate(NetworkConfig, network.config, directory / NETWORK_FILE)
    needs, has = find_engine(engine).demand(config).memory_bytes, read_machine().available_bytes
    if has is not None and needs > has:
        problem = (
            f"a run in {engine} takes {needs / 1e9:.1f} GB of memory, and {has / 1e9:.1f} GB are available"
        )
        raise InputError(problem, file=directory, accepted="a network of a smaller scale, or another machine")


def _check_network_levels(variant: Variant, config: Mapping[str, Any], file: Path) -> None:
    """InputError for a network that was sampled at another level than one of ``variant``."""
    for name, level in variant.network_levels.items():
        knob = find_knob(name)
        ((key, value),) = knob.read(level).items()
        if _setting(config, key, value if level == knob.usual else None) == value:
            continue
        asked = validate(NetworkConfig, apply_overrides(config, {key: value}), file)
        if asked != validate(NetworkConfig, config, file):
            raise InputError(
                "the network was sampled at another level than the variant's",
                file=file,
                key=key,
                value=_setting(config, key, None),
                accepted=f"{value}; sample it with --set '{key}={value}'",
            )


def _setting(config: Mapping[str, Any], key: str, left_out: Any) -> Any:
    """The value of ``config`` at a dotted ``key``, or the default ``left_out``."""
    part_of_config: Any = config
    for part in key.split("."):
        if not isinstance(part_of_config, Mapping) or part not in part_of_config:
            return left_out
        part_of_config = part_of_config[part]
    # A bare text in a network's configuration is short for the name of a table.
    return part_of_config.get("name") if isinstance(part_of_config, Mapping) else part_of_config


def _check_traffic(settings: RunSettings, kinds: Set[str], file: Path) -> None:
    missing = sorted(kinds - settings.traffic.keys())
    if missing:
        accepted = f"a network with {' or '.join(settings.traffic)} clients only, or traffic for {missing[0]}"
        problem = f"experiment {settings.experiment} does not say what clients of this kind do"
        raise InputError(problem, file=file, key="traffic", value=missing[0], accepted=accepted)


def _check_traced(settings: RunSettings, network: Network, file: Path) -> None:
    tracing, models = settings.tracing, not find_engine(settings.engine).runs_tor
    if tracing is None:
        return
    relays = [relay.name for relay in network.relays]
    clients = [client.name for client in network.tor_clients]
    if tracing.packets and models:
        problem, key = "has no packets of its own", "tracing.packets"
        raise InputError(problem, file=file, key=key, value=settings.engine, accepted=real_engines())
    for host in tracing.packets:
        if host not in network.node_of:
            accepted = f"{relays[0]} to {network.hosts[-1].name}"
            raise InputError("no such host", file=file, key="tracing.packets", value=host, accepted=accepted)
    for host in tracing.hosts:
        if host in clients and models:
            problem = "records no cells in the model"
            accepted = "relays: a guard has the cells of its clients"
            raise InputError(problem, file=file, key="tracing.hosts", value=host, accepted=accepted)
        if host not in (*relays, *clients):
            accepted = f"{relays[0]} to {relays[-1]}, and clients with a tor of their own"
            raise InputError("no such host", file=file, key="tracing.hosts", value=host, accepted=accepted)
