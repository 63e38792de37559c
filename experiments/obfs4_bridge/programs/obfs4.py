"""Has the tor of this host be a bridge with obfs4, or use one: by its control port, as an operator would.

obfs4.py bridge CONTROL_PORT ADDRESS
obfs4.py client CONTROL_PORT ADDRESS
"""

import shutil
import socket
import sys
import time

PROXY = shutil.which("obfs4proxy")
PORT = 4455
# The keys of the bridge are no secret, so that its certificate can stand here.
KEYS = f"node-id={'01' * 20} private-key={'02' * 32} drbg-seed={'03' * 24}"
CERTIFICATE = "AQEBAQEBAQEBAQEBAQEBAQEBAQHOjTrRzLYz7HtwwXgUpcduzQKWhQUNNEdFugWHDlh9WQ"


def bridge(address):
    """What makes a tor a bridge."""
    return {
        "ClientOnly": "0",
        "BridgeRelay": "1",
        "PublishServerDescriptor": "0",
        "AssumeReachable": "1",
        "ConnectionPadding": "auto",
        "CircuitPadding": "1",
        "Address": address,
        "ORPort": "9001 IPv4Only",
        "ServerTransportPlugin": f"obfs4 exec {PROXY}",
        "ServerTransportListenAddr": f"obfs4 {address}:{PORT}",
        "ServerTransportOptions": f"obfs4 {KEYS}",
    }


def client(address):
    """What has a tor take that bridge as its guard."""
    return {
        "ClientTransportPlugin": f"obfs4 exec {PROXY}",
        "Bridge": f"obfs4 {address}:{PORT} cert={CERTIFICATE} iat-mode=0",
        "UseBridges": "1",
        # Clients that measure choose a guard anew for each circuit: bridges are entry guards.
        "UseEntryGuards": "1",
    }


def say(control, line):
    """Send one line of the control protocol, and take the answer."""
    control.write(f"{line}\r\n")
    control.flush()
    answer = control.readline()
    if not answer.startswith("250"):
        sys.exit(f"tor answers to {line}: {answer}")


if PROXY is None:
    sys.exit("obfs4proxy: not on PATH; Debian has it in the package of this name")
role, port, address = sys.argv[1:]
options = {"bridge": bridge, "client": client}[role](address)
with socket.create_connection(("127.0.0.1", int(port))) as connection, connection.makefile("rw") as control:
    say(control, "AUTHENTICATE")
    say(control, "SETCONF " + " ".join(f'{name}="{value}"' for name, value in options.items()))
if role == "bridge":
    time.sleep(1_000_000)
