"""The settings of a simulated relay and client, and of what carries bytes in the model: the sections ``tor``
and ``transport`` of run.json.

Every field is set explicitly on every run, from an era and the levels of a variant; nothing is left to the
default of an engine. Times are integer nanoseconds, windows and queues are counted in cells. Runs of real
engines have no transport: they have a TCP and queues of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, StrictBool

from torsweep.config.knob import MILLISECOND_NS
from torsweep.config.option_bundle import Parameter
from torsweep.config.reading import Section, left_out
from torsweep.units import HOUR_NS, WEEK_NS

MICROSECOND_NS = 1_000


def whole(least: int, most: int) -> Any:
    """The range of a whole number, both ends accepted; cellsim's is the same or wider."""
    return Field(strict=True, ge=least, le=most)


Window = Annotated[int, whole(1, 100_000)]


class RefillSettings(Section):
    """How tokens get into a relay's buckets.

    ``burst`` adds ``interval_ns`` worth of tokens at once, each relay at a phase of its own or all
    ``aligned``; ``lazy`` is tor since 0.3.4: refill on each read and write, in steps of 16.8 ms,
    where the interval only delays the wake-up of a blocked connection, and the remainder of a
    step is dropped unless a bucket ``keeps_remainder``. The size of the bucket is the descriptor's
    burst, or what its ``rate`` gives in one second.
    """

    mode: Literal["burst", "lazy"]
    interval_ns: Annotated[int, whole(MICROSECOND_NS, HOUR_NS)]
    phase: Literal["per_relay", "aligned"]
    burst: Literal["descriptor", "rate"]
    keeps_remainder: StrictBool


class Ewma(Section):
    """The circuit with the least recent traffic first: exponentially weighted, of this half-life."""

    kind: Literal["ewma"]
    half_life_ns: Annotated[int, whole(10 * MILLISECOND_NS, WEEK_NS)]


class RoundRobin(Section):
    """Circuits in turn, each draining up to ``quantum_cells`` when picked."""

    kind: Literal["round_robin"]
    quantum_cells: Annotated[int, whole(1, 2**20)]


class ChannelScheduler(Section):
    """Which channels write when; ``interval_ns`` is the run interval of KIST and KISTLite."""

    kind: Literal["kist", "kist_lite", "vanilla"]
    interval_ns: Annotated[int, whole(10 * MICROSECOND_NS, HOUR_NS)]


class EdgeSettings(Section):
    """In which order an edge serves the streams of a circuit, and how much each may package."""

    activation_order: Literal["list", "reversed", "random", "least_recently_served"]
    packaging: Literal["even", "greedy"]


class FixedWindows(Section):
    """Tor's windows of constant size; each increment is what one SENDME gives back."""

    kind: Literal["fixed"]
    circuit_window_cells: Window = 1000
    circuit_increment_cells: Window = 100
    stream_window_cells: Window = 500
    stream_increment_cells: Window = 50


class Vegas(Section):
    """Tor's delay-based congestion control (proposal 324). No XOFF is ever due: clients read at once."""

    kind: Literal["vegas"]


class TorSettings(Section):
    """The whole ``tor`` section, as an engine reads it. ``nagle``: tor leaves Nagle's algorithm on.

    A feature at ``auto``, such as ``conflux``, is off until a run's network says more. ``consensus`` has the
    parameters of the era that no knob is; the model has them built in, and its runs leave them out. ``torrc``
    has the settings of the knobs that the model does not have.
    """

    refill: RefillSettings
    circuit_policy: Annotated[Ewma | RoundRobin, Field(discriminator="kind")]
    channel_scheduler: ChannelScheduler
    edge: EdgeSettings
    congestion: Annotated[FixedWindows | Vegas, Field(discriminator="kind")]
    cell_queue_high_cells: Annotated[int, whole(1, 1_000_000)]
    cell_queue_low_cells: Annotated[int, whole(0, 1_000_000)]
    guards: Annotated[int, whole(1, 100)]
    circuit_lifetime_ns: Annotated[int, whole(MILLISECOND_NS, WEEK_NS)]
    nagle: StrictBool
    conflux: StrictBool
    clock_quantum_ns: Annotated[int, whole(0, HOUR_NS)]
    consensus: Mapping[str, Parameter] = left_out({})
    torrc: Mapping[str, str] = left_out({})


TcpRules = Literal["linux", "linux_6_18"]
"""TCP of a Linux of the era (3.2, 6.18); or of Linux 6.18 with the era's settings, as in an emulation."""

DROPTAIL_BYTES = 75_000
"""Fifty packets of 1,500 bytes, as before the down-links of an emulation and in ModelNet's pipes."""


class Codel(Section):
    """The queue of Shadow's router: CoDel with a target of 10 ms."""

    kind: Literal["codel"]


class Droptail(Section):
    """A queue that drops what it has no room for, besides the packet that is being sent."""

    kind: Literal["droptail"]
    bytes: Annotated[int, whole(1_500, 2**32)]


class Transport(Section):
    """Whose TCP, and the queue before each host's down-link."""

    tcp: TcpRules = "linux"
    link_queue: Annotated[Codel | Droptail, Field(discriminator="kind")] = Droptail(
        kind="droptail", bytes=DROPTAIL_BYTES
    )
