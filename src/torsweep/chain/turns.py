"""Plans in turns: their variants, the chains of relays that stand for them, their order, and their network.

In: a plan's name, how many rounds, a build of tor. Out: :class:`TurnsPlan` and its :class:`RelayChain` s;
:class:`ChainNetwork`, in a namespace in which every address of 11.0.0.0/8 is this machine.

A round, the replicate, has one chain of each variant, with processes of its own; they are measured forwards
and then backwards (A B C C B A), so that a drift of the machine affects all variants alike.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from torsweep.config.eras import tor_settings
from torsweep.engines.circuit_paths import PLACES_OF_A_PATH
from torsweep.engines.cost_tables import vegas_log_lines
from torsweep.engines.emulation.network import RunningNetwork
from torsweep.engines.emulation.process_layout import Place
from torsweep.engines.emulation.rights import CLONE_NEWNET
from torsweep.engines.run_spec import RunSpec, RunTables, RunTraffic
from torsweep.errors import ToolMissing
from torsweep.network.bandwidth_weights import WEIGHTS_OF_HOPS
from torsweep.network.model import LATENCY_FLOOR_US, Authority, Client, Network, Relay, Server

CLIENT_NAME = "bulk1"

ENDS_RATE = 1_000_000_000
"""Bytes a second of relays that no token bucket should limit."""

REPORT_NS = 4_780
"""What a call of CLOCK_MONOTONIC cost in the report on CLOCK_MONOTONIC_FAST: 4.78 s a million."""

QUANTUM_RATE = 200 * 1024
"""Bytes a second of the bucket whose delivered rate is measured."""

MOST_COST = 0.02
"""The share of latency that tracing costs, as Time Capsule claims."""

NOT_TRACED = "off"
"""The variant of the plan ``tracing`` that records nothing."""

RING_RECORDS = 200_000
"""Records in the ring of a traced relay. The ring of 11 MB is overwritten: what is measured is the
writing."""

COUNTED = {"TOR_MONOTIME_COUNT": "1"}


@dataclass(frozen=True)
class RelayVariant:
    """A relay's environment and torrc lines; ``{ring}`` stands for a file that only this relay uses.

    ``calls`` is how many system calls a reading of the clock makes, 0 for the C library; ``coarse`` the
    clock that coarse time is read from.
    """

    name: str
    environment: Mapping[str, str] = field(default_factory=lambda: COUNTED)
    lines: tuple[str, ...] = ()
    calls: int = 0
    coarse: str = "CLOCK_MONOTONIC_COARSE"


@dataclass(frozen=True)
class RelayChain:
    """The relays, guard to exit, on which ``variant`` is measured in round ``number``, from 1."""

    number: int
    variant: RelayVariant
    relays: tuple[str, str, str]


@dataclass(frozen=True)
class TurnsPlan:
    """Variants, the first of which is what the others are compared with.

    With ``shared_ends`` all chains have one guard and one exit, without a variant. ``together`` loads the
    chains of a round at once, so that other work on the machine affects all variants alike; a middle has a
    bucket of ``middle_rate``. Small requests run before the load, or beside it with ``small_beside``.
    ``rounds`` and ``load_s``, the seconds of load that count in a turn, are what is done unless asked for
    otherwise; the load lasts ``ramp_s`` before it counts.
    """

    name: str
    variants: tuple[RelayVariant, ...]
    shared_ends: bool
    together: bool = False
    small_beside: bool = False
    middle_rate: int = ENDS_RATE
    rounds: int = 6
    load_s: float = 3.0
    ramp_s: float = 0.5

    @property
    def streams(self) -> int:
        """Connections through a chain at a time, each on a circuit of its own: four downloads make it as
        busy as it can be; of a bucket that binds, one loads and one asks."""
        return 2 if self.small_beside else 4

    def chains(self, rounds: int) -> tuple[RelayChain, ...]:
        """One a round and variant, with the names of their relays."""
        chains = []
        for place in range(rounds * len(self.variants)):
            number, variant = divmod(place, len(self.variants))
            if self.shared_ends:
                relays = ("relay1", f"relay{place + 3}", "relay2")
            else:
                relays = (f"relay{3 * place + 1}", f"relay{3 * place + 2}", f"relay{3 * place + 3}")
            chains.append(RelayChain(number + 1, self.variants[variant], relays))
        return tuple(chains)

    def variant_of(self, chains: tuple[RelayChain, ...]) -> dict[str, RelayVariant]:
        """The variant of each relay that has one."""
        places = slice(1, 2) if self.shared_ends else slice(0, 3)
        return {relay: chain.variant for chain in chains for relay in chain.relays[places]}


def turns(chains: tuple[RelayChain, ...], *, together: bool) -> Iterator[tuple[RelayChain, ...]]:
    """Which chains are measured one after the other, and which at once: each chain twice."""
    for number in sorted({chain.number for chain in chains}):
        of_round = [chain for chain in chains if chain.number == number]
        # Who is first changes from round to round.
        first = (number - 1) % len(of_round)
        of_round = of_round[first:] + of_round[:first]
        for chosen in (of_round, of_round[::-1]):
            if together:
                yield tuple(chosen)
            else:
                yield from ((chain,) for chain in chosen)


def clocks_plan(calls_of_report: int) -> TurnsPlan:
    """The clock of the coarse time, and how it is asked; ``calls_of_report`` last as long as the report's.

    tor on Linux asks for the coarse clock in the vDSO. Where a system has no coarse clock, as tor sees
    FreeBSD, all time is precise; where it has no fast way to it, each reading is a system call, or slower.
    """

    def variant(name: str, coarse: str, calls: int) -> RelayVariant:
        environment = {"TOR_MONOTIME_COARSE_CLOCK": coarse, "TOR_MONOTIME_SYSTEM_CALLS": str(calls)}
        clock = "CLOCK_MONOTONIC_COARSE" if coarse == "coarse" else "CLOCK_MONOTONIC"
        return RelayVariant(name, COUNTED | environment, (), calls, clock)

    variants = (
        variant("coarse", "coarse", 0),
        variant("precise", "precise", 0),
        variant("coarse_by_system_call", "coarse", 1),
        variant("precise_by_system_call", "precise", 1),
        variant("as_slow_as_the_report", "precise", calls_of_report),
    )
    return TurnsPlan("clocks", variants, shared_ends=True)


def tracing_plan() -> TurnsPlan:
    """What recording costs: all three relays of a chain record every cell at every place, or one cell in ten,
    or log round trips as exits do in runs, or do nothing of the kind."""
    lines = ("CellTraceFile {ring}", f"CellTraceRecords {RING_RECORDS}")
    variants = (
        RelayVariant(NOT_TRACED),
        RelayVariant("every_cell", lines=lines),
        RelayVariant("one_in_10", lines=(*lines, "CellTraceSample 10")),
        RelayVariant("round_trips", lines=vegas_log_lines("{ring}")),
    )
    return TurnsPlan("tracing", variants, shared_ends=False, together=True, rounds=12)


def quantum_plan() -> TurnsPlan:
    """A bucket that binds, refilled as tor does, by a precise clock and by ones with a quantum."""
    clocks = {"precise": "precise"} | {f"coarse_{step}ms": f"coarse:{step}" for step in (1, 4, 10)}
    variants = tuple(
        RelayVariant(
            f"{name},{interval}ms",
            COUNTED | {"TOR_MONOTIME_COARSE_CLOCK": clock},
            (f"TokenBucketRefillInterval {interval} msec",),
        )
        for interval in (100, 10)
        for name, clock in clocks.items()
    )
    # The ramp is long enough to empty a bucket that was full.
    return TurnsPlan(
        "quantum",
        variants,
        shared_ends=True,
        together=True,
        small_beside=True,
        middle_rate=QUANTUM_RATE,
        load_s=15.0,
        ramp_s=4.0,
    )


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

    variants: Mapping[str, RelayVariant] = field(default_factory=dict)
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


def run_of(plan: TurnsPlan, chains: tuple[RelayChain, ...], duration_s: float) -> RunSpec:
    """The run that sets up the processes: era ``today``, and one path for each circuit, in order of use."""
    order = [chain for turn in turns(chains, together=plan.together) for chain in turn]
    paths = tuple(chain.relays for chain in order for _ in range(plan.streams))
    return RunSpec(
        experiment=plan.name,
        engine="emulation",
        era=ERA,
        variant={},
        warm_up_ns=0,
        duration_ns=int(duration_s * 1e9),
        client_start_window_ns=0,
        tor=tor_settings(ERA, {}),
        traffic={
            "bulk": RunTraffic(
                request_bytes=REQUEST_BYTES,
                response_bytes=ENDLESS_BYTES,
                think_min_ns=0,
                think_max_ns=0,
                streams_per_circuit_isolation=True,
                parallel_streams=1,
                timeout_ns=None,
            )
        },
        paths={CLIENT_NAME: paths},
        tables=RunTables(progress=False),
        network="",
        network_sha256="0" * 64,
        seed=1,
    )


_NO_PLACE = {"place": 0, "access_us": 0}
"""A network without links has no round trips between places."""


def network_of(plan: TurnsPlan, chains: tuple[RelayChain, ...]) -> Network:
    """The relays of ``chains``, one authority, one client and one server."""
    positions = {
        relay: each for chain in chains for relay, each in zip(chain.relays, PLACES_OF_A_PATH, strict=True)
    }
    relays = [
        Relay(
            name=name,
            **_NO_PLACE,
            position=positions[name],
            rate_bytes_per_s=(rate := plan.middle_rate if positions[name] == "middle" else ENDS_RATE),
            burst_bytes=rate,
            capacity_bytes_per_s=ENDS_RATE,
            consensus_weight=1_000,
            refill_phase=0.0,
            rate_floored=False,
        )
        for name in sorted(positions, key=lambda name: int(name.removeprefix("relay")))
    ]
    ends = {**_NO_PLACE, "down_bytes_per_s": ENDS_RATE, "up_bytes_per_s": ENDS_RATE}
    return Network(
        config={},
        config_sha256="",
        inputs_sha256={},
        seed=1,
        bandwidth_weights=dict.fromkeys(WEIGHTS_OF_HOPS, 10_000),
        latency_floor_us=LATENCY_FLOOR_US,
        relays=tuple(relays),
        authorities=(Authority(name="authority1", **_NO_PLACE),),
        clients=(Client(name=CLIENT_NAME, kind="bulk", **ends),),
        servers=(Server(name="server1", **ends),),
    )
