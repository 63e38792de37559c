"""Which cells are traced and which downloads followed: the section ``tracing`` of an experiment.yaml
and of run.json; and the words of a followed download's breakdown.

In: a section of a document. Out: :class:`Tracing`. What the places are, and what is recorded there, is in
``docs/cell-tracing.md``; what the words of a breakdown mean in an engine, in ``docs/latency-breakdown.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, Self, get_args

from pydantic import Field, model_validator

from torsweep.config.option_bundle import HostName
from torsweep.config.reading import RefusedValue, Section, left_out

Record = Literal["progress", "cells", "breakdown"]
"""What runs record beside downloads and relays where an experiment asks for it: how far each download was at
what time, the cells of traced relays, and what followed downloads waited for."""
BYTES = ("first", "last")
"""The bytes of a download's answer that are followed."""

LEGS = ("attach", "begin", "connected", "request", "response")
"""The client waits for a circuit; BEGIN goes to the exit, which connects to the server; CONNECTED comes back;
the request goes to the server; the byte comes."""

PLACES = (
    "client",
    "client-guard",
    "guard",
    "guard-middle",
    "middle",
    "middle-exit",
    "exit",
    "exit-server",
    "server",
)
"""Hosts, and the links between them, from the client on."""

Group = Literal[
    "circuit", "kernel", "circuit_queue", "process", "bucket", "window", "link_queue", "link", "unknown"
]

GROUPS: Mapping[Group, tuple[str, ...]] = {
    "circuit": ("circuit", "retry"),
    "kernel": ("server", "send_kernel", "recovery", "receive_kernel"),
    "circuit_queue": ("circuit_queue",),
    "process": ("relaying", "outbuf", "program"),
    "bucket": ("read_bucket", "write_bucket"),
    "window": ("window",),
    "link_queue": ("up_queue", "down_queue"),
    "link": ("up_sending", "propagation", "down_sending", "connect"),
    "unknown": ("beyond",),
}
"""What a byte waited for, and the parts of which each of these is the sum: a circuit, a kernel, the queue of
its circuit, the work of a process and its output buffer, tokens, a window at the exit, its turn on a link,
the link itself, and what happened where nothing is recorded."""

PARTS = tuple(part for parts in GROUPS.values() for part in parts)

GROUP_OF: Mapping[str, Group] = {part: group for group, parts in GROUPS.items() for part in parts}


Point = Literal["inbuf", "recognized", "queue", "outbuf", "flush"]

POINTS: tuple[Point, ...] = get_args(Point)
"""The places of a relay that a cell passes, in order."""

Stage = Literal["relaying", "waiting", "writing"]

STAGES: Mapping[Stage, tuple[Point, Point]] = {
    "relaying": ("inbuf", "queue"),
    "waiting": ("queue", "outbuf"),
    "writing": ("outbuf", "flush"),
}
"""The stages of a cell that a relay sends on: reading and encrypting it, its time in the queue of its
circuit, its time in the output buffer until the kernel has it whole."""

PASSAGE_POINTS: tuple[Point, ...] = ("inbuf", "queue", "outbuf", "flush")
"""The places at which a cell has to be recorded for its stages to be known."""

MOST_RECORDS = 100_000_000
"""The most records of a relay: 5.6 GB."""

TracedHost = Annotated[str, Field(pattern=r"^[A-Za-z0-9]{1,19}$")]


class Tracing(Section):
    """Which hosts record cells, at which places, and how many downloads are followed."""

    hosts: Annotated[tuple[TracedHost, ...], Field(max_length=1_000)] = ()
    """Relays, and in engines of real tor clients, as in network.json, that record cells."""
    points: Annotated[tuple[Point, ...], Field(min_length=1, max_length=len(POINTS))] = POINTS
    """The places of a host at which a cell is recorded."""
    sample: Annotated[int, Field(strict=True, ge=1, le=1_000_000)] = 1
    """N records one cell in N, at all of its places."""
    records: Annotated[int, Field(strict=True, ge=1_000, le=MOST_RECORDS)] = 4_000_000
    """How many records a host keeps: the newest."""
    downloads: Annotated[int, Field(strict=True, ge=0, le=1_000_000)] = 0
    """N follows one download in N from its client to the server and back; 0 follows none."""
    packets: Annotated[tuple[HostName, ...], Field(max_length=1_000)] = left_out(())
    """Hosts of any kind, in engines of real tor, whose packets are kept in a capture (pcap): the first 128
    bytes of each."""

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not (self.hosts or self.downloads or self.packets):
            accepted = "names of relays, downloads: 1 or more, or packets of hosts"
            raise RefusedValue("traces nothing", key="hosts", accepted=accepted)
        return self
