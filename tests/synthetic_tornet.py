"""A network in the shape that ``tornettools generate`` gives it, of our own making and as small as can be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

PREFIX = "~/.local/bin"
TORRC_LINES = {
    "tor.common.torrc": ["TestingTorNetwork 1", "Log notice stdout"],
    "tor.relay.torrc": ["ORPort 9001 IPv4Only"],
    "tor.relay.authority.torrc": ['ConsensusParams "cc_alg=0 circwindow=900"'],
    "tor.client.torrc": ["SocksPort 9050"],
}
RELAYS = {"relay1exitguard": 4, "relay2exit": 3, "relay3guard": 2, "relay4middle": 1}
"""Names and consensus weights."""

AUTHORITIES = ("4uthority1", "4uthority2", "4uthority3")
CLIENTS = ("perfclient1exit", "perfclient2onionservice", "markovclient1exit")
SERVERS = ("server1exit", "server2onionservice")


def write_tornet(folder: Path, stop_time: object = "40 min") -> Path:
    """Write such a network into ``folder``, and return it."""
    conf, hosts = folder / "conf", folder / "shadow.data.template/hosts"
    conf.mkdir(parents=True)
    for name, lines in TORRC_LINES.items():
        (conf / name).write_text("\n".join([*lines, ""]))
    (conf / "graph.gml.xz").write_bytes(b"a graph")
    (hosts / "bwauthority").mkdir(parents=True)
    weights = [f"node_id=${_fingerprint(name)}\tbw={bw}\tnick={name}" for name, bw in RELAYS.items()]
    (hosts / "bwauthority/v3bw.init.consensus").write_text("\n".join(["946684801", *weights, ""]))
    (hosts / "bwauthority/v3bw").symlink_to("v3bw.init.consensus")
    for name in (*AUTHORITIES, *RELAYS):
        (hosts / name / "keys").mkdir(parents=True)
        (hosts / name / "keys/secret_id_key").write_text(f"of {name}\n")
        (hosts / name / "fingerprint").write_text(f"{name} {_fingerprint(name)}\n")
    for name in (*AUTHORITIES, *RELAYS, *CLIENTS, SERVERS[1]):
        (hosts / name).mkdir(exist_ok=True)
        (hosts / name / "torrc-defaults").write_text(_defaults(name))
        (hosts / name / "torrc").write_text("# Enter any host-specific tor config options here.\n")
    document = {
        "general": {
            "bootstrap_end_time": 300,
            "stop_time": stop_time,
            "progress": True,
            "template_directory": "shadow.data.template",
        },
        "network": {
            "use_shortest_path": False,
            "graph": {"type": "gml", "file": {"path": "/elsewhere/graph.gml.xz", "compression": "xz"}},
        },
        "hosts": {name: _host(name) for name in (*AUTHORITIES, *RELAYS, *SERVERS, *CLIENTS)},
    }
    (folder / "shadow.config.yaml").write_text(yaml.safe_dump(document, sort_keys=False))
    return folder


def _fingerprint(name: str) -> str:
    return f"{(*AUTHORITIES, *RELAYS).index(name) + 1:040X}"


def _defaults(name: str) -> str:
    role = "relay" if name in (*AUTHORITIES, *RELAYS) else "client"
    files = ["tor.common.torrc", f"tor.{role}.torrc"]
    files += ["tor.relay.authority.torrc"] if name in AUTHORITIES else []
    rate = ["BandwidthRate 400000", "BandwidthBurst 800000"] if name in RELAYS else []
    return "\n".join([*(f"%include ../../../conf/{file}" for file in files), *rate, ""])


def _host(name: str) -> dict[str, Any]:
    named = f"--Address {name} --Nickname {name} " if name in (*AUTHORITIES, *RELAYS) else ""
    tor = _process("tor", f"{named}--defaults-torrc torrc-defaults -f torrc", 240 if not named else 1)
    oniontrace = _process("oniontrace", "Mode=log TorControlPort=9051 LogLevel=info Events=BW,CIRC", 241)
    tgen = _process("tgen", "../../../conf/tgen.graphml", 300)
    if name in SERVERS:
        own = [tgen, *([tor] if name == SERVERS[1] else [])]
    else:
        own = [tor, oniontrace, *([tgen] if name in CLIENTS else [])]
    rates = {"bandwidth_down": "8000 kilobit", "bandwidth_up": "8000 kilobit"}
    return {"network_node_id": 0, **rates, "processes": own}


def _process(program: str, arguments: str, start: int) -> dict[str, Any]:
    path = f"{PREFIX}/{program}"
    return {"path": path, "args": arguments, "start_time": start, "expected_final_state": "running"}
