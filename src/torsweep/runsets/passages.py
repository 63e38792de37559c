"""How long each cell stayed in a relay, stage by stage, from the ``cells`` of a run.

In: the cells table of a run. Out: a ``passages`` table with one row per RELAY cell that the relay sent on, in
the order of the cells' numbers; and how many cells it leaves out, and why.

The three stages of a passage add up to its whole by construction: each ends where the next begins. A cell of
which a record is missing has no row, and is counted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from torsweep.config.tracing import PASSAGE_POINTS, POINTS, Point
from torsweep.engines.table_schema import PASSAGES

RELAY_COMMANDS = (3, 9)
"""RELAY and RELAY_EARLY (tor-spec 3)."""

_NOT_SEEN = np.iinfo(np.int64).min

_COLUMNS = (
    "host",
    "time_ns",
    "cell",
    "point",
    "outward",
    "channel",
    "circuit",
    "command",
    "relay_command",
    "queue_cells",
)


@dataclass(frozen=True)
class PassageCounts:
    """RELAY cells at one relay: those sent on whole (``passages``), and the others.

    ``ended`` and ``begun`` count cells that were for this relay, or were made by it. ``under_way`` were
    read, and not yet with the kernel when the run ended, or were dropped with their circuit; ``lost`` lack a
    record that was overwritten or torn.
    """

    passages: int
    ended: int
    begun: int
    under_way: int
    lost: int


def passages(cells: pl.LazyFrame) -> tuple[pl.DataFrame, dict[str, PassageCounts]]:
    """The passages of ``cells``, and the counts of each relay, in the order of the names. Memory is a few
    numbers for each cell between the first and the last number of a relay."""
    frames, counts = [pl.DataFrame(schema=PASSAGES.polars)], {}
    for host in sorted(map(str, cells.select("host").unique().collect()["host"])):
        own = cells.filter(pl.col("host") == host).select(_COLUMNS[1:]).collect()
        frame, counts[host] = _of_host(own, host)
        frames.append(frame)
    return pl.concat(frames), counts


class _Cells:
    """The records of one relay, by the number of the cell."""

    def __init__(self, own: pl.DataFrame) -> None:
        self.own = own
        number, place = own["cell"].to_numpy(), own["point"].to_physical().to_numpy()
        self.size = int(number.max() - number.min()) + 1
        self._rows = {point: np.flatnonzero(place == code) for code, point in enumerate(POINTS)}
        self._cells = {point: number[rows] - number.min() for point, rows in self._rows.items()}
        self.times = {point: self.at(point, own["time_ns"], _NOT_SEEN) for point in PASSAGE_POINTS}
        self.seen = {point: self.times[point] != _NOT_SEEN for point in PASSAGE_POINTS}
        commands = (self.at(point, own["command"], 0) for point in ("inbuf", "queue"))
        self.is_read, self.is_sent = (np.isin(command, RELAY_COMMANDS, kind="table") for command in commands)

    def at(self, point: Point, column: pl.Series, missing: int | bool) -> NDArray:
        """An array by the number of the cell: what ``column`` has of it at ``point``, or ``missing``."""
        values = column.to_numpy()
        by_cell = np.full(self.size, missing, values.dtype)
        by_cell[self._cells[point]] = values[self._rows[point]]
        return by_cell

    def recognized(self) -> NDArray[np.bool_]:
        """Which cells were for this relay."""
        is_recognized = np.zeros(self.size, np.bool_)
        is_recognized[self._cells["recognized"]] = True
        return is_recognized


def _of_host(own: pl.DataFrame, host: str) -> tuple[pl.DataFrame, PassageCounts]:
    cells = _Cells(own)
    seen, is_read, is_sent = cells.seen, cells.is_read, cells.is_sent
    known = cells.at("queue", own["relay_command"].is_not_null(), False)
    # The model passes on as one cell what tor takes in as an EXTEND2 and sends out as a CREATE2, or back.
    ended = cells.recognized() | (is_read & seen["queue"] & ~is_sent)
    begun = is_sent & np.where(seen["inbuf"], ~is_read, known)
    whole = is_read & is_sent & seen["outbuf"] & seen["flush"]
    left = seen["outbuf"] | seen["flush"]
    counts = PassageCounts(
        passages=int(whole.sum()),
        ended=int(ended.sum()),
        begun=int(begun.sum()),
        under_way=int((is_read & ~ended & ~seen["flush"]).sum()),
        lost=int((left & ~seen["inbuf"] & ~begun & (is_sent | ~seen["queue"])).sum()),
    )
    return _frame(cells, host, np.flatnonzero(whole)), counts


def _frame(cells: _Cells, host: str, chosen: NDArray[np.intp]) -> pl.DataFrame:
    own = cells.own
    outward = cells.at("queue", own["outward"].fill_null(False), False)[chosen]
    link = own["channel"] * 2**32 + own["circuit"]
    came, leaves = (cells.at(point, link, 0)[chosen] for point in ("inbuf", "queue"))
    inbuf, queue, outbuf, flush = (cells.times[point][chosen] for point in PASSAGE_POINTS)
    return pl.DataFrame(
        {
            "host": pl.repeat(host, len(chosen), eager=True, dtype=pl.String),
            "start_ns": inbuf,
            "outward": outward,
            "command": cells.at("inbuf", own["command"], 0)[chosen].astype(np.uint8),
            "circuit": np.where(outward, came, leaves),
            "queue_cells": cells.at("queue", own["queue_cells"].fill_null(0), 0)[chosen],
            "relaying_ns": queue - inbuf,
            "waiting_ns": outbuf - queue,
            "writing_ns": flush - outbuf,
        },
        schema=PASSAGES.polars,
    )
