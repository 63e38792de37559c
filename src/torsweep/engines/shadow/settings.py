"""What the tors of a simulation had: the table ``settings`` of a run under Shadow.

In: the folder of a simulation that has come to its end. Out: the table in that folder. No program of a
simulation asks tor for its options, so the tor of each host says once more what it reads in that host's
files; parameters are those of the consensus that each host has kept.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from torsweep.engines.arrival import settings_frame
from torsweep.engines.host_tors import HostTors
from torsweep.engines.run_spec import RunSpec
from torsweep.engines.shadow.layout import HOSTS_FOLDER
from torsweep.engines.shadow.simulate import GraphHost
from torsweep.engines.table_schema import SETTINGS, write_table
from torsweep.network.model import Network
from torsweep.network.tornet import TOR_ARGUMENTS
from torsweep.tor.program import config_of


def write_settings(
    folder: Path, run: RunSpec, network: Network, hosts: Mapping[str, GraphHost], tors: HostTors
) -> None:
    """Write the table into the simulation's ``folder``; TorsweepError when a tor does not say its options."""
    named = [host.name for host in (*network.authorities, *network.relays, *network.tor_clients)]
    data = {name: folder / HOSTS_FOLDER / name for name in named}

    def options(name: str) -> dict[str, str]:
        if tors.is_arti(name):
            return {}
        arguments = TOR_ARGUMENTS.split() if network.tornettools else hosts[name].processes[0].arguments
        return config_of(tors.of(name).program, arguments, data[name])

    with ThreadPoolExecutor(os.cpu_count()) as askers:
        found = dict(zip(named, askers.map(options, named), strict=True))
    write_table(folder, SETTINGS, settings_frame(run, network, tors, found, data))
