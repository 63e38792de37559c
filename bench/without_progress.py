"""Clients without progress at an exit.

    python -m bench.without_progress OUT.csv WORDS=RUN_DIR[:RUN_DIR…],EXIT …

In: finished runs of refill_sweep, their networks, and an exit. Out: a row for each run; of several runs,
which differ by chance alone, least and greatest. ``stalled`` web clients got no byte in the last minute, and
``starved`` ones none in the measured time, although a download was under way; ``stalled_at_exit`` of them
use the exit, as do the ``clients_at_exit`` whose downloads are under way at the end. ``payload`` is the most
that downloads over the exit can have received in the measured time: all of those that received something
in it. χ² is that of first bytes between 1 and 8 s, folded at one second into ten bins (nine degrees of
freedom); depths are of stairs as wide as the interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from bench.writing import write_named_rows
from torsweep.engines.run_spec import read_run
from torsweep.engines.table_schema import CIRCUITS, RELAYS, STREAMS
from torsweep.network.model import read_network
from torsweep.runsets.run import read_table
from torsweep.stats.streams.stairs import stair_depth
from torsweep.units import NANOSECONDS_PER, parse_quantity

LAST_MINUTE_US = 60_000_000
BINS, FROM_S, TO_S = 10, 1, 8
HOPS = 3


def chi_square(times_us: pl.Series) -> float:
    """χ² of equal numbers in each tenth of a second."""
    times_s = times_us.drop_nulls().to_numpy() / 1e6
    times_s = times_s[(times_s >= FROM_S) & (times_s < TO_S)]
    counts = np.bincount((times_s % 1 * BINS).astype(int), minlength=BINS)
    return float(((counts - counts.mean()) ** 2).sum() / counts.mean())


def depth(times_us: pl.Series, period_us: float) -> float | str:
    """Of stairs as wide as a refill interval; none where there are too few downloads."""
    value = stair_depth(times_us.to_numpy() / 1e6, period_us / 1e6)
    return round(value, 2) if np.isfinite(value) else "none"


def progress(run: Path, exit_relay: str) -> dict[str, object]:
    """The row of ``run``."""
    spec = read_run(run)
    end_us, warm_up_us = spec.duration_ns // 1000, spec.warm_up_ns // 1000
    period_us = parse_quantity(spec.variant["refill_interval"], NANOSECONDS_PER, "100ms") / 1000
    network, _ = read_network(run / spec.network, latency=False)
    relays = {relay.name: relay for relay in network.relays}
    path = pl.col("path").str.split(",")
    circuits = read_table(run, CIRCUITS).filter(path.list.len() == HOPS)
    downloads = read_table(run, STREAMS).join(
        circuits.select("client", "circuit", exit=path.list.last()),
        on=["client", "circuit"],
        how="left",
    )
    last = downloads.filter(kind="web").sort("start_us").group_by("client").last()
    under_way = last.filter(pl.col("outcome") == "unfinished")
    latest_us = pl.col("start_us") + pl.col("latest_byte_us")

    def without(since_us: int) -> pl.DataFrame:
        waiting = (pl.col("start_us") < since_us) & ~(latest_us >= since_us).fill_null(value=False)
        return under_way.filter(waiting)

    stalled, starved = without(end_us - LAST_MINUTE_US), without(warm_up_us)
    measured_s = (end_us - warm_up_us) / 1e6
    received = downloads.filter(latest_us >= warm_up_us).filter(exit=exit_relay)
    measured = downloads.filter(pl.col("start_us") >= warm_up_us)
    carried = read_table(run, RELAYS).filter(
        pl.col("second") >= warm_up_us // 1_000_000, pl.col("second") < end_us // 1_000_000, relay=exit_relay
    )
    web = measured.filter(kind="web")
    opening, request = web["first_byte_us"].drop_nulls(), web["first_byte_after_command_us"].drop_nulls()
    rate = relays[exit_relay].rate_bytes_per_s
    return {
        "policy": spec.variant["circuit_policy"],
        "web_clients": last.height,
        "stalled": stalled.height,
        "starved": starved.height,
        "exit": exit_relay,
        "rate_bytes_per_s": rate,
        "refill_bytes": round(rate * period_us / 1e6),
        "clients_at_exit": under_way.filter(exit=exit_relay).height,
        "stalled_at_exit": stalled.filter(exit=exit_relay).height,
        "starved_at_exit": starved.filter(exit=exit_relay).height,
        "read_bytes_per_s": round(int(carried["bytes_in"].sum()) / measured_s),
        "payload_bytes_per_s": round(int(received["bytes_got"].sum()) / measured_s),
        "first_bytes": len(opening),
        "chi_square_opening": round(chi_square(opening), 1),
        "chi_square_request": round(chi_square(request), 1),
        "depth_opening": depth(opening, period_us),
        "depth_request": depth(request, period_us),
    }


def span(values: Sequence[Any]) -> str:
    """The value, or least and greatest of several."""
    known = [value for value in values if value != "none"]
    if not known:
        return "none"
    least, greatest = min(known), max(known)
    return str(least) if least == greatest else f"{least} to {greatest}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point."""

    def row(places: str) -> dict[str, object]:
        folders, exit_relay = places.rsplit(",", 1)
        rows = [progress(Path(run), exit_relay) for run in folders.split(":")]
        return {column: span([row[column] for row in rows]) for column in rows[0]}

    write_named_rows(__doc__, "RUN_DIR[:RUN_DIR…],EXIT", row, arguments)


if __name__ == "__main__":
    main()
