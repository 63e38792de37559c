"""Which process of a run has which address and folder, and what its torrc says.

In: the run, its network and RTTs, a claimed block of addresses, a folder. Out: :class:`Layout`, with the
processes as :class:`Place`, their torrc, and the file that :mod:`.links` reads. Every host
has one address. tor leaves it through a proxy of its own there, which is where its links begin: nothing else
tells who connects, since tor binds no address for a connection to a loopback address. An exit connects to
servers without a proxy; they are as far from any exit as from all of them on average.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from torsweep.engines.loopback import addresses
from torsweep.engines.loopback.addresses import AddressBlock
from torsweep.engines.run_spec import RunSpec
from torsweep.errors import InputError
from torsweep.network.model import Network, Relay
from torsweep.tor.torrc import Role, check_rates, torrc

Delay = Literal["proxy", "none"]
"""Whether processes reach each other through :mod:`.links`, or at once."""

AUTHORITY_LINK_BYTES_PER_S = 12_500_000
"""100 Mbit/s: networks state no rate for authorities, and theirs should hold nobody up."""

UNLIMITED_BYTES_PER_S = 10**12

VOTE_DELAY_S = 2
"""The least that tor takes."""

NO_VOTE_SOON_S = 1800
"""The first vote waits for all relays' descriptors; the engine then says that it is time."""

MOST_PROCESSES = 60
"""Fifteen have been tried; with many more, a machine's cores would decide the result, not the network."""


@dataclass(frozen=True)
class Place:
    """A process of tor: its role, its place in the network, its folder and its control socket.

    The socket is not TCP's, whose acknowledgements come 40 ms late and hold events up.
    """

    name: str
    role: Role
    node: int
    address: str
    folder: Path
    control: Path

    @property
    def torrc(self) -> Path:
        """The file of its configuration."""
        return self.folder / "torrc"

    @property
    def data(self) -> Path:
        """Its data directory."""
        return self.folder / "data"

    @property
    def log(self) -> Path:
        """What it prints."""
        return self.folder / "log"


