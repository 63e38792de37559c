"""A run on a network of tornettools: what Shadow reads of it, and its tables.

In: run.json, its network directory, the network's folder. Out: below the run directory's ``shadow`` folder, a
copy with another seed, length and paths of programs, in which the ``torrc`` of each host, which tor reads
last, has what the variant tells tor. Times count from the simulation's start, as tornettools counts them.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from torsweep.config.network import NetworkConfig
from torsweep.config.reading import validate
from torsweep.engines.run_spec import RunSpec
from torsweep.engines.shadow.directory import shadow_seed
from torsweep.engines.shadow.read.tornettools import read_logs, tables_of
from torsweep.engines.shadow.simulate import (
    EPOCH_S,
    HOSTS_FOLDER,
    SHADOW_YAML,
    TEMPLATE_HOSTS,
    GraphHost,
    Layout,
    Process,
    ShadowSettings,
    ShadowSimulation,
    read_layout,
)
from torsweep.engines.shadow.tools import ShadowTools
from torsweep.engines.table_schema import OUTCOMES, STREAMS, write_table
from torsweep.errors import InputError
from torsweep.network.model import NETWORK_FILE, Network
from torsweep.network.tornet_folder import (
    CONF,
    LAST_TORRC,
    TORNET_FILE,
    Tornet,
    consensus_votes,
    folder_of,
    is_tor,
    program_of,
    read_tornet,
)
from torsweep.storage import changed_since
from torsweep.units import SECOND_NS


def find_tornet(network: Network, directory: Path) -> Tornet:
    """The folder that the network in ``directory`` is; InputError when it has changed since."""
    file = directory / NETWORK_FILE
    config = validate(NetworkConfig, network.config, file)
    tornet = read_tornet(folder_of(config, network.seed))
    if tornet.sha256() != network.tornettools:
        raise changed_since("has changed since this network was taken from it", tornet.folder, directory)
    return tornet


def write_tornet_run(
    run: RunSpec, tornet: Tornet, tools: ShadowTools, settings: ShadowSettings, folder: Path
) -> ShadowSimulation:
    """Write ``folder`` anew; what Shadow will simulate. InputError when the run is shorter than the network
    takes to start."""
    if run.duration_ns <= tornet.last_start_ns:
        problem, accepted = "a process starts when the simulation is over", "a longer one"
        raise InputError(problem, file=tornet.folder / TORNET_FILE, accepted=accepted)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    # Files in place of links: what is written here must not change the user's own. The graph stays where it
    # is: it is as large as all the rest.
    all_but_graph = shutil.ignore_patterns(tornet.graph.name) if tornet.graph is not None else None
    shutil.copytree(tornet.folder / CONF, folder / CONF, ignore=all_but_graph)
    shutil.copytree(tornet.template, folder / TEMPLATE_HOSTS)
    for host in tornet.tors:
        _tell_tor(run, tornet, host, folder / TEMPLATE_HOSTS / host / LAST_TORRC)
    seed = shadow_seed(run.seed, run.repeat)
    document = _document(run, tornet, tools, settings, seed, folder)
    (folder / SHADOW_YAML).write_text(json.dumps(document, indent=1) + "\n")
    Layout(
        epoch_s=EPOCH_S,
        bootstrap_ns=0,
        duration_ns=run.duration_ns,
        clients=dict(tornet.clients),
        relays={relay: tornet.fingerprint(relay) for relay in tornet.relays},
        authorities={host: tornet.fingerprint(host) for host in tornet.authorities},
        servers={},
    ).write(folder)
    hosts = {host: _host(entry) for host, entry in document["hosts"].items()}
    return ShadowSimulation(hosts, run.duration_ns, seed, settings.parallelism)


def _tell_tor(run: RunSpec, tornet: Tornet, host: str, torrc: Path) -> None:
    """Append what the variant tells the tor of ``host`` to its ``torrc``."""
    lines = run.given_to(host)
    if run.given.consensus and host in tornet.authorities:
        # In place of the lines before: a vote must not have a parameter twice.
        voted = {**consensus_votes(tornet, host), **run.given.consensus}
        stated = " ".join(f"{name}={value}" for name, value in voted.items())
        lines += ["/ConsensusParams", f"ConsensusParams {stated}"]
    if lines:
        text = torrc.read_text(encoding="utf-8")
        torrc.unlink()
        torrc.write_text("\n".join([text.rstrip("\n"), *lines, ""]), encoding="utf-8")


def _document(
    run: RunSpec, tornet: Tornet, tools: ShadowTools, settings: ShadowSettings, seed: int, folder: Path
) -> dict[str, Any]:
    # Through text, so that hosts which share a part in YAML get one each.
    document: dict[str, Any] = json.loads(json.dumps(tornet.document))
    document["general"] |= {
        "seed": seed,
        "stop_time": f"{run.duration_ns // SECOND_NS} s",
        "parallelism": settings.parallelism,
        "progress": True,
        "data_directory": str((folder / "data").absolute()),
        "template_directory": str((folder / "template").absolute()),
    }
    # Two runs side by side would be pinned to the same cores.
    document["experimental"] = {**(document.get("experimental") or {}), "use_cpu_pinning": False}
    if tornet.graph is not None:
        document["network"]["graph"]["file"]["path"] = str(tornet.graph.absolute())
    programs = {"tgen": tools.tgen, "oniontrace": tools.oniontrace}
    for name, host in document["hosts"].items():
        for process in host["processes"]:
            program = tools.tors.of(name).program if is_tor(process) else programs.get(program_of(process))
            if program is not None:
                process["path"] = str(program.absolute())
    return run.shadow.into(document)


def _host(host: Mapping[str, Any]) -> GraphHost:
    started = (Process(each["path"], each.get("args", "").split(), 0) for each in host["processes"])
    return GraphHost(0, "", list(started))


def write_tornet_tables(run_directory: Path, folder: Path) -> dict[str, Any]:
    """Write the tables of the run from the logs in ``folder``; counters for provenance. InputError, with file
    and line, for logs that are missing, cut off or of other versions."""
    layout = read_layout(folder)
    simulated = (*layout.clients, *layout.relays, *layout.authorities)
    read = read_logs(folder / HOSTS_FOLDER, simulated)
    frames, _ = tables_of(read)
    for schema, frame in frames.items():
        write_table(run_directory, schema, frame)
    return {
        "tgen": {"versions": sorted(set(read.tgen.versions["version"])), "lines": read.tgen.lines},
        **{outcome: frames[STREAMS].filter(pl.col("outcome") == outcome).height for outcome in OUTCOMES},
    }
