"""How long each cell stayed in a relay, stage by stage, from the ``cells`` of a run.

In: the cells table of a run. Out: a ``passages`` table with a row a RELAY cell that the relay sent on, in
the order of the cells' numbers; and how many cells it leaves out, and why.

The three stages of a passage add up to its whole by construction: each ends where the next begins. A cell of
which a record is missing has no row, and is counted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from torsweep.config.tracing import PASSAGE_POINTS, POINTS
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
    """The passages of ``cells``, and the counts of each relay, in the order of the names.

    Memory is a few numbers for each cell between the first and the last number of a relay.
    """
    frames, counts = [pl.DataFrame(schema=PASSAGES.polars)], {}
    for host in sorted(map(str, cells.select("host").unique().collect()["host"])):
        own = cells.filter(pl.col("host") == host).select(_COLUMNS[1:]).collect()
        frame, counts[host] = _of_host(own, host)
        frames.append(frame)
    return pl.concat(frames), counts


def _of_host(own: pl.DataFrame, host: str) -> tuple[pl.DataFrame, PassageCounts]:
    number = own["cell"].to_numpy()
    first, size = int(number.min()), int(number.max() - number.min()) + 1
    index, place = number - first, own["point"].to_physical().to_numpy()
    rows = {point: place == POINTS.index(point) for point in POINTS}
    moment = own["time_ns"].to_numpy()
    times = {point: _spread(moment, index, rows[point], size, _NOT_SEEN) for point in PASSAGE_POINTS}
    ended = _spread(np.ones(len(own), np.bool_), index, rows["recognized"], size, False)
    seen = {point: times[point] != _NOT_SEEN for point in PASSAGE_POINTS}
    command = own["command"].to_numpy()
    read_command = _spread(command, index, rows["inbuf"], size, 0)
    sent_command = _spread(command, index, rows["queue"], size, 0)
    is_read, is_sent = np.isin(read_command, RELAY_COMMANDS), np.isin(sent_command, RELAY_COMMANDS)
    known = own["relay_command"].is_not_null().to_numpy()
    begun = is_sent & _spread(known, index, rows["queue"], size, False) & ~seen["inbuf"]
    # The model passes on as one cell what tor takes in as an EXTEND2 and sends out as a CREATE2, or back.
    ended |= is_read & seen["queue"] & ~is_sent
    begun |= is_sent & seen["inbuf"] & ~is_read
    whole = is_read & is_sent & seen["outbuf"] & seen["flush"]
    left = seen["outbuf"] | seen["flush"]
    counts = PassageCounts(
        passages=int(whole.sum()),
        ended=int(ended.sum()),
        begun=int(begun.sum()),
        under_way=int((is_read & ~ended & ~seen["flush"]).sum()),
        lost=int((left & ~seen["inbuf"] & ~begun & (is_sent | ~seen["queue"])).sum()),
    )
    chosen = np.flatnonzero(whole)
    outward = _spread(own["outward"].fill_null(False).to_numpy(), index, rows["queue"], size, False)[chosen]
    link = (own["channel"].to_numpy() << 32) + own["circuit"].to_numpy()
    came, leaves = (_spread(link, index, rows[point], size, 0)[chosen] for point in ("inbuf", "queue"))
    met = own["queue_cells"].fill_null(0).to_numpy()
    inbuf, queue, outbuf, flush = (times[point][chosen] for point in PASSAGE_POINTS)
    frame = pl.DataFrame(
        {
            "host": pl.repeat(host, len(chosen), eager=True, dtype=pl.String),
            "start_ns": inbuf,
            "outward": outward,
            "command": read_command[chosen].astype(np.uint8),
            "circuit": np.where(outward, came, leaves),
            "queue_cells": _spread(met, index, rows["queue"], size, 0)[chosen],
            "relaying_ns": queue - inbuf,
            "waiting_ns": outbuf - queue,
            "writing_ns": flush - outbuf,
        },
        schema=PASSAGES.polars,
    )
    return frame, counts


def _spread(
    values: NDArray, index: NDArray[np.int64], rows: NDArray[np.bool_], size: int, missing: int | bool
) -> NDArray:
    """An array by the number of the cell: what ``values`` has of it among ``rows``, or ``missing``."""
    spread = np.full(size, missing, values.dtype)
    spread[index[rows]] = values[rows]
    return spread
