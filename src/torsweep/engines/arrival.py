"""The settings of the tors of a run, as configured and as they have them: the table ``settings``.

In: the run and its network; of each host the options that its tor has, in tor's own writing, and its data
directory with the consensus that it keeps. Out: a frame as in
:data:`~torsweep.engines.table_schema.SETTINGS`. Hosts that run Arti have only their program in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import polars as pl

from torsweep.config.where import Role
from torsweep.engines.host_tors import HostTors, read_consensus
from torsweep.engines.run_spec import RunSpec
from torsweep.engines.table_schema import DEFAULT, SETTINGS
from torsweep.network.model import Network
from torsweep.tor.builds import code_sha256
from torsweep.tor.program import as_tor_writes
from torsweep.tor.torrc import REFILL_PHASE, consensus_parameters, knob_options

PROGRAM = "tor"
"""The name under which the program stands."""

CODE_DIGITS = 12
OWN = "each its own"
"""Stands for the values of an option that nobody asked for and that hosts of a role differ in, or a path."""

_Row = tuple[str, str, str, str | None, str]


def settings_frame(
    run: RunSpec,
    network: Network,
    tors: HostTors,
    options: Mapping[str, Mapping[str, str]],
    data: Mapping[str, Path],
) -> pl.DataFrame:
    """A row for each role, name, configured value and value found, with the number of hosts.

    ``options`` are, by host, those that are not as tor has them by default; ``data`` its data directory.
    """
    rows: Counter[_Row] = Counter()
    for role, hosts in _hosts(network).items():
        present = [host for host in hosts if host in data]
        rows.update((role, "program", PROGRAM, *_program(tors, host)) for host in present)
        of_tor = [host for host in present if not tors.is_arti(host)]
        rows.update(_parameters(run, network, role, [data[host] for host in of_tor]))
        rows.update(_options(run, network, tors, role, {host: options[host] for host in of_tor}))
    ordered = sorted(rows.items(), key=lambda item: [str(part) for part in item[0]])
    return pl.DataFrame([(*row, hosts) for row, hosts in ordered], SETTINGS.polars, orient="row")


def _hosts(network: Network) -> dict[Role, list[str]]:
    parts: dict[Role, Iterable] = {
        "authority": network.authorities,
        "relay": network.relays,
        "client": network.tor_clients,
    }
    return {role: [host.name for host in hosts] for role, hosts in parts.items()}


def _program(tors: HostTors, host: str) -> tuple[str, str]:
    built = tors.of(host)
    return built.version, code_sha256(built)[:CODE_DIGITS]


def _parameters(run: RunSpec, network: Network, role: Role, folders: Iterable[Path]) -> Iterator[_Row]:
    # A network of tornettools has parameters of its own; it does not get the era's.
    era = {} if network.tornettools else consensus_parameters(run.tor)
    told = {**era, **run.given.consensus}
    for folder in folders:
        found = read_consensus(folder).parameters
        for name in dict.fromkeys((*told, *found)):
            wanted = str(told[name]) if name in told else None
            yield role, "parameter", name, wanted, str(found.get(name, DEFAULT))


def _options(
    run: RunSpec, network: Network, tors: HostTors, role: Role, options: Mapping[str, Mapping[str, str]]
) -> Iterator[_Row]:
    told = {host: _told(run, network, tors, role, host) for host in options}
    names = dict.fromkeys(name for side in (told, options) for of_host in side.values() for name in of_host)
    for name in names:
        values = {host: found.get(name, DEFAULT) for host, found in options.items()}
        wanted = {host: of_host.get(name) for host, of_host in told.items()}
        untold = {values[host] for host in values if wanted[host] is None}
        own = len(untold) > 1 or any("/" in value for value in untold)
        for host, value in values.items():
            found = OWN if own and wanted[host] is None else value
            yield role, "option", name, wanted[host], found


def _told(run: RunSpec, network: Network, tors: HostTors, role: Role, host: str) -> dict[str, str]:
    """The options that knobs, era and user give to the tor of ``host``, in tor's own writing."""
    relay = next((one for one in network.relays if one.name == host), None) if role == "relay" else None
    known = tors.options(host)
    # Each relay has a phase of its own, which no level says.
    of_run = {} if network.tornettools else knob_options(role, run.tor, relay)
    lines = [f"{name} {value}" for name, value in of_run.items() if name in known and name != REFILL_PHASE]
    return as_tor_writes(tors.of(host).program, [*lines, *run.given_to(host)], role, DEFAULT)
