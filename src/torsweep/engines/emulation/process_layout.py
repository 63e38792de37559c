"""Which process of a run is on which host, where its files are, what its torrc and its link say.

In: the run, its network, a folder for files and one for sockets. Out: :class:`ProcessLayout`, with the tors
as :class:`Place`; the document that linkem reads; keys, which hosts are given before they start.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from torsweep.config.option_bundle import Role
from torsweep.config.traffic import ONION
from torsweep.engines.cell_ring import RING_FILE
from torsweep.engines.circuit_paths import drawn_guards
from torsweep.engines.contract import Say
from torsweep.engines.cost_tables import VEGAS_LOG, logs_round_trips
from torsweep.engines.emulation.tcp import TcpEra
from torsweep.engines.host_files import (
    CIRCUIT_PATHS_FILE,
    DIR_PORT,
    ONION_FOLDER,
    OR_PORT,
    PATHS_OPTION,
    PROGRAM_SOCKS_PORT,
    Identities,
    address,
    arti_config,
    arti_guards,
    cell_lines,
    host_torrc,
    key_torrc,
    paths_of,
    recording_lines,
    service_lines,
    v3_identity,
)
from torsweep.engines.run_spec import PROGRAMS_FOLDER, RunSpec
from torsweep.errors import OutputError, TorsweepError
from torsweep.network.model import Client, Host, Network, link_rates
from torsweep.storage import NO_ROOM, no_room, whole_directory
from torsweep.storage.folders import KEYS_FOLDER, folder_claimed
from torsweep.tor.arti_client import GUARDS_FILE
from torsweep.tor.builds import BuiltTor

KEPT_S = 300 * 86_400
"""Certificates are made for twelve months."""


def put_keys(layout: ProcessLayout, tor: BuiltTor, say: Say) -> Identities:
    """Put the keys of every relay and authority, which ``tor`` makes, into its data directory.

    Raises TorsweepError, with what the program said, when it makes none, OutputError when the disk is full.
    """
    relays, votes = {}, {}
    with folder_claimed(tor.folder / "keys", KEYS_FOLDER, wait=True):
        keyed = [*layout.authorities, *layout.relays]
        with ThreadPoolExecutor(os.cpu_count()) as makers:
            folders = list(makers.map(lambda place: _kept(place, tor, say), keyed))
        for place, kept in zip(keyed, folders, strict=True):
            shutil.copytree(kept / "keys", place.data / "keys")
            (place.data / "keys").chmod(0o700)
            relays[place.name] = (kept / "fingerprint").read_text(encoding="utf-8").split()[1]
            if place.role == "authority":
                votes[place.name] = v3_identity(kept / "keys" / "authority_certificate")
    return Identities(relays, votes)


def _kept(place: Place, tor: BuiltTor, say: Say) -> Path:
    """The folder of keys for a host of this name; made where there is none."""
    kept = tor.folder / "keys" / place.name
    if kept.is_dir() and time.time() - kept.stat().st_mtime < KEPT_S:
        return kept
    say(f"making the keys of {place.name}")
    with whole_directory(kept, KEYS_FOLDER) as folder:
        (folder / "keys").mkdir(mode=0o700)
        if place.role == "authority":
            _certify(place, tor, folder / "keys")
        torrc = folder / "torrc"
        torrc.write_text(key_torrc(str(folder), place.name, place.address), encoding="utf-8")
        command: list[str | Path] = [tor.program, "-f", torrc, "--defaults-torrc", folder / "none"]
        output = _run([*command, "--ignore-missing-torrc", "--list-fingerprint", "--hush"], place)
        if not (folder / "fingerprint").is_file():
            raise TorsweepError(f"{place.name}: tor left no fingerprint; it said: {output.strip()}")
    return kept


def _certify(place: Place, tor: BuiltTor, keys: Path) -> None:
    command: list[str | Path] = [tor.gencert, "--create-identity-key", "-m", "12"]
    command += ["-i", keys / "authority_identity_key", "-s", keys / "authority_signing_key"]
    _run([*command, "-c", keys / "authority_certificate", "--passphrase-fd", "0"], place, "emulation\n")
    v3_identity(keys / "authority_certificate")


def _run(command: Sequence[str | Path], place: Place, text: str = "") -> str:
    try:
        done = subprocess.run(
            command, input=text, capture_output=True, text=True, errors="replace", check=False
        )
    except OSError as error:
        raise TorsweepError(f"{command[0]}: cannot be run: {error.strerror}") from None
    output = done.stdout + done.stderr
    if NO_ROOM in output:
        raise OutputError(f"{place.folder}: cannot be written: {no_room(place.folder)}")
    if done.returncode != 0:
        last = [line for line in output.splitlines() if line.strip()][-1:] or ["nothing"]
        raise TorsweepError(f"{place.name}: {Path(command[0]).name} failed and said: {last[0]}")
    return output


AUTHORITY_LINK_BYTES_PER_S = 12_500_000
"""100 Mbit/s: networks state no rate for authorities, and theirs should hold nobody up."""

MTU_BYTES = 1500

UP_QUEUE_PACKETS = 1000
"""Linux's own default for an Ethernet device (txqueuelen)."""

