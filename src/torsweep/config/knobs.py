"""The knobs: every experiment variable torsweep knows, in one table.

In: the name of a knob and the text of a level (``refill_interval``, ``10ms``). Out: what that level
sets in the ``tor`` section of run.json, in its ``traffic``, or in the configuration of the network.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, get_args

from torsweep.config.reading import suggestion
from torsweep.config.tor_settings import MILLISECOND_NS
from torsweep.config.transport import DROPTAIL_BYTES, LEAST_QUEUE_BYTES, TcpRules
from torsweep.errors import InputError
from torsweep.ranges import LEAST_BUCKET_BYTES_PER_S, MOST_RATE_BYTES_PER_S
from torsweep.units import BYTES_PER_SECOND_PER, NANOSECONDS_PER, format_quantity, parse_quantity

Settings = Mapping[str, object]
"""Dotted keys of ``tor``, of the transport, of a kind's traffic or of a network's configuration → values."""

CELL_PAYLOAD_BYTES = 498
"""What a relay cell carries of a stream (tor-spec, section 6.1: ``PAYLOAD_LEN`` less its header)."""

LEVEL_PATTERN = re.compile(r"[A-Za-z0-9._][A-Za-z0-9._-]*\Z")
"""A level is part of a path and of ``knob=level+knob=level``: no spaces, plus or equals signs."""


@dataclass(frozen=True)
class Knob:
    """One experiment variable.

    ``settings`` maps a level's text to what it sets and raises ValueError when the text is no level;
    ``accepted`` says which texts are. ``target`` is where the settings go.
    """

    name: str
    documentation: str
    accepted: str
    settings: Callable[[str], Settings]
    target: Literal["tor", "network", "traffic", "transport"] = "tor"

    def read(self, level: str) -> Settings:
        """What ``level`` sets; InputError, saying which levels there are, when it is no level."""
        try:
            if LEVEL_PATTERN.match(level) is None:
                raise ValueError
            return self.settings(level)
        except ValueError:
            raise InputError(
                "is no level of this knob", key=self.name, value=level, accepted=self.accepted
            ) from None


def _choice(setting: str, *levels: str) -> Callable[[str], Settings]:
    def settings(level: str) -> Settings:
        if level not in levels:
            raise ValueError
        return {setting: level}

    return settings


def _duration_ns(level: str, least_ms: int, most_ms: int) -> int:
    duration_ns = parse_quantity(level, NANOSECONDS_PER, "10ms")
    if not least_ms * MILLISECOND_NS <= duration_ns <= most_ms * MILLISECOND_NS:
        raise ValueError
    return duration_ns


def _quantum(level: str) -> Settings:
    if not re.fullmatch(r"[1-9][0-9]{0,3}", level):
        raise ValueError
    return {"circuit_policy.quantum_cells": int(level)}


def _scheduler(level: str) -> Settings:
    interval = re.fullmatch(r"(kist|kist_lite)_([0-9]+ms)", level)
    if interval:
        kind, interval_ns = interval[1], _duration_ns(interval[2], 2, 100)
    elif level in ("kist", "kist_lite", "vanilla"):
        kind, interval_ns = level, 2 * MILLISECOND_NS
    else:
        raise ValueError
    return {"channel_scheduler": {"kind": kind, "interval_ns": interval_ns}}


def _clock(level: str) -> Settings:
    if level == "precise":
        return {"clock_quantum_ns": 0}
    if not level.startswith("coarse_"):
        raise ValueError
    return {"clock_quantum_ns": _duration_ns(level.removeprefix("coarse_"), 1, 100)}


def _guards(level: str) -> Settings:
    if not re.fullmatch(r"[1-9][0-9]?", level):
        raise ValueError
    return {"guards": int(level)}


def _pauses(level: str) -> Settings:
    steps_ns = {"any": 1, "whole_seconds": 1_000 * MILLISECOND_NS}
    if level not in steps_ns:
        raise ValueError
    return {"think_step_ns": steps_ns[level]}


def _load(level: str) -> Settings:
    if not re.fullmatch(r"[0-9]{1,2}(\.[0-9]{1,4})?", level) or not 0 < Fraction(level) <= 20:
        raise ValueError
    return {"load": float(level)}


def _middle_bandwidth(level: str) -> Settings:
    amount = re.fullmatch(r"([0-9.]+)(KBps|KiBps|MBps|MiBps)", level)
    if not amount:
        raise ValueError
    unit = amount[2].replace("ps", "/s")
    rate = parse_quantity(f"{amount[1]} {unit}", BYTES_PER_SECOND_PER, "550 KiB/s")
    if not LEAST_BUCKET_BYTES_PER_S <= rate <= MOST_RATE_BYTES_PER_S:
        raise ValueError
    return {"chain.middle": format_quantity(rate, BYTES_PER_SECOND_PER)}


def _streams(level: str) -> Settings:
    if not re.fullmatch(r"[1-9][0-9]?", level):
        raise ValueError
    return {"parallel_streams": int(level)}


def _link_queue(level: str) -> Settings:
    if level == "codel":
        return {"link_queue": {"kind": "codel"}}
    sized = re.fullmatch(r"droptail(?:_([1-9][0-9]{0,4})KB)?", level)
    if not sized:
        raise ValueError
    size = 1000 * int(sized[1]) if sized[1] else DROPTAIL_BYTES
    if size < LEAST_QUEUE_BYTES:
        raise ValueError
    return {"link_queue": {"kind": "droptail", "bytes": size}}


def _cells(level: str) -> Settings:
    if not re.fullmatch(r"[1-9][0-9]{0,6}", level):
        raise ValueError
    return {"response_bytes": int(level) * CELL_PAYLOAD_BYTES}


USUAL_LATENCY = "king"
"""The latency of a network that does not say which, and of the variants that do not turn the knob."""

_LATENCIES = ("king", "planetlab", "atlas-2023")
_ORDERS = ("list", "reversed", "random", "least_recently_served")

_TABLE = (
    Knob(
        "refill_interval",
        "Time between two refills of a relay's token buckets; under lazy refill only the delay after which "
        "a blocked connection is woken (TokenBucketRefillInterval).",
        "a duration from 1ms to 1000ms, such as 100ms",
        lambda level: {"refill.interval_ns": _duration_ns(level, 1, 1000)},
    ),
    Knob(
        "refill_mode",
        "Tokens arrive in one burst an interval (tor until 0.3.4), or lazily at each read and write.",
        "burst, lazy",
        _choice("refill.mode", "burst", "lazy"),
    ),
    Knob(
        "refill_phase",
        "When relays refill in burst mode: each at a phase of its own, or all at the same instant.",
        "per_relay, aligned",
        _choice("refill.phase", "per_relay", "aligned"),
    ),
    Knob(
        "refill_burst",
        "The bucket's size: the burst of the relay's descriptor, or what its rate gives in a second.",
        "descriptor, rate",
        _choice("refill.burst", "descriptor", "rate"),
    ),
    Knob(
        "circuit_policy",
        "Which circuit of a channel sends next: the quietest by EWMA, or each in turn.",
        "ewma, round_robin",
        _choice("circuit_policy.kind", "ewma", "round_robin"),
    ),
    Knob(
        "round_robin_quantum",
        "How many cells a circuit may send in its turn; not applied under EWMA.",
        "a whole number of cells from 1 to 9999",
        _quantum,
    ),
    Knob(
        "ewma_half_life",
        "The half-life of EWMA's cell counts; refused under round-robin.",
        "a duration from 10ms to 1h, such as 30s",
        lambda level: {"circuit_policy.half_life_ns": _duration_ns(level, 10, 3_600_000)},
    ),
    Knob(
        "scheduler",
        "Which channels write, and when: KIST or KISTLite every 2 ms (or N ms), or Vanilla.",
        "kist, kist_Nms, kist_lite, kist_lite_Nms with N from 2 to 100, vanilla",
        _scheduler,
    ),
    Knob(
        "activation_order",
        "The order in which an edge serves the streams of a circuit.",
        ", ".join(_ORDERS),
        _choice("edge.activation_order", *_ORDERS),
    ),
    Knob(
        "packaging",
        "How much a stream may package when its turn comes: an even share, or all it has.",
        "even, greedy",
        _choice("edge.packaging", "even", "greedy"),
    ),
    Knob(
        "congestion",
        "Congestion control between the ends of a circuit: windows of 1000 and 500 cells, or Vegas.",
        "fixed, vegas",
        lambda level: {"congestion": {"kind": _choice("kind", "fixed", "vegas")(level)["kind"]}},
    ),
    Knob(
        "clock",
        "The resolution of the clock that token buckets and EWMA read; the times in tables are exact.",
        "precise, coarse_Nms with N from 1 to 100",
        _clock,
    ),
    Knob("guards", "How many guards a client keeps.", "a whole number from 1 to 99", _guards),
    Knob(
        "pauses",
        "Which pauses a client takes between its shortest and its longest: any, or whole seconds from the "
        "shortest on, as generators that draw from a list of pauses do.",
        "any, whole_seconds",
        _pauses,
        target="traffic",
    ),
    Knob(
        "streams",
        "How many downloads a client has under way at once.",
        "a whole number from 1 to 99",
        _streams,
        target="traffic",
    ),
    Knob(
        "cells",
        f"How long a download is, in relay cells of {CELL_PAYLOAD_BYTES} bytes of payload.",
        "a whole number from 1 to 9999999",
        _cells,
        target="traffic",
    ),
    Knob(
        "tcp",
        "Whose TCP the model's connections have: that of a Linux of the era (3.2 or 6.18), that of Linux "
        "6.18 with the settings of the era, as an emulation has it, or Shadow's. Only cellsim has a choice.",
        ", ".join(get_args(TcpRules)),
        _choice("tcp", *get_args(TcpRules)),
        target="transport",
    ),
    Knob(
        "link_queue",
        "What drops packets before a host's down-link: CoDel as in Shadow's router, or a queue that is full "
        f"(with {DROPTAIL_BYTES:,} bytes where no size is said, as in an emulation). Only cellsim has both.",
        "codel, droptail, droptail_NKB with N from 2 to 99999",
        _link_queue,
        target="transport",
    ),
    Knob(
        "load",
        "Clients per relay, relative to the network's configuration: makes networks of their own.",
        "a decimal number above 0, at most 20, such as 0.5",
        _load,
        target="network",
    ),
    Knob(
        "latency",
        "Where round trips come from: a table of topologies/latency/; makes networks of their own.",
        ", ".join(_LATENCIES),
        _choice("latency", *_LATENCIES),
        target="network",
    ),
    Knob(
        "middle_bandwidth",
        "The rate of the middle relay's token bucket, in a network that is a chain.",
        "a number and KBps, KiBps, MBps or MiBps, from 20KiBps to 12500MBps",
        _middle_bandwidth,
        target="network",
    ),
)

USUAL_OUTSIDE_ERAS = {
    "load": "1",
    "latency": USUAL_LATENCY,
    "pauses": "any",
    "tcp": "linux",
    "link_queue": "droptail",
}
"""The levels of the knobs that no era states, because they are not about tor."""

KNOBS: Mapping[str, Knob] = {knob.name: knob for knob in _TABLE}


def find_knob(name: str) -> Knob:
    """The knob ``name``; InputError, with the closest name and all names, when there is none."""
    if name not in KNOBS:
        raise InputError(
            f"no such knob{suggestion(name, list(KNOBS))}", value=name, accepted=", ".join(KNOBS)
        )
    return KNOBS[name]
