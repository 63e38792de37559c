"""The world inside a simulated relay and client: the ``tor`` section of run.json.

Every field is set explicitly on every run, from an era and the levels of a variant; nothing is left
to the default of an engine. Times are integer nanoseconds, windows and queues are counted in cells.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from torsweep.config.reading import Section

MILLISECOND_NS = 1_000_000

PositiveInt = Annotated[int, Field(strict=True, ge=1)]
NonNegativeInt = Annotated[int, Field(strict=True, ge=0)]


class RefillSettings(Section):
    """How tokens get into a relay's buckets.

    ``burst`` adds ``interval_ns`` worth of tokens at once, each relay at a phase of its own or all
    ``aligned``; ``lazy`` is tor since 0.3.4: refill on each read and write, in steps of 16.8 ms,
    where the interval only delays the wake-up of a blocked connection. The size of the bucket is
    the descriptor's burst, or what its ``rate`` gives in one second.
    """

    mode: Literal["burst", "lazy"]
    interval_ns: PositiveInt
    phase: Literal["per_relay", "aligned"]
    burst: Literal["descriptor", "rate"]


class Ewma(Section):
    """The circuit with the least recent traffic first: exponentially weighted, of this half-life."""

    kind: Literal["ewma"]
    half_life_ns: PositiveInt


class RoundRobin(Section):
    """Circuits in turn, each draining up to ``quantum_cells`` when picked."""

    kind: Literal["round_robin"]
    quantum_cells: PositiveInt


class ChannelScheduler(Section):
    """Which channels write when; ``interval_ns`` is the run interval of KIST and KISTLite."""

    kind: Literal["kist", "kist_lite", "vanilla"]
    interval_ns: PositiveInt


class EdgeSettings(Section):
    """In which order an edge serves the streams of a circuit, and how much each may package."""

    activation_order: Literal["list", "reversed", "random", "least_recently_served"]
    packaging: Literal["even", "greedy"]


class FixedWindows(Section):
    """Tor's windows of constant size; each increment is what one SENDME gives back."""

    kind: Literal["fixed"]
    circuit_window_cells: PositiveInt = 1000
    circuit_increment_cells: PositiveInt = 100
    stream_window_cells: PositiveInt = 500
    stream_increment_cells: PositiveInt = 50


class Vegas(Section):
    """Tor's delay-based congestion control (proposal 324). No XOFF is ever due: clients read at once."""

    kind: Literal["vegas"]


class TorSettings(Section):
    """All of it, as an engine reads it."""

    refill: RefillSettings
    circuit_policy: Annotated[Ewma | RoundRobin, Field(discriminator="kind")]
    channel_scheduler: ChannelScheduler
    edge: EdgeSettings
    congestion: Annotated[FixedWindows | Vegas, Field(discriminator="kind")]
    cell_queue_high_cells: PositiveInt
    cell_queue_low_cells: NonNegativeInt
    guards: PositiveInt
    circuit_lifetime_ns: PositiveInt
    conflux: bool
    clock_quantum_ns: NonNegativeInt
