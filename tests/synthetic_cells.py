"""Traced cells without an engine, with times that tests know.

In: a variant, a seed, the relays. Out: a ``cells`` table in which cells of quiet circuits wait twice as long
as others in their queue.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from torsweep import seeds
from torsweep.engines.table_schema import CELLS

WAIT_NS = {"kist_10ms": 8_000_000, "kist_2ms": 1_600_000, "kist_lite": 900_000, "vanilla": 200_000}
RELAYING_NS, WRITING_NS = 30_000, 50_000
BUSY, QUIET = 200, 4
"""Cells of a circuit; a relay has as many circuits of either kind."""

CIRCUITS = 8

SEEN = ("inbuf", "queue", "outbuf", "flush")
_NONE = ("relay_command", "stream", "write_ns", "tls_offset", "tcp_offset")


def cells(
    variant: Mapping[str, str], seed: int, hosts: Sequence[str], begin_s: int, end_s: int
) -> pl.DataFrame:
    """The table; all cells come between ``begin_s`` and ``end_s``, outward, from one channel to another."""
    frames = [_of_host(variant, seed, host, begin_s, end_s) for host in hosts]
    return pl.concat([pl.DataFrame(schema=CELLS.polars), *frames])


def _of_host(variant: Mapping[str, str], seed: int, host: str, begin_s: int, end_s: int) -> pl.DataFrame:
    generator = seeds.stream(seed, "cells", host)
    circuit = np.repeat(np.arange(1, CIRCUITS + 1), [BUSY, QUIET] * (CIRCUITS // 2))
    is_quiet = circuit % 2 == 0
    came = np.sort(generator.integers(begin_s * 10**9, end_s * 10**9 - 10**8, len(circuit)))
    wait = WAIT_NS[variant["scheduler"]] * (1 + is_quiet) * generator.uniform(0.9, 1.1, len(circuit))
    times = [came, came + RELAYING_NS]
    times += [times[1] + wait.astype(np.int64), times[1] + wait.astype(np.int64) + WRITING_NS]
    frames = [
        pl.DataFrame(
            {
                "host": [host] * len(circuit),
                "time_ns": moment,
                "cell": np.arange(1, len(circuit) + 1),
                "point": [point] * len(circuit),
                "outward": [None if point == "inbuf" else True] * len(circuit),
                "channel": [1 if point == "inbuf" else 2] * len(circuit),
                "circuit": circuit if point == "inbuf" else circuit + 100,
                "command": [3] * len(circuit),
                "queue_cells": [5 if point in ("queue", "outbuf") else None] * len(circuit),
                **dict.fromkeys(_NONE, pl.Series([None] * len(circuit), dtype=pl.Int64)),
            }
        )
        for point, moment in zip(SEEN, times, strict=True)
    ]
    return pl.concat(frame.select(*CELLS.polars).cast(dict(CELLS.polars)) for frame in frames).sort("time_ns")
