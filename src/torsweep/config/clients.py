"""The kinds of client: those that an experiment is about, and those that only measure.

What web and bulk clients do stands in an experiment. Perf clients are those of OnionPerf, as tornettools
has them in its networks: each downloads one of three sizes about once a minute, and gives it up after a
while. A network has them where its configuration asks for them.
"""

from __future__ import annotations

from typing import Literal, get_args

ClientKind = Literal["web", "bulk"]
"""The clients whose times are summarised, drawn and judged."""

PerfKind = Literal["perf_50kib", "perf_1mib", "perf_5mib"]
"""Clients that measure, by what they download."""

AnyKind = Literal[ClientKind, PerfKind]

KINDS: tuple[ClientKind, ...] = get_args(ClientKind)
"""All kinds of client, in the order in which tables and figures show them."""

PERF_KINDS: tuple[PerfKind, ...] = get_args(PerfKind)