DOWN_QUEUES: Mapping[str, Mapping[str, object]] = {
    "droptail": {"kind": "droptail", "bytes": 50 * MTU_BYTES},
    "codel": {
        "kind": "codel",
        "target_us": 10_000,
        "interval_us": 100_000,
        "bytes": UP_QUEUE_PACKETS * MTU_BYTES,
    },
}
"""By the network's ``link_queue``: the default queue of a dummynet pipe, from which ModelNet is made, 50
slots (ipfw(8)); that of Shadow's router."""


def links_document(
    network: Network,
    latency: Path,
    tcp: TcpEra,
    sysctls: dict[str, str],
    seed: int,
    statistics: Path,
    recorded: tuple[Path, Sequence[str]] | None = None,
) -> dict[str, Any]:
    """What linkem reads; ``latency`` is latency.npy, ``statistics`` where the table of links is to go.

    ``recorded`` names the table of packets, and hosts all of whose connections are recorded there.
    """
    return {
        "format": "torsweep-links",
        "format_version": 2,
        "hosts": list(_hosts(network)),
        "latency": str(latency),
        "latency_floor_us": network.latency_floor_us,
        "mtu_bytes": MTU_BYTES,
        "up_queue": {"packets": UP_QUEUE_PACKETS},
        "down_queue": dict(DOWN_QUEUES[network.config.get("link_queue", "droptail")]),
        "loss": network.loss_share,
        "seed": seed,
        "congestion_control": tcp.congestion_control,
        "initial_window_segments": tcp.initial_window_segments,
        "sysctls": sysctls,
        "statistics": str(statistics),
        "packets": {"file": str(recorded[0]), "hosts": list(recorded[1])} if recorded else None,
    }


def _hosts(network: Network) -> Iterable[dict[str, Any]]:
    for node, host in enumerate(network.hosts):
        if isinstance(host, Client) and host.tor is not None:
            continue
        down, up = link_rates(host, AUTHORITY_LINK_BYTES_PER_S)
        yield {
            "name": host.name,
            "address": address(node),
            "place": host.place,
            "access_us": host.access_us,
            "up_bytes_per_s": up,
            "down_bytes_per_s": down,
        }


SHORTEST_VOTE_DELAY_S = 2
"""The shortest delay of a vote that tor accepts."""

NO_VOTE_SOON_S = 1800
"""The greatest interval that tor accepts: the first vote waits for all relays' descriptors, and the engine
then asks for it. By an offset, no vote of the authorities' own falls into the quarter of an hour before."""

LATER_VOTES_S = 86_400
"""The greatest interval that tor accepts, with votes at midnight UTC: a vote during a run changes what its
clients do."""

VOTES_VALID = 720
"""A consensus is valid for this many intervals of five seconds: an hour, over which clients spread their
requests for the next one."""

QUEUES_FILE = "queues.log"
"""The file into which a relay writes how many cells it has queued, each time it is asked (SIGNAL DUMP)."""


@dataclass(frozen=True)
class Place:
    """A process of tor: its role, its node in the network, its folder and the socket of its control port."""

    name: str
    role: Role
    node: int
    folder: Path
    control: Path

    @property
    def address(self) -> str:
        """The address of its host."""
        return address(self.node)

    @property
    def torrc(self) -> Path:
        """The file of its configuration."""
        return self.folder / "torrc"

    @property
    def arti_config(self) -> Path:
        """The file of its configuration, if it is Arti."""
        return self.folder / "arti.toml"

    @property
    def data(self) -> Path:
        """The data directory of the host."""
        return self.folder / "data"

    @property
    def log(self) -> Path:
        """The file of its output."""
        return self.folder / "log"

    @property
    def paths(self) -> Path:
        """The file of its circuits' paths, where these are prescribed."""
        return self.folder / CIRCUIT_PATHS_FILE

    @property
    def ring(self) -> Path:
        """The file in which it records its cells, if it is traced."""
        return self.folder / RING_FILE


