"""The knobs of what is around tor: traffic, transport and networks; rows of the table in ``knobs.py``.

In: nothing. Out: :data:`WORLD_KNOBS`.
"""

from __future__ import annotations

from typing import get_args

from torsweep.config.knob import (
    BLACK,
    DASH_DOT,
    DOTTED,
    FOURTH,
    MILLISECOND_NS,
    OTHER,
    PURPLE,
    THIRD,
    USUAL,
    Knob,
    Mark,
    choice,
    decimal,
    either,
    number,
    numbered,
    rate,
    share,
)
from torsweep.config.tor_settings import DROPTAIL_BYTES, TcpRules
from torsweep.units import LEAST_SCALE, MOST_LOSS_SHARE

CELL_PAYLOAD_BYTES = 498
"""What a relay cell carries of a stream (tor-spec, section 6.1: ``PAYLOAD_LEN`` less its header)."""

USUAL_LATENCY = "king"
"""The latency of a network that does not say which, and of the variants that do not turn the knob."""


def _queue(size_bytes: int) -> dict[str, object]:
    return {"kind": "droptail", "bytes": size_bytes}


WORLD_KNOBS = (
    Knob(
        "pauses",
        "Which pauses a client takes between its shortest and its longest: any, or whole seconds from the "
        "shortest on, as generators that draw from a list of pauses do.",
        choice(any=1, whole_seconds=1_000 * MILLISECOND_NS),
        "think_step_ns",
        "any",
        target="traffic",
        marks={"any": USUAL, "whole_seconds": OTHER},
    ),
    Knob(
        "streams",
        "How many downloads a client has under way at once.",
        number(1, 99),
        "parallel_streams",
        None,
        target="traffic",
    ),
    Knob(
        "cells",
        f"How long a download is, in relay cells of {CELL_PAYLOAD_BYTES} bytes of payload.",
        number(1, 9_999_999, then=lambda cells: cells * CELL_PAYLOAD_BYTES),
        "response_bytes",
        None,
        target="traffic",
    ),
    Knob(
        "tcp",
        "Whose TCP the model's connections have: that of a Linux of the era (3.2 or 6.18), or that of Linux "
        "6.18 with the settings of the era, as an emulation has it. Only cellsim has a choice.",
        choice(*get_args(TcpRules)),
        "tcp",
        "linux",
        target="transport",
        marks={"linux": USUAL, "linux_6_18": THIRD},
        words={"linux": "Linux", "linux_6_18": "Linux 6.18"},
    ),
    Knob(
        "link_queue",
        "What drops packets before a host's down-link: CoDel as in Shadow's router, or a queue that is full "
        f"(of {DROPTAIL_BYTES:,} bytes unless a size is given, as in an emulation). Only cellsim has both.",
        either(
            choice(codel={"kind": "codel"}, droptail=_queue(DROPTAIL_BYTES)),
            numbered("droptail_", 2, 99_999, "KB", lambda size_kb: _queue(1000 * size_kb)),
        ),
        "link_queue",
        "droptail",
        target="transport",
        marks={"droptail": USUAL, "codel": OTHER},
        words={"codel": "CoDel"},
    ),
    Knob(
        "load",
        "Clients per relay, relative to the network's configuration. Each level has its own networks.",
        decimal(most=20, example="0.5"),
        "load",
        "1",
        target="network",
        marks={"0.5": THIRD, "0.8": FOURTH, "1": USUAL, "1.1": OTHER},
    ),
    Knob(
        "scale",
        "The size of the network: relays, clients and servers shrink by this factor. Each level has its own "
        "networks.",
        decimal(most=1, example="0.01", least=LEAST_SCALE),
        "scale",
        "1",
        target="network",
        marks={
            "0.003": Mark(BLACK, DOTTED, "X"),
            "0.01": OTHER,
            "0.03": FOURTH,
            "0.1": THIRD,
            "0.3": Mark(PURPLE, DASH_DOT, "v"),
            "1": USUAL,
        },
    ),
    Knob(
        "latency",
        "Where round trips come from: a table of topologies/latency/. Each level has its own networks.",
        choice("king", "planetlab", "atlas-2023", "wonderproxy-2020"),
        "latency",
        USUAL_LATENCY,
        target="network",
        marks={"king": USUAL, "planetlab": OTHER, "atlas-2023": THIRD, "wonderproxy-2020": FOURTH},
        words={
            "king": "King",
            "planetlab": "PlanetLab",
            "atlas-2023": "Atlas 2023",
            "wonderproxy-2020": "WonderProxy 2020",
        },
    ),
    Knob(
        "loss",
        "The share of packets lost between two hosts, each independently. Each level has its own networks.",
        share(MOST_LOSS_SHARE, example="0.01"),
        "loss.share",
        "0",
        target="network",
        marks={"0": USUAL, "0.001": FOURTH, "0.01": OTHER, "0.02": THIRD},
        words={"0": "none"},
    ),
    Knob(
        "middle_bandwidth",
        "The rate of the middle relay's token bucket, in a network that is a chain.",
        rate("20KiBps", "12500MBps"),
        "chain.middle",
        None,
        target="network",
    ),
)
