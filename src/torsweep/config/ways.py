"""The words of a breakdown: the legs of a byte's way, the places on it, and what the byte waited for.

In: nothing. Out: the words in their order. What each means in an engine stands in
``docs/latency-breakdown.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

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
