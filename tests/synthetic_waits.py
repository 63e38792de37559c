"""What made downloads waited for, in which each part has a known share.

In: the downloads of a made run. Out: its ``breakdown``: to each byte that came, pieces whose durations are
these shares of the time to it, and the rest is propagation.
"""

from __future__ import annotations

import polars as pl

from torsweep.engines.table_schema import BREAKDOWN

SHARES = (
    ("attach", "client", "circuit", 0.1),
    ("begin", "guard", "read_bucket", 0.2),
    ("request", "middle", "circuit_queue", 0.25),
    ("response", "exit", "send_kernel", 0.15),
    ("response", "client-guard", "down_queue", 0.05),
)
"""Leg, place, part and share of each piece but the last."""

_HOSTS = {"client": "", "guard": "relay1", "middle": "relay2", "exit": "relay3", "client-guard": "relay1"}


def waits(streams: pl.DataFrame, one_in: int) -> pl.DataFrame:
    """The table; every ``one_in``-th download is followed."""
    rows = []
    for number, stream in enumerate(streams.iter_rows(named=True)):
        for byte in ("first", "last") if one_in and number % one_in == 0 else ():
            if stream[f"{byte}_byte_us"] is not None:
                rows += _way(stream, byte)
    return pl.DataFrame(rows, schema=BREAKDOWN.polars)


def _way(stream: dict, byte: str) -> list[dict[str, object]]:
    whole_ns = stream[f"{byte}_byte_us"] * 1000
    lasting = [(leg, place, part, int(share * whole_ns)) for leg, place, part, share in SHARES]
    lasting.append(
        ("response", "client-guard", "propagation", whole_ns - sum(duration for *_, duration in lasting))
    )
    rows, start_ns = [], stream["start_us"] * 1000
    for step, (leg, place, part, duration_ns) in enumerate(lasting, 1):
        row = {"client": stream["client"], "stream": stream["stream"], "byte": byte, "step": step, "leg": leg}
        row |= {"place": place, "host": _HOSTS[place] or stream["client"], "part": part}
        rows.append(row | {"start_ns": start_ns, "duration_ns": duration_ns})
        start_ns += duration_ns
    return rows
