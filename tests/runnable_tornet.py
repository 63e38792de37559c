"""The synthetic network of tornettools with all that Shadow, tor and TGen need to run it."""

from __future__ import annotations

import lzma
import shutil
from itertools import pairwise
from pathlib import Path

import yaml

from tests.synthetic_tornet import AUTHORITIES, RELAYS, SERVERS, write_tornet
from torsweep.config.network import NetworkConfig
from torsweep.engines.shadow.keys import Keys, network_keys
from torsweep.engines.shadow.simulate import uniform_graph
from torsweep.engines.shadow.tools import find_tools
from torsweep.engines.shadow.traffic import graphml, server_graph
from torsweep.network.tornet import tornet_network
from torsweep.network.tornet_folder import read_tornet

BOOTSTRAP_S = 60
CONSENSUS_S = 20

COMMON = """TestingTorNetwork 1
DataDirectory .
ControlPort 9051
GeoIPFile
GeoIPv6File
AssumeReachable 1
ServerDNSDetectHijacking 0
ServerDNSAllowBrokenConfig 1
ServerDNSTestAddresses
ContactInfo nobody@localhost
CircuitPriorityHalflife 30
DoSConnectionEnabled 0
Log notice stdout
"""
RELAY = f"""ORPort 9001 IPv4Only
DirPort 9112
SocksPort 0
TestingServerConsensusDownloadInitialDelay {CONSENSUS_S - 2}
"""
CLIENT = """ClientOnly 1
ORPort 0
DirPort 0
SocksPort 9050
UseEntryGuards 0
PathsNeededToBuildCircuits 0.25
"""
AUTHORITY = f"""AuthoritativeDirectory 1
V3AuthoritativeDirectory 1
V3BandwidthsFile ../bwauthority/v3bw
TestingV3AuthInitialVotingInterval {CONSENSUS_S} seconds
TestingV3AuthInitialVoteDelay 3 seconds
TestingV3AuthInitialDistDelay 3 seconds
V3AuthVotingInterval 1 hour
V3AuthNIntervalsValid 180
TestingDirAuthVoteHSDir *
TestingDirAuthVoteGuardIsStrict 1
TestingDirAuthVoteExitIsStrict 1
ConsensusParams "cc_alg=0 circwindow=900 cfx_enabled=0"
"""
STREAMS = {"stream_50k": "50 KiB", "stream_1m": "1 MiB", "stream_5m": "5 MiB"}


def write_runnable_tornet(folder: Path) -> Path:
    """Write such a network, of clients that visit no onion service, into ``folder``, and return it.

    Keys are made under Shadow, in the working directory's results.
    """
    write_tornet(folder, stop_time="2 min")
    config = {"tornettools": [str(folder)], "web_clients": 0, "bulk_clients": 0, "relays": 4, "servers": 2}
    network = tornet_network(read_tornet(folder), NetworkConfig.model_validate(config), 1)
    keys = network_keys(network, network.config_sha256, find_tools())
    hosts = folder / "shadow.data.template/hosts"
    addresses = {name: f"100.0.0.{number}" for number, name in enumerate((*AUTHORITIES, *RELAYS), 1)}
    _write_document(folder, addresses)
    for name in addresses:
        shutil.copytree(keys.of(name), hosts / name, dirs_exist_ok=True)
        with (hosts / name / "torrc-defaults").open("a") as file:
            file.write(f"ExitPolicy {'accept' if 'exit' in name else 'reject'} *:*\n")
    of = keys.identities.relays
    weights = [f"node_id=${of[name]}\tbw={weight}\tnick={name}" for name, weight in RELAYS.items()]
    weights += [f"node_id=${of[name]}\tbw=1\tnick={name}" for name in AUTHORITIES]
    (hosts / "bwauthority/v3bw.init.consensus").write_text("\n".join(["946684801", *weights, ""]))
    _write_conf(folder / "conf", keys, addresses)
    return folder


def _write_document(folder: Path, addresses: dict[str, str]) -> None:
    file = folder / "shadow.config.yaml"
    document = yaml.safe_load(file.read_text())
    document["general"]["bootstrap_end_time"] = BOOTSTRAP_S
    for name in ("perfclient2onionservice", SERVERS[1]):
        del document["hosts"][name]
    for name, host in document["hosts"].items():
        host |= {"ip_addr": addresses[name]} if name in addresses else {}
        for process in host["processes"]:
            process["start_time"] = min(process["start_time"], BOOTSTRAP_S)
            if process["path"].endswith("/tgen"):
                process["args"] = f"../../../conf/{'server' if name in SERVERS else 'client'}.graphml"
            elif name not in addresses:
                process["start_time"] = BOOTSTRAP_S // 2 + process["path"].endswith("/oniontrace")
    file.write_text(yaml.safe_dump(document, sort_keys=False))


def _write_conf(conf: Path, keys: Keys, addresses: dict[str, str]) -> None:
    of, v3 = keys.identities.relays, keys.identities.votes
    servers = [
        f"DirServer {name} v3ident={v3[name]} orport=9001 {addresses[name]}:9112 {of[name]}"
        for name in AUTHORITIES
    ]
    guards, exits = ([of[name] for name in RELAYS if word in name] for word in ("guard", "exit"))
    flags = f"TestingDirAuthVoteGuard {','.join(guards)}\nTestingDirAuthVoteExit {','.join(exits)}\n"
    start = {"socksproxy": "localhost:9050", "peers": f"{SERVERS[0]}:80", "sendsize": "1000 bytes"}
    streams = {name: {"recvsize": size, "timeout": "60 seconds"} for name, size in STREAMS.items()}
    vertices = {"start": {**start, "loglevel": "info"}, **streams, "pause": {"time": "2 seconds"}}
    order = ["start", *streams, "pause", next(iter(streams))]
    (conf / "tor.common.torrc").write_text("\n".join([*servers, COMMON]))
    (conf / "tor.relay.torrc").write_text(RELAY)
    (conf / "tor.relay.authority.torrc").write_text(AUTHORITY + flags)
    (conf / "tor.client.torrc").write_text(CLIENT)
    (conf / "graph.gml.xz").write_bytes(lzma.compress(uniform_graph([(10**7, 10**7)], 25).encode()))
    (conf / "server.graphml").write_text(server_graph())
    (conf / "client.graphml").write_text(graphml(vertices, list(pairwise(order))))
