"""What the tors of a simulation have, for the table ``settings``.

In: the folder of a simulation that is about to start; later, with what its hosts have kept. Out:
``options.json``, host → option → value as the host's own tor writes it; the table, in which the options of a
host whose tor did not answer are not known.

tor is asked before the simulation, in the folders that the simulation starts with: no program of a simulation
asks it, and nothing that tor answers stands between a simulation and its tables.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from torsweep.engines.contract import Say
from torsweep.engines.host_tors import PROGRAM, HostTors, settings_frame
from torsweep.engines.run_spec import RunSpec
from torsweep.engines.shadow.simulate import HOSTS_FOLDER, TEMPLATE_HOSTS, GraphHost
from torsweep.engines.table_schema import SETTINGS, write_table
from torsweep.errors import TorsweepError
from torsweep.formats.files import read_json
from torsweep.network.model import Network
from torsweep.storage import write_text
from torsweep.tor.program import config_of
from torsweep.units import counted

OPTIONS_FILE = "options.json"
_ADDRESS, _HERE = "Address", "127.0.0.1"


def ask_options(
    folder: Path, network: Network, hosts: Mapping[str, GraphHost], tors: HostTors, say: Say
) -> None:
    """Write options.json into ``folder``, with the options of every tor that says them; ``say`` names others.

    One that cannot start says so in the first seconds of the simulation.
    """
    named = [name for name in _named(network) if not tors.is_arti(name)]
    silent: list[str] = []

    def ask(name: str) -> dict[str, str] | None:
        process = next(each for each in hosts[name].processes if Path(each.path).name == PROGRAM)
        place = folder / TEMPLATE_HOSTS / name
        try:
            return _options_here(tors.of(name).program, process.arguments, place)
        except TorsweepError as error:
            silent.append(str(error))
            return None

    with ThreadPoolExecutor(os.cpu_count()) as askers:
        answers = zip(named, askers.map(ask, named), strict=True)
    found = {name: answer for name, answer in answers if answer is not None}
    if silent:
        say(f"the options of {counted(len(silent), 'tor')} will not be known: {silent[0]}")
    write_text(folder / OPTIONS_FILE, json.dumps(found, indent=1, sort_keys=True) + "\n")


def _options_here(program: Path, arguments: Sequence[str], folder: Path) -> dict[str, str]:
    """tor's answer, asked with an address of this machine: the names of hosts resolve only in a simulation,
    and an authority does not start without an address."""
    words, changed = list(arguments), {}
    if f"--{_ADDRESS}" in words:
        place = words.index(f"--{_ADDRESS}") + 1
        changed[_ADDRESS], words[place] = words[place], _HERE
    return config_of(program, words, folder) | changed


def write_settings(folder: Path, run: RunSpec, network: Network, tors: HostTors) -> None:
    """Write the table into ``folder``, where the simulation of ``run`` has ended and its logs are whole."""
    file = folder / OPTIONS_FILE
    options = read_json(file) if file.is_file() else {}
    data = {name: folder / HOSTS_FOLDER / name for name in _named(network)}
    write_table(folder, SETTINGS, settings_frame(run, network, tors, options, data))


def _named(network: Network) -> list[str]:
    return [host.name for host in (*network.authorities, *network.relays, *network.tor_clients)]
