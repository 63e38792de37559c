"""The address, the identities and the configuration of each host of a network.

In: a host's node number; a run and its network. Out: its address; its torrc, from what every engine of real
tor tells it and what one engine adds; the keys of an onion service, the same for a network in every run, so
that the same relays keep its descriptors.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path

from stem.util.ed25519 import publickey_unsafe

from torsweep.config.option_bundle import Role
from torsweep.config.programs import RULES, filled
from torsweep.config.traffic import ONION, ONION_SUFFIX, AnyKind
from torsweep.engines.cost_tables import logs_round_trips, vegas_log_lines
from torsweep.engines.run_spec import RunSpec
from torsweep.errors import TorsweepError
from torsweep.network.model import Network, Relay, Server
from torsweep.seeds import stream
from torsweep.tor.arti_client import arti_toml, ed25519_identity, guards_json
from torsweep.tor.torrc import QUIET_CLIENT_LINES, fingerprints_at, torrc, tracing_options

OR_PORT = 9001
DIR_PORT = 9030
SOCKS_PORT = 9050
CONTROL_PORT = 9051
SERVER_PORT = 80

PROGRAM_SOCKS_PORT = 9150
PROGRAM_CONTROL_PORT = 9151
"""Ports of tor for programs alone: streams of another port share no circuits with those of clients."""

_HOSTS_A_BLOCK = 250


def address(node: int) -> str:
    """The IPv4 address of the host at ``node``, in 11.0.0.0/8 without endings 0 and 251 to 255."""
    # Simulated addresses must be public ones: tor's exits refuse private destinations.
    high, low = divmod(node, _HOSTS_A_BLOCK)
    second, third = divmod(high, _HOSTS_A_BLOCK)
    return f"11.{second}.{third}.{low + 1}"


@dataclass(frozen=True)
class Identities:
    """The fingerprints of relays and authorities, and those of the authorities as ones that vote."""

    relays: Mapping[str, str]
    votes: Mapping[str, str]


def v3_identity(certificate: Path) -> str:
    """The fingerprint in what tor-gencert wrote; TorsweepError when there is none."""
    match = re.search(r"^fingerprint ([0-9A-F]{40})$", certificate.read_text(encoding="ascii"), re.MULTILINE)
    if match is None:
        raise TorsweepError(f"{certificate}: tor-gencert wrote no fingerprint")
    return match[1]


def key_torrc(data: str, host: str, host_address: str) -> str:
    """The torrc with which tor makes the keys of ``host`` in the folder ``data``."""
    lines = [f"DataDirectory {data}", f"Nickname {host}", f"Address {host_address}", f"ORPort {OR_PORT}"]
    lines += ["SocksPort 0", "AssumeReachable 1", "PublishServerDescriptor 0", "Log notice stdout"]
    return "\n".join([*lines, f"GeoIPFile {data}/geoip", f"GeoIPv6File {data}/geoip", ""])


def host_torrc(
    run: RunSpec,
    network: Network,
    identities: Identities,
    role: Role,
    host: str,
    values: Mapping[str, str],
    lines: Sequence[str],
    known: Set[str] | None = None,
) -> str:
    """The torrc of ``host``, whose tor knows the options ``known``. ``values`` are the placeholders of the
    role's template that depend on the engine; ``lines`` come before those of the user."""
    every = {
        "authorities": _directory_authorities(network, identities),
        "nickname": host,
        "address": address(network.node_of[host]),
        **values,
    }
    if role == "authority":
        every["guards"] = fingerprints_at(network, identities.relays, "guard", "guard_exit")
        every["exits"] = fingerprints_at(network, identities.relays, "exit", "guard_exit")
    relay = next(each for each in network.relays if each.name == host) if role == "relay" else None
    if role == "client":
        lines = [*lines, *QUIET_CLIENT_LINES]
        if host not in {each.name for each in (*network.clients_of(ONION), *network.servers_for(ONION))}:
            # None of the circuits kept ready for an onion service would ever be used.
            lines.append("VanguardsLiteEnabled 0")
        if any(each.name == host and not run.traffic[each.kind].keeps_guards for each in network.clients):
            lines.append("UseEntryGuards 0")
    lines = [*lines, *program_lines(run, network, identities.relays, host), *run.given_to(host)]
    return torrc(role, every, run.tor, relay, lines, known=known, parameters=run.given.consensus)


def program_lines(run: RunSpec, network: Network, fingerprints: Mapping[str, str], host: str) -> list[str]:
    """The torrc lines with which the tor of ``host`` serves programs; a host of theirs has further ones."""
    own = next((each for each in network.program_hosts if each.name == host), None)
    lines = [f"ControlPort {PROGRAM_CONTROL_PORT}"] if run.programs.of(host) else []
    if lines and own is None and host in {client.name for client in network.tor_clients}:
        lines.append(f"SocksPort {PROGRAM_SOCKS_PORT}")
    if own is not None and own.torrc:
        values = named_values(network, fingerprints)
        lines += [f"{option} {filled(value, values)}" for option, value in own.torrc.items()]
    return lines


def named_values(network: Network, fingerprints: Mapping[str, str]) -> dict[str, str]:
    """The values of ``address:HOST`` and ``fingerprint:RELAY`` in a command."""
    values = {f"address:{name}": address(node) for name, node in network.node_of.items()}
    values |= {f"fingerprint:{name}": fingerprint for name, fingerprint in fingerprints.items()}
    for rule in RULES:
        if name := relay_by_rule(rule, network):
            values |= {f"{word}:{rule}": values[f"{word}:{name}"] for word in ("address", "fingerprint")}
    return values


