"""What the tors of a simulation have, for the table ``settings``.

In: the folder of a simulation that is about to start; later, with what its hosts have kept. Out:
``options.json``, host → option → value as the host's own tor writes it; the table, in which the options of a
host whose tor did not answer are not known.

tor is asked before the simulation, in the folders that it starts with, so that nothing that tor answers
stands between a simulation and its tables.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from torsweep.config.option_bundle import Role
from torsweep.engines.contract import Say
from torsweep.engines.host_tors import PROGRAM, HostTors, settings_frame
from torsweep.engines.run_spec import RunSpec
from torsweep.engines.shadow.simulate import HOSTS_FOLDER, TEMPLATE_HOSTS, GraphHost
from torsweep.engines.table_schema import DEFAULT, SETTINGS, write_table
from torsweep.errors import TorsweepError
from torsweep.formats.files import read_json
from torsweep.network.model import Network
from torsweep.storage import write_text
from torsweep.tor.program import as_tor_writes, config_of
from torsweep.units import counted

OPTIONS_FILE = "options.json"
_ADDRESS, _HERE, _DEFAULTS = "--Address", "127.0.0.1", "--defaults-torrc"


def ask_options(
    folder: Path, network: Network, hosts: Mapping[str, GraphHost], tors: HostTors, say: Say
) -> None:
    """Write options.json into ``folder``, with the options of every tor that says them; ``say`` names others.
    One that cannot start says so in the first seconds of the simulation."""
    roles = {name: role for name, role in _roles(network).items() if not tors.is_arti(name)}
    silent: list[str] = []

    def ask(name: str) -> dict[str, str] | None:
        process = next(each for each in hosts[name].processes if Path(each.path).name == PROGRAM)
        place = folder / TEMPLATE_HOSTS / name
        try:
            return _options_here(tors.of(name).program, process.arguments, place, roles[name])
        except TorsweepError as error:
            silent.append(str(error))
            return None

    with ThreadPoolExecutor(os.cpu_count()) as askers:
        answers = zip(roles, askers.map(ask, roles), strict=True)
    found = {name: answer for name, answer in answers if answer is not None}
    if silent:
        say(f"the options of {counted(len(silent), 'tor')} will not be known: {silent[0]}")
    write_text(folder / OPTIONS_FILE, json.dumps(found, indent=1, sort_keys=True) + "\n")


def _options_here(program: Path, arguments: Sequence[str], folder: Path, role: Role) -> dict[str, str]:
    """tor's answer, asked with an address of this machine: the names of hosts resolve only in a simulation,
    and an authority does not start without an address."""
    words, changed = list(arguments), {}
    if _ADDRESS in words:
        place = words.index(_ADDRESS) + 1
        changed[_ADDRESS.strip("-")], words[place] = words[place], _HERE
    found = config_of(program, words, folder)
    if _DEFAULTS in words:
        found = _with_defaults(program, words, folder, found, role)
    return found | changed


def _with_defaults(
    program: Path, words: list[str], folder: Path, found: Mapping[str, str], role: Role
) -> dict[str, str]:
    """``found``, which is what differs from the file of defaults, with what that file states."""
    place, last = words.index(_DEFAULTS) + 1, words.index("-f") + 1
    alone = [*words, "--ignore-missing-torrc"]
    alone[place], alone[last] = "no-defaults", words[place]
    stated = config_of(program, alone, folder)
    changed = [name for name, value in found.items() if stated.get(name, value) != value]
    # Torrc may turn a default of the file back into tor's own.
    lines = [f"{name} {line}" for name in changed for line in found[name].split("; ")]
    again = as_tor_writes(program, lines, role, DEFAULT)
    return {name: value for name, value in {**stated, **found, **again}.items() if value != DEFAULT}


def write_settings(folder: Path, run: RunSpec, network: Network, tors: HostTors) -> None:
    """Write the table into ``folder``, where the simulation of ``run`` has ended and its logs are whole."""
    file = folder / OPTIONS_FILE
    options = read_json(file) if file.is_file() else {}
    data = {name: folder / HOSTS_FOLDER / name for name in _roles(network)}
    write_table(folder, SETTINGS, settings_frame(run, network, tors, options, data))


def _roles(network: Network) -> dict[str, Role]:
    return {host.name: role for role, hosts in network.tor_hosts.items() for host in hosts}