@dataclass(frozen=True)
class Layout:
    """The processes of a run and where they are: files in ``folder``, control sockets in ``sockets``.

    The name of a socket has to be short (unix(7): 107 bytes), wherever the run directory is.
    """

    run: RunSpec
    network: Network
    rtt_us: NDArray[np.int32]
    block: AddressBlock
    folder: Path
    sockets: Path
    delay: Delay
    extra: tuple[str, ...] = ()

    def _places(self, role: Role, hosts: Any) -> list[Place]:
        return [
            Place(
                host.name,
                role,
                host.node,
                self.block.address(host.node),
                self.folder / host.name,
                self.sockets / host.name,
            )
            for host in hosts
        ]

    @property
    def authorities(self) -> list[Place]:
        """The authorities, in the network's order."""
        return self._places("authority", self.network.authorities)

    @property
    def relays(self) -> list[Place]:
        """The relays, in the network's order."""
        return self._places("relay", self.network.relays)

    @property
    def clients(self) -> list[Place]:
        """The clients, in the network's order."""
        return self._places("client", self.network.clients)

    @property
    def delayed(self) -> bool:
        """Whether links stand between the processes."""
        return self.delay == "proxy"

    def server_endpoint(self, name: str) -> tuple[str, int]:
        """Where clients ask for the server ``name``."""
        server = next(server for server in self.network.servers if server.name == name)
        return self.block.address(server.node), addresses.SERVER_PORT

    @property
    def server_listens_at(self) -> int:
        """The port of the servers themselves."""
        return addresses.SERVER_LISTEN_PORT if self.delayed else addresses.SERVER_PORT

    def endpoints(self) -> list[tuple[str, int]]:
        """Every (address, port) that a process of the run listens on."""
        links = [addresses.LINK_PORT] if self.delayed else []
        ports = {
            "authority": [addresses.OR_PORT, addresses.DIR_PORT, *links],
            "relay": [addresses.OR_PORT, *links],
            "client": [addresses.SOCKS_PORT, *links],
        }
        places = [*self.authorities, *self.relays, *self.clients]
        found = [(place.address, port) for place in places for port in ports[place.role]]
        for server in self.network.servers:
            address = self.block.address(server.node)
            found += [(address, port) for port in {addresses.SERVER_PORT, self.server_listens_at}]
        return found

    def links_document(self) -> dict[str, Any]:
        """What :mod:`.links` reads: one-way delays in µs, rates, endpoints.

        The last host is what servers take for the exit: the only one, or the mean of all.
        """
        delays_us = np.asarray(self.rtt_us, dtype=np.int64) // 2
        exits = [relay for relay in self.network.relays if relay.position in ("exit", "guard_exit")]
        mean_us = delays_us[[relay.node for relay in exits]].mean(axis=0).astype(np.int64)
        delays_us = np.vstack([delays_us, mean_us])
        delays_us = np.hstack([delays_us, np.append(mean_us, 0)[:, np.newaxis]])
        count = self.network.node_count
        places = [*self.authorities, *self.relays, *self.clients]
        doors = [{"listen": [place.address, addresses.LINK_PORT], "from": place.node} for place in places]
        doors += [
            {
                "listen": [self.block.address(server.node), addresses.SERVER_PORT],
                "from": exits[0].node if len(exits) == 1 else count,
                "to": [self.block.address(server.node), addresses.SERVER_LISTEN_PORT],
            }
            for server in self.network.servers
        ]
        return {
            "delays_us": delays_us.tolist(),
            "nodes": {self.block.address(node): node for node in range(count)},
            "hosts": [*self._host_rates(), _rates(UNLIMITED_BYTES_PER_S, UNLIMITED_BYTES_PER_S)],
            "endpoints": doors,
        }

    def _host_rates(self) -> list[dict[str, int]]:
        """The rates of each host's access link, by node."""
        hosts: dict[int, dict[str, int]] = {}
        for relay in self.network.relays:
            hosts[relay.node] = _rates(relay.capacity_bytes_per_s, relay.capacity_bytes_per_s)
        for authority in self.network.authorities:
            hosts[authority.node] = _rates(AUTHORITY_LINK_BYTES_PER_S, AUTHORITY_LINK_BYTES_PER_S)
        for client in self.network.clients:
            hosts[client.node] = _rates(client.up_bytes_per_s, client.down_bytes_per_s)
        for server in self.network.servers:
            hosts[server.node] = _rates(server.up_bytes_per_s, server.down_bytes_per_s)
        return [hosts[node] for node in range(self.network.node_count)]

    def torrc(self, place: Place, authority_lines: str) -> str:
        """The torrc of ``place``; ``authority_lines`` are the DirAuthority lines of the network."""
        values = {
            "authorities": authority_lines,
            "data_directory": str(place.data),
            "control_port": f"unix:{place.control}",
            "nickname": place.name,
            "address": place.address,
            "or_port": f"{place.address}:{addresses.OR_PORT}",
            "dir_port": f"{place.address}:{addresses.DIR_PORT}",
            "socks_port": self._socks_port(place),
            "guards": self._addresses_of("guard", "guard_exit"),
            "exits": self._addresses_of("exit", "guard_exit"),
            "initial_voting_interval_s": str(NO_VOTE_SOON_S),
            "voting_interval_s": str(NO_VOTE_SOON_S),
            "vote_delay_s": str(VOTE_DELAY_S),
        }
        return torrc(place.role, values, self.run.tor, self._relay(place), self._extra(place))

    def _extra(self, place: Place) -> list[str]:
        lines = [
            "CookieAuthentication 1",
            # Beside the socket: stem takes no path with an equals sign, as the folders of runs have.
            f"CookieAuthFile {place.control}.cookie",
            # It looks for this process every 15 s; the kernel is quicker, where the engine has been killed.
            f"__OwningControllerProcess {os.getpid()}",
        ]
        if self.delayed:
            lines.append(f"HTTPSProxy {place.address}:{addresses.LINK_PORT}")
        if place.role == "client" and self.paths_of(place.name):
            lines.append("__LeaveStreamsUnattached 1")
        return [*lines, *self.extra]

    def paths_of(self, client: str) -> tuple[tuple[str, str, str], ...]:
        """The paths that ``client`` is to take; none where tor chooses."""
        return (self.run.paths or {}).get(client, ())

    def _socks_port(self, place: Place) -> str:
        if place.role != "client":
            return "0"
        client = next(client for client in self.network.clients if client.name == place.name)
        isolated = self.run.traffic[client.kind].streams_per_circuit_isolation
        return f"{place.address}:{addresses.SOCKS_PORT}{'' if isolated else ' NoIsolateSOCKSAuth'}"

    def _addresses_of(self, *positions: str) -> str:
        """The relays of these positions as address patterns: they are known before any key is made."""
        relays = [relay for relay in self.network.relays if relay.position in positions]
        found = [self.block.address(relay.node) for relay in relays]
        return ",".join(found) or "255.255.255.255"

    def _relay(self, place: Place) -> Relay | None:
        return next((relay for relay in self.network.relays if relay.name == place.name), None)


def _rates(up: int, down: int) -> dict[str, int]:
    return {"up_bytes_per_s": up, "down_bytes_per_s": down}


def check_size(network: Network, file: Path) -> None:
    """Nothing, when the network can run here; InputError when it is too large or a relay too slow for tor."""
    processes = len(network.relays) + len(network.authorities) + len(network.clients)
    if processes > MOST_PROCESSES or network.node_count > addresses.MOST_HOSTS:
        raise InputError(
            "too large to run in real time on one machine",
            file=file,
            value=f"{processes} processes of tor",
            accepted=f"at most {MOST_PROCESSES}; larger networks run in shadow or cellsim",
        )
    check_rates(network, file)
