"""The configuration of a client that runs Arti, from the settings that tor gets in its torrc.

In: the ``tor`` section of run.json, the authorities, a folder and a port. Out: the text of an ``arti.toml``,
of the file with its guards, the environment, and what its log says of its start. Consensus parameters reach
Arti by the consensus.
"""

from __future__ import annotations

import base64
import json
import string
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path

from torsweep.config.knobs import PRIMARY_GUARDS
from torsweep.config.tor_settings import TorSettings
from torsweep.units import SECOND_NS

ARTI_TEMPLATE = Path(__file__).with_name("templates") / "arti.toml"

GUARDS_FILE = Path("state/state/guards.json")
"""Where Arti keeps its guards, below its ``data_directory``."""

ARTI_ENVIRONMENT = {"TOKIO_WORKER_THREADS": "2"}
"""Otherwise Arti has a thread for each core of the machine."""

READY = "We have enough information to build circuits"
"""Stands in the log of a client that begins to build circuits; tor has built one when it says that."""

_KEY_HEADER_BYTES = 32


def ed25519_identity(keys: Path) -> str:
    """The identity of the relay that has the folder ``keys``, as Arti takes it."""
    key = (keys / "ed25519_master_id_public_key").read_bytes()[_KEY_HEADER_BYTES:]
    return base64.b64encode(key).decode().rstrip("=")


def arti_toml(
    settings: TorSettings,
    authorities: Mapping[str, tuple[str, str]],
    votes: Mapping[str, str],
    data_directory: str,
    socks_port: int,
    parameters: Mapping[str, int],
) -> str:
    """The configuration of one client.

    ``authorities`` gives the fingerprint and the Ed25519 identity at each address and port; ``votes`` their
    fingerprints as ones that vote. ``parameters`` of the consensus are the user's.
    """
    guards = {
        "guard-n-primary-guards-to-use": settings.guards,
        "guard-n-primary-dir-guards-to-use": settings.guards,
        "guard-n-primary-guards": max(settings.guards, PRIMARY_GUARDS),
    }
    caches = (
        f'  {{ rsa_identity = "{rsa}", ed_identity = "{ed25519}", orports = ["{where}"] }},'
        for where, (rsa, ed25519) in authorities.items()
    )
    return string.Template(ARTI_TEMPLATE.read_text(encoding="utf-8")).substitute(
        data_directory=data_directory,
        socks_port=socks_port,
        authorities="\n".join(caches),
        votes=", ".join(f'"{vote}"' for vote in votes.values()),
        circuit_lifetime_s=settings.circuit_lifetime_ns // SECOND_NS,
        parameters="\n".join(f"{name} = {value}" for name, value in guards.items() if name not in parameters),
    )


def guards_json(guards: Iterable[tuple[str, str, str]], chosen: datetime) -> str:
    """The content of :data:`GUARDS_FILE` for a client that uses ``guards`` since ``chosen``, by priority.

    A guard is its fingerprint, its Ed25519 identity, and its address and port. Arti would take its first
    guards from a shuffled sample of 20, whatever the consensus says: in a network with fewer guards, weights
    would not matter.
    """
    since = f"{chosen:%Y-%m-%dT%H:%M:%SZ}"
    times = {"added_at": since, "confirmed_at": since, "disabled": None, "unlisted_since": None}
    listed = [
        {"id": {"ed25519": ed25519, "rsa": rsa.lower()}, "orports": [where], **times}
        for rsa, ed25519, where in guards
    ]
    kept = {"guards": listed, "confirmed": [guard["id"] for guard in listed]}
    return json.dumps({"default": kept}, indent=1)
