"""What the links did, in the time of the run.

In: the tables that the link emulator left, whose times count from its own start, and its summary. Out: the
table of links (docs/linkem.md has its columns), seconds of the run, and that of packets.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import polars as pl

SECOND_NS = 1_000_000_000


@dataclass(frozen=True)
class Links:
    """The table, and the link emulator's summary of its whole life."""

    frame: pl.DataFrame
    summary: dict

    @property
    def late_share(self) -> float:
        """The share of packets that were handed over more than a millisecond after their time."""
        packets = int(self.frame["received_packets"].sum())
        late = int(self.frame["late_packets"].sum())
        return late / packets if packets else 0.0


def read_links(table: Path, zero_ns: int, end_ns: int) -> Links:
    """The links from ``zero_ns`` to ``end_ns`` of the monotonic clock."""
    summary = json.loads(table.with_suffix(".json").read_text(encoding="utf-8"))
    ahead = round((zero_ns - summary["started_monotonic_ns"]) / SECOND_NS)
    last = -((zero_ns - end_ns) // SECOND_NS)
    second = pl.col("second") - ahead
    frame = pl.read_parquet(table).with_columns(second.alias("second"))
    return Links(frame.filter(pl.col("second").is_between(0, last - 1)).sort("second", "host"), summary)


def read_packets(table: Path, summary: Path, zero_ns: int) -> pl.DataFrame:
    """The packets in ``table``, which counts from the start that ``summary`` tells, with times of the run."""
    ahead_ns = json.loads(summary.read_text(encoding="utf-8"))["started_monotonic_ns"] - zero_ns
    return pl.read_parquet(table).with_columns(pl.col("sent_ns", "done_ns") + ahead_ns)
