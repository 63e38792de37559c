"""What is compared: the variants of a plan, the chains of relays that stand for them, and their order.

In: the name of a plan, how many rounds. Out: :class:`Plan`, its :class:`Chain` s, and a network with a path
for each chain.

A round has one chain of each variant, with processes of its own; chains are measured in turn, forwards and
then backwards (A B C C B A), so that a drift of the machine affects all variants alike. The round is the
replicate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from torsweep.network.bandwidth_weights import WEIGHTS_OF_HOPS
from torsweep.network.model import LATENCY_FLOOR_US, Authority, Client, Network, Position, Relay, Server

CLIENT = "bulk1"
POSITIONS: tuple[Position, ...] = ("guard", "middle", "exit")

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
class Variant:
    """A way to run a relay: its environment and lines of its torrc, where ``{ring}`` is a file of its own.

    ``calls`` is how many system calls a reading of the clock makes, 0 for the C library; ``coarse`` the
    clock that coarse time is read from.
    """

    name: str
    environment: Mapping[str, str] = field(default_factory=dict)
    lines: tuple[str, ...] = ()
    calls: int = 0
    coarse: str = "CLOCK_MONOTONIC_COARSE"


@dataclass(frozen=True)
class Chain:
    """The relays, guard to exit, on which ``variant`` is measured in round ``number``, from 1."""

    number: int
    variant: Variant
    relays: tuple[str, str, str]


@dataclass(frozen=True)
class Plan:
    """Variants, the first of which is what the others are compared with.

    With ``shared_ends`` all chains have one guard and one exit, without a variant. ``together`` loads the
    chains of a round at once, so that other work on the machine affects all variants alike; a middle has a
    bucket of ``middle_rate``. Small requests run before the load, or beside it with ``small_beside``.
    ``rounds`` and ``load_s``, the seconds of load that count in a turn, are what is done unless asked for
    otherwise; the load lasts ``ramp_s`` before it counts.
    """

    name: str
    variants: tuple[Variant, ...]
    shared_ends: bool
    together: bool = False
    small_beside: bool = False
    middle_rate: int = ENDS_RATE
    rounds: int = 6
    load_s: float = 3.0
    ramp_s: float = 0.5

    def chains(self, rounds: int) -> tuple[Chain, ...]:
        """One a round and variant, with the names of their relays."""
        found, used = [], 2 if self.shared_ends else 0
        for number in range(1, rounds + 1):
            for variant in self.variants:
                if self.shared_ends:
                    relays = ("relay1", f"relay{used + 1}", "relay2")
                else:
                    relays = (f"relay{used + 1}", f"relay{used + 2}", f"relay{used + 3}")
                used += 1 if self.shared_ends else 3
                found.append(Chain(number, variant, relays))
        return tuple(found)

    def variant_of(self, chains: tuple[Chain, ...]) -> dict[str, Variant]:
        """The variant of each relay that has one."""
        own = slice(1, 2) if self.shared_ends else slice(0, 3)
        return {relay: chain.variant for chain in chains for relay in chain.relays[own]}


def turns(chains: tuple[Chain, ...], *, together: bool) -> Iterator[tuple[Chain, ...]]:
    """Which chains are measured one after the other, and which at once: each chain twice."""
    for number in sorted({chain.number for chain in chains}):
        own = [chain for chain in chains if chain.number == number]
        # Who is first changes from round to round.
        first = (number - 1) % len(own)
        own = own[first:] + own[:first]
        for chosen in (own, own[::-1]):
            if together:
                yield tuple(chosen)
            else:
                yield from ((chain,) for chain in chosen)


def clocks_plan(calls_of_report: int) -> Plan:
    """The clock of the coarse time, and how it is asked; ``calls_of_report`` last as long as the report's.

    tor on Linux asks for the coarse clock in the vDSO. Where a system has no coarse clock, as tor sees
    FreeBSD, all time is precise; where it has no fast way to it, each reading is a system call, or slower.
    """

    def variant(name: str, coarse: str, calls: int) -> Variant:
        told = {"TOR_MONOTIME_COARSE_CLOCK": coarse, "TOR_MONOTIME_SYSTEM_CALLS": str(calls)}
        clock = "CLOCK_MONOTONIC_COARSE" if coarse == "coarse" else "CLOCK_MONOTONIC"
        return Variant(name, COUNTED | told, (), calls, clock)

    variants = (
        variant("coarse", "coarse", 0),
        variant("precise", "precise", 0),
        variant("coarse_by_system_call", "coarse", 1),
        variant("precise_by_system_call", "precise", 1),
        variant("as_slow_as_the_report", "precise", calls_of_report),
    )
    return Plan("clocks", variants, shared_ends=True)


def tracing_plan() -> Plan:
    """All three relays of a chain record every cell at every place, or one cell in ten, or none."""
    lines = ("CellTraceFile {ring}", f"CellTraceRecords {RING_RECORDS}")
    variants = (
        Variant(NOT_TRACED, COUNTED),
        Variant("every_cell", COUNTED, lines),
        Variant("one_in_10", COUNTED, (*lines, "CellTraceSample 10")),
    )
    return Plan("tracing", variants, shared_ends=False, together=True, rounds=12)


def quantum_plan() -> Plan:
    """A bucket that binds, refilled as tor does, by a precise clock and by ones with a quantum."""
    found = []
    for interval in ("100 msec", "10 msec"):
        for clock in ("precise", "coarse:1", "coarse:4", "coarse:10"):
            name = (
                f"{clock.replace(':', '_')}{'ms' if ':' in clock else ''},{interval.replace(' msec', 'ms')}"
            )
            lines = (f"TokenBucketRefillInterval {interval}",)
            found.append(Variant(name, COUNTED | {"TOR_MONOTIME_COARSE_CLOCK": clock}, lines))
    # Its ramp is long enough to empty a bucket that was full.
    return Plan(
        "quantum",
        tuple(found),
        shared_ends=True,
        together=True,
        small_beside=True,
        middle_rate=QUANTUM_RATE,
        load_s=15.0,
        ramp_s=4.0,
    )


def network_of(plan: Plan, chains: tuple[Chain, ...]) -> Network:
    """The relays of ``chains``, one authority, one client and one server."""
    seats = {relay: seat for chain in chains for relay, seat in zip(chain.relays, POSITIONS, strict=True)}
    relays = [
        Relay(
            name=name,
            node=node,
            position=seats[name],
            rate_bytes_per_s=(rate := plan.middle_rate if seats[name] == "middle" else ENDS_RATE),
            burst_bytes=rate,
            capacity_bytes_per_s=ENDS_RATE,
            consensus_weight=1_000,
            refill_phase=0.0,
            rate_floored=False,
        )
        for node, name in enumerate(sorted(seats, key=lambda name: int(name.removeprefix("relay"))))
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