def relay_by_rule(rule: str, network: Network) -> str:
    """The first relay of most weight that can be in the position of ``rule``; empty without one."""
    relays = [relay for relay in network.relays if rule.partition("_")[2] in relay.position]
    return max(relays, key=lambda relay: relay.consensus_weight).name if relays else ""


def service_lines(folder: str, server_address: str) -> list[str]:
    """The torrc lines of an onion service with its files in ``folder``, whose server is at the address."""
    return [f"HiddenServiceDir {folder}", f"HiddenServicePort {SERVER_PORT} {server_address}:{SERVER_PORT}"]


def server_name(network: Network, server: Server, kind: AnyKind) -> str:
    """The address of ``server`` for clients of ``kind``: IPv4, or that of its onion service."""
    if kind == ONION:
        return onion_keys(network.seed, server.name).address
    return address(network.node_of[server.name])


def arti_config(
    run: RunSpec, network: Network, identities: Identities, keys: Callable[[str], Path], data_directory: str
) -> str:
    """The configuration of a client that runs Arti; ``keys`` finds an authority's folder of keys."""
    authorities = {
        f"{address(network.node_of[host.name])}:{OR_PORT}": (
            identities.relays[host.name],
            ed25519_identity(keys(host.name)),
        )
        for host in network.authorities
    }
    given = run.given.consensus
    return arti_toml(run.tor, authorities, identities.votes, data_directory, SOCKS_PORT, given)


def arti_guards(
    network: Network,
    identities: Identities,
    keys: Callable[[str], Path],
    guards: Sequence[str],
    now: datetime,
) -> str:
    """The ``guards`` of a client that runs Arti, as it keeps them; ``keys`` finds a relay's key folder."""
    identified = [
        (identities.relays[name], ed25519_identity(keys(name)), f"{address(network.node_of[name])}:{OR_PORT}")
        for name in guards
    ]
    return guards_json(identified, now)


def cell_lines(run: RunSpec, host: str, ring: str) -> list[str]:
    """The torrc lines with which ``host`` records its cells in ``ring``, if it is to."""
    return tracing_options(run.tracing, ring) if run.tracing and host in run.tracing.hosts else []


def recording_lines(run: RunSpec, relay: Relay, ring: str, log: str) -> list[str]:
    """The torrc lines with which ``relay`` records its cells in ``ring`` and its round trips in ``log``."""
    lines = cell_lines(run, relay.name, ring)
    return [*lines, *(vegas_log_lines(log) if logs_round_trips(run.tor, relay) else ())]


PATHS_OPTION = "CircuitPathsFile"
"""The option of the series by which the tor of a client takes the paths of its circuits from a file."""

CIRCUIT_PATHS_FILE = "circuit-paths"


def paths_of(run: RunSpec, client: str, known: Set[str] | None) -> tuple[tuple[str, str, str], ...]:
    """The paths of the circuits of ``client``, whose tor knows the options ``known``; none where tor chooses:
    the run has no paths, or there is only one, and tor lacks the option."""
    return (run.paths or {}).get(client, ()) if known is None or PATHS_OPTION in known else ()


def paths_text(run: RunSpec, identities: Identities, client: str, known: Set[str] | None) -> str:
    """The file of paths of ``client``: a line for each of :func:`paths_of`."""
    paths = paths_of(run, client, known)
    return "".join(" ".join(f"${identities.relays[name]}" for name in path) + "\n" for path in paths)


def _directory_authorities(network: Network, identities: Identities) -> str:
    return "\n".join(
        f"DirAuthority {host.name} orport={OR_PORT} v3ident={identities.votes[host.name]}"
        f" {address(node)}:{DIR_PORT} {identities.relays[host.name]}"
        for node, host in enumerate(network.authorities, len(network.relays))
    )


ONION_FOLDER = "onion"
"""The ``HiddenServiceDir`` of a server, in the folder of its tor."""

_ONION_VERSION = b"\x03"
_KEY_HEADER = b"== ed25519v1-%b: type0 =="
_KEY_HEADER_BYTES = 32


@dataclass(frozen=True)
class OnionKeys:
    """The address of an onion service, and the contents of its files by name."""

    address: str
    files: dict[str, bytes]

    def write(self, folder: Path) -> None:
        """Make ``folder``, as tor expects it."""
        folder.mkdir(mode=0o700)
        for name, content in self.files.items():
            (folder / name).write_bytes(content)


@lru_cache
def onion_keys(seed: int, server: str) -> OnionKeys:
    """The keys of the onion service of ``server`` in the network of ``seed``, as in tor's rend-spec-v3,
    section 6 (the address), and crypto_ed25519.c (the files). stem computes the public key without care for
    who watches: these keys protect nothing."""
    secret = stream(seed, "onion", server).bytes(32)
    public = publickey_unsafe(secret)
    # RFC 8032, section 5.1.5: bits of the hashed secret are cleared and set before it is used.
    expanded = bytearray(hashlib.sha512(secret).digest())
    expanded[0] &= 248
    expanded[31] = expanded[31] & 63 | 64
    checksum = hashlib.sha3_256(b".onion checksum" + public + _ONION_VERSION).digest()[:2]
    address = base64.b32encode(public + checksum + _ONION_VERSION).decode().lower() + ONION_SUFFIX
    files = {
        "hs_ed25519_secret_key": _key_file(b"secret", bytes(expanded)),
        "hs_ed25519_public_key": _key_file(b"public", public),
        "hostname": f"{address}\n".encode(),
    }
    return OnionKeys(address, files)


def _key_file(kind: bytes, key: bytes) -> bytes:
    return (_KEY_HEADER % kind).ljust(_KEY_HEADER_BYTES, b"\0") + key
