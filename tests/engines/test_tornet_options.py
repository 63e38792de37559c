"""What real tors say of their options on a network of tornettools, before it is simulated."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.synthetic_tornet import AUTHORITIES, CLIENTS, RELAYS, write_tornet
from torsweep.config.network import NetworkConfig
from torsweep.config.shadow_options import ShadowOptions
from torsweep.engines.host_tors import HostTors
from torsweep.engines.shadow.settings import OPTIONS_FILE, ask_options
from torsweep.engines.shadow.simulate import ShadowSettings
from torsweep.engines.shadow.tornet_run import write_tornet_run
from torsweep.network.tornet import tornet_network
from torsweep.network.tornet_folder import read_tornet
from torsweep.tor.builds import BuiltTor

COMMON = f"""TestingTorNetwork 1
DataDirectory .
ContactInfo nobody@localhost
DirServer 4uthority1 v3ident={1:040X} orport=9001 100.0.0.1:9112 {2:040X}
"""
RELAY = "ORPort 9001 IPv4Only\nDirPort 9112\nSocksPort 0\nExitPolicy reject *:*\n"
VOTES = 'ConsensusParams "cc_alg=0 circwindow=900"\nConsensusParams bwscanner_cc=1\n'


@pytest.mark.parametrize(
    "own", ["", "ConsensusParams cc_alg=0 circwindow=900\n", "+ConsensusParams of_mine=7\n"]
)
def test_an_authority_has_no_parameter_twice_and_needs_no_address(
    own: str, tmp_path: Path, built_tor: BuiltTor
):
    folder = write_tornet(tmp_path / "tornet")
    (folder / "conf/tor.common.torrc").write_text(COMMON)
    (folder / "conf/tor.relay.torrc").write_text(RELAY)
    authority = f"AuthoritativeDirectory 1\nV3AuthoritativeDirectory 1\n{VOTES}"
    (folder / "conf/tor.relay.authority.torrc").write_text(authority)
    (folder / "shadow.data.template/hosts/4uthority1/torrc").write_text(own)
    (folder / "shadow.data.template/hosts/relay4middle/torrc").write_text("BandwidthBurst 1 GB\n")
    tornet, tors = read_tornet(folder), HostTors(built_tor)
    tools = SimpleNamespace(tors=tors, tgen=Path("tgen"), oniontrace=Path("oniontrace"))
    given = SimpleNamespace(consensus={"cc_alg": 2})
    asked = ShadowOptions(experimental={"use_new_tcp": True})
    run = SimpleNamespace(
        given=given,
        given_to=lambda host: ["NumCPUs 2"],
        seed=1,
        repeat=0,
        duration_ns=10**12,
        shadow=asked,
    )
    simulation = write_tornet_run(run, tornet, tools, ShadowSettings(), tmp_path / "shadow")  # type: ignore[arg-type]
    written = json.loads((tmp_path / "shadow/shadow.yaml").read_text())
    assert written["experimental"].items() >= {"use_new_tcp": True, "use_cpu_pinning": False}.items()
    config = {"tornettools": [str(folder)], "web_clients": 0, "bulk_clients": 0, "relays": 4, "servers": 2}
    network = tornet_network(tornet, NetworkConfig.model_validate(config), 1)
    said: list[str] = []
    ask_options(tmp_path / "shadow", network, simulation.hosts, tors, said.append)
    assert not said
    options = json.loads((tmp_path / "shadow" / OPTIONS_FILE).read_text())
    assert set(options) == {*AUTHORITIES, *RELAYS, *CLIENTS}
    assert all(each["NumCPUs"] == "2" for each in options.values())
    assert options["4uthority1"]["Address"] == "4uthority1"
    # What torrc-defaults has counts, though tor tells only what differs from it; but not what torrc undoes.
    assert options["4uthority1"]["V3AuthoritativeDirectory"] == "1"
    assert options["relay4middle"]["BandwidthRate"] == "400000"
    assert "BandwidthBurst" not in options["relay4middle"]
    voted = options["4uthority1"]["ConsensusParams"].split()
    kept = ["circwindow=900"] if own.startswith("C") else ["circwindow=900", "bwscanner_cc=1"]
    assert sorted(voted) == sorted(["cc_alg=2", *kept, *(["of_mine=7"] if own.startswith("+") else [])])
