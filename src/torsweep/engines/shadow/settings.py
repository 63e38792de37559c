"""What a Shadow run has apart from run.json: the timetable of its start and Shadow's own options.

In: nothing. Out: :class:`ShadowSettings`, which is recorded in provenance as it is. Each default has its
reason beside it; ``docs/shadow.md`` has what each was measured to give and to cost.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

SECOND_NS = 1_000_000_000

EPOCH_S = 946_684_800
"""The wall clock of a simulation at its start: 2000-01-01 00:00:00 UTC, the same in every run."""

BOOTSTRAP_NS = 180 * SECOND_NS
"""From Shadow's start to the opening of the clients' window: a run's own time is counted from here."""

AUTHORITIES_NS = 1 * SECOND_NS
RELAYS_NS = 3 * SECOND_NS
CLIENTS_NS = 45 * SECOND_NS
CLIENTS_SPREAD_NS = 60 * SECOND_NS
"""Clients start after the first consensus (at 30 s), spread out so that they do not all reach a relay at
once."""

INITIAL_VOTING_INTERVAL_S = 30
VOTE_DELAY_S = 5
VOTING_INTERVAL_S = 3600
"""The first consensus after half a minute; no second one falls into a run of less than an hour."""


@dataclass(frozen=True)
class ShadowSettings:
    """How Shadow is asked to simulate. ``parallelism`` 0 takes a thread for each core that it may use.

    ``latency_floor_us`` is the least one-way latency of the graph; Shadow lets hosts run ahead of each
    other by it, so a single pair of hosts in one room would set the pace of all. ``seed`` replaces the
    run's own seed, for another realisation of the same network.
    """

    parallelism: int = 0
    latency_floor_us: int = 5_000
    trace_clients: bool = True
    seed: int | None = None

    def as_provenance(self) -> dict[str, Any]:
        """The settings and Shadow's options, as JSON takes them."""
        return {**asdict(self), "bootstrap_s": BOOTSTRAP_NS / SECOND_NS, "options": EXPERIMENTAL}


EXPERIMENTAL: dict[str, Any] = {
    # Rounds as long as the shortest latency that has been used so far, not as the shortest there is.
    "use_dynamic_runahead": True,
    # Pinning is by core number: two runs side by side would sit on the same ones. The set of cores that
    # a run may use is given to its processes from outside.
    "use_cpu_pinning": False,
    # Spinning workers keep whole cores busy while they wait, which other runs could use.
    "use_worker_spinning": False,
    # Counters are only printed.
    "use_object_counters": False,
    "use_syscall_counters": False,
    # Its ioctl for the length of the send queue, which KIST asks for, is not written.
    "use_new_tcp": False,
}

MODEL_UNBLOCKED_SYSCALL_LATENCY = False
"""Whether a system call that does not block takes simulated time. It would add noise to a relay's timing
that depends on how often tor happens to ask for the time, and has been seen not to be repeatable."""