@dataclass(frozen=True)
class ProcessLayout:
    """The processes of a run and where they are: files in ``folder``, sockets in ``sockets``.

    The name of a socket has to be short (unix(7): 107 bytes), wherever the run directory is.
    """

    run: RunSpec
    network: Network
    folder: Path
    sockets: Path

    def _places(self, role: Role, hosts: Sequence[Host]) -> list[Place]:
        node_of = self.network.node_of
        names = [host.name for host in hosts]
        return [
            Place(name, role, node_of[name], self.folder / name, self.sockets / f"{name}.c") for name in names
        ]

    @cached_property
    def authorities(self) -> list[Place]:
        """The authorities, in the network's order."""
        return self._places("authority", self.network.authorities)

    @cached_property
    def relays(self) -> list[Place]:
        """The relays, in the network's order."""
        return self._places("relay", self.network.relays)

    @cached_property
    def clients(self) -> list[Place]:
        """The clients, in the network's order."""
        return self._places("client", self.network.tor_clients)

    @cached_property
    def services(self) -> list[Place]:
        """The tors beside the servers of onion services, in the network's order."""
        return self._places("client", self.network.servers_for(ONION))

    @cached_property
    def own_tors(self) -> list[Place]:
        """The tors of programs' own hosts, in their order."""
        return self._places("client", [each for each in self.network.program_hosts if each.torrc is not None])

    @property
    def programs_folder(self) -> Path:
        """The folder in which programs work, each in one of its host."""
        return self.folder / PROGRAMS_FOLDER

    @property
    def places(self) -> list[Place]:
        """Every tor but those of onion services and of programs' own hosts."""
        return [*self.authorities, *self.relays, *self.clients]

    def torrc(self, place: Place, identities: Identities, known: Set[str] | None = None) -> str:
        """The torrc of ``place``, whose tor knows the options ``known``, in the network of ``identities``."""
        values = {
            "data_directory": str(place.data),
            "control_port": f"unix:{place.control}",
            "or_port": f"{place.address}:{OR_PORT}",
            "dir_port": f"{place.address}:{DIR_PORT}",
            "socks_port": self._socks_port(place),
            "initial_voting_interval_s": str(NO_VOTE_SOON_S),
            "voting_interval_s": str(LATER_VOTES_S),
            "vote_delay_s": str(SHORTEST_VOTE_DELAY_S),
        }
        lines = self._lines(place)
        if paths_of(self.run, place.name, known):
            lines.append(f"{PATHS_OPTION} {place.paths}")
        return host_torrc(self.run, self.network, identities, place.role, place.name, values, lines, known)

    def write_arti(self, place: Place, identities: Identities) -> None:
        """Write the configuration and the guards of ``place``, a client that runs Arti."""
        keys = {host.name: host.data / "keys" for host in (*self.authorities, *self.relays)}.__getitem__
        text = arti_config(self.run, self.network, identities, keys, str(place.data))
        place.arti_config.write_text(text, encoding="utf-8")
        guards = place.data / GUARDS_FILE
        guards.parent.mkdir(parents=True)
        text = arti_guards(self.network, identities, keys, self._guards[place.name], datetime.now(UTC))
        guards.write_text(text, encoding="utf-8")

    @cached_property
    def _guards(self) -> dict[str, tuple[str, ...]]:
        return drawn_guards(self.network, self.run.tor.guards)

    @property
    def rings(self) -> dict[str, Path]:
        """The files in which traced hosts record their cells."""
        hosts = self.run.tracing.hosts if self.run.tracing else ()
        return {place.name: place.ring for place in (*self.relays, *self.clients) if place.name in hosts}

    @cached_property
    def round_trip_logs(self) -> dict[str, Path]:
        """The files in which exits log round trips, if they do."""
        return {
            place.name: place.folder / VEGAS_LOG
            for place, relay in zip(self.relays, self.network.relays, strict=True)
            if logs_round_trips(self.run.tor, relay)
        }

    @property
    def bandwidths_file(self) -> Path:
        """The file from which authorities read the weights."""
        return self.folder / "bandwidths"

    def _lines(self, place: Place) -> list[str]:
        # tor looks for this process every 15 s; if the engine has been killed, the kernel ends tor sooner.
        lines = [f"__OwningControllerProcess {os.getpid()}"]
        if place.role == "authority":
            return [
                *lines,
                f"V3BandwidthsFile {self.bandwidths_file}",
                f"V3AuthNIntervalsValid {VOTES_VALID}",
                f"TestingV3AuthVotingStartOffset {int(time.time() + NO_VOTE_SOON_S / 2) % NO_VOTE_SOON_S}",
            ]
        if place.role == "relay":
            relay = next(relay for relay in self.network.relays if relay.name == place.name)
            lines.append(f"Log [mm]info file {place.folder / QUEUES_FILE}")
            return lines + recording_lines(self.run, relay, str(place.ring), str(place.folder / VEGAS_LOG))
        if place in self.services:
            lines += service_lines(str(place.folder / ONION_FOLDER), place.address)
        return lines + cell_lines(self.run, place.name, str(place.ring))

    def _socks_port(self, place: Place) -> str:
        if place.role != "client" or place in self.services:
            return "0"
        if place in self.own_tors:
            return str(PROGRAM_SOCKS_PORT)
        users = self.network.users[place.name]
        isolated = self.run.traffic[users[0].kind].streams_per_circuit_isolation
        # Streams of different ports never share a circuit.
        ports = [f"unix:{self.socks(user.name)}{'' if isolated else ' NoIsolateSOCKSAuth'}" for user in users]
        return "\nSocksPort ".join(ports)

    def socks(self, client: str) -> Path:
        """The socket at which the tor of ``client`` takes its streams."""
        return self.sockets / f"{client}.s"
