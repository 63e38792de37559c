"""Plans in turns: their variants, the chains of relays that stand for them, and their order.

In: the name of a plan, how many rounds. Out: :class:`Plan` and its :class:`Chain` s.

A round has one chain of each variant, with processes of its own; chains are measured in turn, forwards and
then backwards (A B C C B A), so that a drift of the machine affects all variants alike. The round is the
replicate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from torsweep.network.model import Position

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
    """How a relay is run: its environment and lines of its torrc, where ``{ring}`` is a file of its own.

    ``calls`` is how many system calls a reading of the clock makes, 0 for the C library; ``coarse`` the
    clock that coarse time is read from.
    """

    name: str
    environment: Mapping[str, str] = field(default_factory=lambda: COUNTED)
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

    @property
    def streams(self) -> int:
        """Connections through a chain at a time, each on a circuit of its own: four downloads make it as
        busy as it can be; of a bucket that binds, one loads and one asks."""
        return 2 if self.small_beside else 4

    def chains(self, rounds: int) -> tuple[Chain, ...]:
        """One a round and variant, with the names of their relays."""
        found = []
        for place in range(rounds * len(self.variants)):
            number, variant = divmod(place, len(self.variants))
            if self.shared_ends:
                relays = ("relay1", f"relay{place + 3}", "relay2")
            else:
                relays = (f"relay{3 * place + 1}", f"relay{3 * place + 2}", f"relay{3 * place + 3}")
            found.append(Chain(number + 1, self.variants[variant], relays))
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
        asked = {"TOR_MONOTIME_COARSE_CLOCK": coarse, "TOR_MONOTIME_SYSTEM_CALLS": str(calls)}
        clock = "CLOCK_MONOTONIC_COARSE" if coarse == "coarse" else "CLOCK_MONOTONIC"
        return Variant(name, COUNTED | asked, (), calls, clock)

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
        Variant(NOT_TRACED),
        Variant("every_cell", lines=lines),
        Variant("one_in_10", lines=(*lines, "CellTraceSample 10")),
    )
    return Plan("tracing", variants, shared_ends=False, together=True, rounds=12)


def quantum_plan() -> Plan:
    """A bucket that binds, refilled as tor does, by a precise clock and by ones with a quantum."""
    clocks = {"precise": "precise"} | {f"coarse_{step}ms": f"coarse:{step}" for step in (1, 4, 10)}
    variants = tuple(
        Variant(
            f"{name},{interval}ms",
            COUNTED | {"TOR_MONOTIME_COARSE_CLOCK": clock},
            (f"TokenBucketRefillInterval {interval} msec",),
        )
        for interval in (100, 10)
        for name, clock in clocks.items()
    )
    # The ramp is long enough to empty a bucket that was full.
    return Plan(
        "quantum",
        variants,
        shared_ends=True,
        together=True,
        small_beside=True,
        middle_rate=QUANTUM_RATE,
        load_s=15.0,
        ramp_s=4.0,
    )
