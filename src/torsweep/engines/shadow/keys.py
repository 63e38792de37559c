"""The keys of a network's relays and authorities, made once and kept.

In: a network, a build of tor. Out: a folder with the key files of each host. They are made under Shadow:
dates and random numbers are the simulation's, so that a network has the same keys wherever it is run.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from torsweep.engines.host_files import Identities, address, key_torrc, v3_identity
from torsweep.engines.shadow.process import run_simulation
from torsweep.engines.shadow.simulate import GraphHost, Process, ShadowSimulation, uniform_graph
from torsweep.engines.shadow.tools import ShadowTools
from torsweep.formats.files import read_json
from torsweep.network.model import Network
from torsweep.storage import whole_directory, write_text
from torsweep.storage.folders import KEYS_FOLDER, folder_claimed
from torsweep.units import SECOND_NS

KEYS = Path("results/tools/keys")

_FINGERPRINTS = "fingerprints.json"


@dataclass(frozen=True)
class Keys:
    """The folder of the keys, and the identities that they give."""

    folder: Path
    identities: Identities

    def of(self, host: str) -> Path:
        """The data directory of ``host``, to be copied."""
        return self.folder / host


def network_keys(network: Network, network_sha256: str, tools: ShadowTools) -> Keys:
    """The keys of ``network``, made when :data:`KEYS` does not hold them; TorsweepError when that fails."""
    folder = KEYS / f"{network_sha256[:16]}-{tools.tors.usual.version}"
    with folder_claimed(KEYS, KEYS_FOLDER, wait=True):
        if not (folder / _FINGERPRINTS).is_file():
            with whole_directory(folder, KEYS_FOLDER) as place:
                _make(network, tools, place)
    document = read_json(folder / _FINGERPRINTS)
    return Keys(folder, Identities(document["relays"], document["v3"]))


def _make(network: Network, tools: ShadowTools, place: Path) -> None:
    work = place / ".work"
    authorities = {authority.name for authority in network.authorities}
    tor = tools.tors.usual
    hosts = {}
    for node, name in enumerate(host.name for host in (*network.relays, *network.authorities)):
        folder = work / "template" / "hosts" / name
        (folder / "keys").mkdir(parents=True)
        (folder / "torrc").write_text(key_torrc(".", name, address(node)))
        (folder / "passphrase").write_text("only in this simulation\n")
        processes = [_to_its_end(tor.program, ["--list-fingerprint", "-f", "torrc"])]
        if name in authorities:
            processes.append(_to_its_end(Path("/bin/sh"), ["-c", _certify(tor.gencert.absolute())]))
        hosts[name] = GraphHost(0, address(node), processes)
    (work / "graph.gml").write_text(uniform_graph([(125_000_000, 125_000_000)], latency_ms=10))
    run_simulation(ShadowSimulation(hosts, stop_ns=SECOND_NS, seed=network.seed + 1), work, tools.shadow)
    for name in hosts:
        made = work / "data" / "hosts" / name
        shutil.copytree(made / "keys", place / name / "keys")
        shutil.copy(made / "fingerprint", place / name / "fingerprint")
    fingerprints = {name: (place / name / "fingerprint").read_text().split()[1] for name in hosts}
    v3 = {name: v3_identity(place / name / "keys" / "authority_certificate") for name in authorities}
    shutil.rmtree(work)
    document = json.dumps({"relays": fingerprints, "v3": v3}, indent=1, sort_keys=True)
    write_text(place / _FINGERPRINTS, document + "\n")


def _to_its_end(program: Path, arguments: list[str]) -> Process:
    return Process(program.absolute(), arguments, 0, runs_to_the_end=False)


def _certify(gencert: Path) -> str:
    # Nobody can be asked for the passphrase, so it comes from a file.
    return (
        f"exec '{gencert}' --create-identity-key --passphrase-fd 3 -m 24"
        " -i keys/authority_identity_key -s keys/authority_signing_key"
        " -c keys/authority_certificate 3<passphrase"
    )
