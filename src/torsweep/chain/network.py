"""The private network of a plan in turns, over this machine's own interface.

In: a plan, its chains, a build of tor. Out: :class:`ChainNetwork`, ready and at rest, each relay with the
environment and the torrc lines of its variant, in a network namespace in which every address of 11.0.0.0/8 is
this machine.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field

from torsweep.chain.turns import CLIENT, ENDS_RATE, POSITIONS, Chain, Plan, Variant, turns
from torsweep.config.eras import tor_settings
from torsweep.engines.emulation.directory.layout import Place
from torsweep.engines.emulation.run.network import RunningNetwork
from torsweep.engines.emulation.run.processes import CLONE_NEWNET
from torsweep.engines.run_spec import RunSpec, RunTables, RunTraffic
from torsweep.errors import ToolMissing
from torsweep.network.bandwidth_weights import WEIGHTS_OF_HOPS
from torsweep.network.model import LATENCY_FLOOR_US, Authority, Client, Network, Relay, Server

ERA = "today"
REQUEST_BYTES = 100
ENDLESS_BYTES = 1 << 40

OWN_NAMESPACE = "/proc/self/ns/net"
"""Where each process finds the network namespace that it is in."""

_SIOCSIFADDR, _SIOCSIFNETMASK, _SIOCSIFFLAGS = 0x8916, 0x891C, 0x8914
_IFF_UP, _IFF_LOOPBACK, _IFF_RUNNING = 0x1, 0x8, 0x40
"""Constants of linux/sockios.h and linux/if.h."""


def enter_own_namespace() -> None:
    """Move this process into a new network namespace, which is gone with its last process.

    Raises ToolMissing when that is refused.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET) != 0:
        raise ToolMissing(f"emulation: network namespaces are refused: {os.strerror(ctypes.get_errno())}")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        for request, address in ((_SIOCSIFADDR, "11.0.0.1"), (_SIOCSIFNETMASK, "255.0.0.0")):
            packed = struct.pack("16sHH4s8x", b"lo", socket.AF_INET, 0, socket.inet_aton(address))
            fcntl.ioctl(asking, request, packed)
        flags = _IFF_UP | _IFF_LOOPBACK | _IFF_RUNNING
        fcntl.ioctl(asking, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags))


@dataclass
class ChainNetwork(RunningNetwork):
    """A network without links: its hosts are addresses of one interface."""

    variants: Mapping[str, Variant] = field(default_factory=dict)
    """The variant of each relay that has one."""

    async def _start_links(self) -> None:
        hosts = [place.name for place in self.layout.places]
        hosts += [server.name for server in self.layout.network.servers]
        self.namespaces = dict.fromkeys(hosts, OWN_NAMESPACE)

    def environment_of(self, place: Place) -> dict[str, str]:
        """The environment of every tor, and what the variant of ``place`` adds."""
        variant = self.variants.get(place.name)
        return super().environment_of(place) | dict(variant.environment if variant else {})

    def lines_of(self, place: Place) -> tuple[str, ...]:
        """The torrc lines of the variant of ``place``, with the path of its ring filled in."""
        variant = self.variants.get(place.name)
        return tuple(line.format(ring=place.ring) for line in variant.lines) if variant else ()


def run_of(plan: Plan, chains: tuple[Chain, ...], duration_s: float) -> RunSpec:
    """What the processes are set to: tor of today, and a path a circuit, in the order of use."""
    order = [chain for turn in turns(chains, together=plan.together) for chain in turn]
    paths = tuple(chain.relays for chain in order for _ in range(plan.streams))
    traffic = RunTraffic(
        request_bytes=REQUEST_BYTES,
        response_bytes=ENDLESS_BYTES,
        think_min_ns=0,
        think_max_ns=0,
        streams_per_circuit_isolation=True,
        parallel_streams=1,
        timeout_ns=None,
    )
    return RunSpec(
        experiment=plan.name,
        engine="emulation",
        era=ERA,
        variant={},
        warm_up_ns=0,
        duration_ns=int(duration_s * 1e9),
        client_start_window_ns=0,
        tor=tor_settings(ERA, {}),
        traffic={"bulk": traffic},
        paths={CLIENT: paths},
        tables=RunTables(progress=False),
        network="",
        network_sha256="0" * 64,
        seed=1,
    )


def network_of(plan: Plan, chains: tuple[Chain, ...]) -> Network:
    """The relays of ``chains``, one authority, one client and one server."""
    positions = {relay: each for chain in chains for relay, each in zip(chain.relays, POSITIONS, strict=True)}
    relays = [
        Relay(
            name=name,
            node=node,
            position=positions[name],
            rate_bytes_per_s=(rate := plan.middle_rate if positions[name] == "middle" else ENDS_RATE),
            burst_bytes=rate,
            capacity_bytes_per_s=ENDS_RATE,
            consensus_weight=1_000,
            refill_phase=0.0,
            rate_floored=False,
        )
        for node, name in enumerate(sorted(positions, key=lambda name: int(name.removeprefix("relay"))))
    ]
    node, links = len(relays), {"down_bytes_per_s": ENDS_RATE, "up_bytes_per_s": ENDS_RATE}
    return Network(
        config={},
        config_sha256="",
        inputs_sha256={},
        seed=1,
        bandwidth_weights=dict.fromkeys(WEIGHTS_OF_HOPS, 10_000),
        latency_floor_us=LATENCY_FLOOR_US,
        relays=tuple(relays),
        authorities=(Authority(name="authority1", node=node),),
        clients=(Client(name=CLIENT, node=node + 1, kind="bulk", **links),),
        servers=(Server(name="server1", node=node + 2, **links),),
    )
