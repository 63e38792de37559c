"""Prepare a run: an experiment's variant on a network becomes a run directory with a run.json.

In: an experiment, an era, an engine, a variant, a network directory. Out: run.json, in a directory
that holds no results of other settings.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Any

from torsweep.config.era_consensus import require_modelled
from torsweep.config.eras import tor_settings, usual_levels
from torsweep.config.experiment import Experiment
from torsweep.config.knobs import KNOBS, find_knob
from torsweep.config.network import NetworkConfig
from torsweep.config.reading import validate
from torsweep.config.tor_settings import LEAST_CONFLUX_RELAYS, FixedWindows, TorSettings, Transport
from torsweep.config.traffic import ONION, PERF_TRAFFIC, AnyKind, ClientKind, ClientTraffic
from torsweep.config.variant import FREE, Variant
from torsweep.engines.paths import drawn_paths
from torsweep.engines.run_spec import (
    RUN_FILE,
    RunSettings,
    RunSpec,
    RunTables,
    RunTraffic,
    read_run,
)
from torsweep.engines.run_tors import STOCK_ALONE, RunTors
from torsweep.engines.selection import ENGINES, MODEL_ENGINE, find_engine
from torsweep.engines.table_files import (
    BREAKDOWN_FILE,
    CELLS_FILE,
    CIRCUITS_FILE,
    PROGRESS_FILE,
    RECEIVED_FILE,
    RELAYS_FILE,
    ROUND_TRIPS_FILE,
    STREAMS_FILE,
    WIRE_FILE,
)
from torsweep.errors import InputError, OutputError
from torsweep.folder_lock import folder_claimed
from torsweep.machine import read_machine
from torsweep.network.model import NETWORK_FILE, Network, read_network
from torsweep.network.relays import only_paths
from torsweep.provenance import PROVENANCE_FILE, sha256_of_file
from torsweep.storage.folders import RUN_FOLDER
from torsweep.storage.manifest import changed_since, verify_folder

RESULT_FILES = (
    PROVENANCE_FILE,
    STREAMS_FILE,
    RELAYS_FILE,
    PROGRESS_FILE,
    CIRCUITS_FILE,
    RECEIVED_FILE,
    WIRE_FILE,
    ROUND_TRIPS_FILE,
    CELLS_FILE,
    BREAKDOWN_FILE,
    *sorted({file for engine in ENGINES.values() for file in engine.files}),
)
"""Files that an engine may leave. The provenance comes first: it is removed first, because without it the
other files do not count."""


def run_settings(experiment: Experiment, engine: str, era: str, variant: Variant) -> RunSettings:
    """Everything about a run of ``variant`` but its network.

    Raises InputError when the era or the variant asks for something that there is not.
    """
    require_knobs(engine, variant)
    tor = tor_settings(era, dict(variant.levels))
    transport = Transport.model_validate(variant.transport_overrides) if engine == MODEL_ENGINE else None
    _require_effect(engine, tor)
    if engine == MODEL_ENGINE:
        require_modelled(tor.consensus)
        tor = tor.model_copy(update={"consensus": {}})
    window_ns = min(experiment.client_start_window, experiment.warm_up)
    return RunSettings(
        experiment=experiment.name,
        engine=engine,
        era=era,
        variant=dict(variant.levels),
        warm_up_ns=experiment.warm_up,
        duration_ns=experiment.duration_ns,
        client_start_window_ns=window_ns,
        tor=tor,
        transport=transport,
        traffic={
            kind: _traffic(kind, traffic, variant).model_copy(update={"under_way_at_start": window_ns > 0})
            for kind, traffic in experiment.traffic.kinds.items()
        },
        tables=RunTables(progress=experiment.progress),
        tracing=experiment.tracing,
        pairing=experiment.pairing,
    )


def require_knobs(engine: str, variant: Variant) -> None:
    """InputError for a knob that ``engine`` does not have."""
    for knob, _ in variant.levels:
        target = find_knob(knob).target
        if not find_engine(engine).turns(target):
            problem = "is of tor itself, and this engine is a model of it"
            if target == "transport":
                problem = "is of the model alone: this engine has a TCP and queues of its own"
            accepted = " or ".join(f"engine {name}" for name, each in ENGINES.items() if each.turns(target))
            raise InputError(problem, key=knob, value=engine, accepted=accepted)


def _require_effect(engine: str, tor: TorSettings) -> None:
    """InputError for a level that would change nothing: it would look like a finding."""
    if tor.refill.keeps_remainder and tor.refill.mode == "burst":
        problem = "has no effect: refills in a burst have no remainder"
        raise InputError(problem, key="refill_remainder", value="kept", accepted="refill_mode=lazy")
    if tor.conflux and isinstance(tor.congestion, FixedWindows):
        problem = "has no effect: Conflux needs congestion control"
        raise InputError(problem, key="conflux", value="on", accepted="congestion=vegas")
    if tor.conflux and not find_engine(engine).runs_tor:
        raise InputError("is not in the model", key="conflux", value="on", accepted=_real_engines())
    if not (tor.nagle or find_engine(engine).kinds[engine].has_nagle):
        problem = f"has no effect: the TCP of {engine} has no such algorithm"
        having = (name for name, each in ENGINES.items() if each.kinds[name].has_nagle)
        raise InputError(problem, key="nagle", value="off", accepted=f"engine {' or '.join(having)}")


def _real_engines() -> str:
    """The engines that run tor, as a refusal names them."""
    return f"engine {' or '.join(name for name, each in ENGINES.items() if each.runs_tor)}"


def _traffic(kind: ClientKind, traffic: ClientTraffic, variant: Variant) -> RunTraffic:
    """What clients of ``kind`` do in ``variant``; InputError where a knob sets what a table gives."""
    does, changed = RunTraffic.of(traffic), dict(variant.traffic_overrides)
    drawn = {"response_bytes": does.response_quantiles, "think_step_ns": does.think_quantiles}
    for knob, _ in variant.levels:
        if drawn.get(find_knob(knob).sets) is not None:
            problem = f"{kind} clients draw from a table what this knob sets"
            raise InputError(problem, key=knob, accepted=f"traffic.{kind} without quantiles there")
    return does.model_copy(update=changed)


def build_run(
    settings: RunSettings,
    variant: Variant,
    network: Path,
    run_directory: Path,
    tors: RunTors = STOCK_ALONE,
) -> RunSpec:
    """The run of ``settings`` on the network in the directory ``network``, played by ``tors``.

    Raises InputError when that is no whole network, is not the one that the variant asks for, or has
    fewer relays that can be guards than a client keeps.
    """
    file = network / NETWORK_FILE
    sampled, _ = read_network(network, latency=not find_engine(settings.engine).takes_tornettools)
    check = _check_tornet if sampled.tornettools else _check_sampled
    check(settings, variant, sampled, file)
    fields = {**dict(settings), "pairing": FREE, "tor": _with_conflux(settings, sampled)}
    if not sampled.tornettools:
        fields |= _paths_and_traffic(settings, sampled, file)
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
    """The settings with conflux on or off: ``auto`` is on where legs are a choice and nothing is against it.

    A network of tornettools has torrc files of its own.
    """
    if settings.variant.get("conflux", usual_levels(settings.era)["conflux"]) != "auto":
        return settings.tor
    alone = settings.pairing != FREE or not find_engine(settings.engine).runs_tor
    fixed = isinstance(settings.tor.congestion, FixedWindows)
    small = network.tornettools or len(network.relays) < LEAST_CONFLUX_RELAYS
    return settings.tor.model_copy(update={"conflux": not (alone or fixed or small)})


def _paths_and_traffic(settings: RunSettings, sampled: Network, file: Path) -> dict[str, Any]:
    """Paths, where they are given or drawn, and what each kind of client does, perf clients too."""
    paths, kinds = only_paths(sampled), {client.kind for client in sampled.clients}
    traffic: dict[AnyKind, RunTraffic] = dict(settings.traffic)
    traffic.update((kind, RunTraffic.of(perf)) for kind, perf in PERF_TRAFFIC.items() if kind in kinds)
    if paths is None and settings.pairing != FREE:
        paths = drawn_paths(sampled, settings.tor.guards, traffic, settings.duration_ns, file)
    return {"paths": paths, "traffic": traffic}


def _check_tornet(settings: RunSettings, variant: Variant, sampled: Network, file: Path) -> None:
    """InputError for anything but tor and its options: no more can be changed in a network of tornettools."""
    if settings.pairing != FREE:
        problem = "cannot be had in a network of tornettools: tor chooses its paths there"
        raise InputError(problem, file=file, key="pairing", value=settings.pairing, accepted=FREE)
    for knob, level in variant.levels:
        if find_knob(knob).target not in ("tor_build", "options"):
            problem = "is nothing that can be changed in a network of tornettools"
            raise InputError(problem, file=file, key=knob, value=level, accepted="the knobs tor and options")


def _check_sampled(settings: RunSettings, variant: Variant, sampled: Network, file: Path) -> None:
    """InputError for a network on which the run of ``settings`` and ``variant`` cannot be played."""
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
        problem, accepted = "onion services are not in the model", _real_engines()
        raise InputError(problem, file=file, key="onion_servers", value=settings.engine, accepted=accepted)
    _check_network_levels(variant, sampled.config, file)
    _check_traffic(settings, {client.kind for client in sampled.clients} - PERF_TRAFFIC.keys(), file)
    _check_traced(settings, [relay.name for relay in sampled.relays], file)


def require_memory(engine: str, directory: Path) -> None:
    """Refuse a run in ``engine`` on the network in ``directory`` that takes more memory than there is here.

    Raises InputError, which says how much it takes.
    """
    network, _ = read_network(directory, latency=False)
    config = validate(NetworkConfig, network.config, directory / NETWORK_FILE)
    needs, has = find_engine(engine).demand(config).memory_bytes, read_machine().available_bytes
    if has is not None and needs > has:
        problem = (
            f"a run in {engine} takes {needs / 1e9:.1f} GB of memory, and {has / 1e9:.1f} GB are available"
        )
        raise InputError(problem, file=directory, accepted="a network of a smaller scale, or another machine")


def _check_network_levels(variant: Variant, config: Mapping[str, Any], file: Path) -> None:
    for knob, level in variant.network_levels.items():
        ((key, value),) = KNOBS[knob].read(level).items()
        sampled_value = _setting(config, key, value if level == KNOBS[knob].usual else None)
        if sampled_value != value:
            raise InputError(
                "the network was sampled at another level than the variant's",
                file=file,
                key=key,
                value=sampled_value,
                accepted=f"{value}; sample it with --set '{key}={value}'",
            )


def _setting(config: Mapping[str, Any], key: str, left_out: Any) -> Any:
    """What ``config`` has at a dotted ``key``; ``left_out`` where it does not say so."""
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


def _check_traced(settings: RunSettings, relays: Sequence[str], file: Path) -> None:
    for host in settings.tracing.hosts if settings.tracing else ():
        if host not in relays:
            accepted = f"{relays[0]} to {relays[-1]}"
            raise InputError("no such relay", file=file, key="tracing.hosts", value=host, accepted=accepted)


def read_prepared(run_directory: Path) -> tuple[RunSpec, Network, Path]:
    """The run in ``run_directory``, its network without latencies, and where that is.

    Raises InputError when the network is another one than the run was prepared for.
    """
    run = read_run(run_directory)
    directory = (run_directory / run.network).resolve()
    network, _ = read_network(directory, latency=False)
    sha256 = sha256_of_file(directory / NETWORK_FILE)
    if sha256 != run.network_sha256:
        raise InputError(
            "is not the network that run.json was prepared for",
            file=directory / NETWORK_FILE,
            value=sha256[:16],
            accepted=f"SHA-256 {run.network_sha256[:16]}…; prepare the run again",
        )
    return run, network, directory


def clear_results(run_directory: Path) -> None:
    """Remove what an engine has left of a run; OutputError when that cannot be."""
    try:
        for name in RESULT_FILES:
            (run_directory / name).unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(f"{run_directory}: cannot be written: {error.strerror}") from error


def write_run(run: RunSpec, run_directory: Path, *, wait: bool = False) -> bool:
    """Write ``run`` into ``run_directory``; False when the very same run stood there already.

    Results of other settings are removed first, so that tables and run.json always belong together.
    Raises OutputError when the directory cannot be written, or an engine is at work in it and this
    function is not to ``wait`` for its end.
    """
    file = run_directory / RUN_FILE
    with folder_claimed(run_directory, RUN_FOLDER, wait=wait):
        if file.is_file() and file.read_text(encoding="utf-8") == run.text():
            return False
        clear_results(run_directory)
        run.write(run_directory)
    return True


def finished_run(run_directory: Path) -> dict[str, Any]:
    """What the engine says of the run in ``run_directory``, which it has finished.

    Raises InputError when it has not, and when run.json or a table is missing or has changed since.
    """
    provenance = verify_folder(run_directory, PROVENANCE_FILE, "no such file: the run is not finished")
    if provenance.get("run_sha256") != sha256_of_file(run_directory / RUN_FILE):
        raise changed_since("has changed since the engine ran", run_directory / RUN_FILE, run_directory)
    return provenance
