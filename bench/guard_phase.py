"""How far downloads keep to the refills of a guard: ``python -m bench.guard_phase OUT.csv W=RUN_DIR,GUARD``.

In: finished runs of refill_sweep, their networks, and a guard of each. Out: a row for each: of web downloads
through the guard that began in the measured time, how far the openings of SOCKS connections, the arrivals of
CONNECTED, the first bytes, and the time from the request to the first byte keep to one phase of the refill
interval (mean resultant length, 0 to 1; ``by_chance`` is what moments without a phase give). ``after_ms`` is
the mean phase of the time from the request: by how much it is longer than whole intervals.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from bench.writing import write_named_rows
from torsweep.engines.run_spec import read_run
from torsweep.engines.table_schema import CIRCUITS, STREAMS
from torsweep.network.model import read_network
from torsweep.runsets.run import read_table
from torsweep.units import NANOSECONDS_PER, parse_quantity

HOPS = 3


def phases(run: Path, guard: str) -> dict[str, object]:
    """The row of ``guard`` in ``run``."""
    spec = read_run(run)
    period_us = parse_quantity(spec.variant["refill_interval"], NANOSECONDS_PER, "100ms") / 1000
    network, _ = read_network(run / spec.network, latency=False)
    relay = next(relay for relay in network.relays if relay.name == guard)
    path = pl.col("path").str.split(",")
    circuits = read_table(run, CIRCUITS).filter(path.list.len() == HOPS, path.list.first() == guard)
    downloads = (
        read_table(run, STREAMS)
        .join(circuits.select("client", "circuit"), on=["client", "circuit"])
        .filter(
            pl.col("kind") == "web",
            pl.col("start_us") >= spec.warm_up_ns // 1000,
            pl.col("first_byte_us").is_not_null(),
        )
    )
    opened = pl.col("start_us")
    moments = {
        "opening": opened,
        "connected": opened + pl.col("command_us"),
        "first_byte": opened + pl.col("first_byte_us"),
        "request": pl.col("first_byte_after_command_us"),
    }
    means = {
        name: np.exp(2j * np.pi * downloads.select(moment).to_series().to_numpy() / period_us).mean()
        for name, moment in moments.items()
    }
    return {
        "guard": guard,
        "limit": "bucket" if relay.bucket_binds else "link",
        "rate_bytes_per_s": relay.rate_bytes_per_s,
        "downloads": downloads.height,
        **{f"{name}_in_phase": round(float(abs(mean)), 2) for name, mean in means.items()},
        "by_chance": round(downloads.height**-0.5, 2),
        "after_ms": round(float(np.angle(means["request"]) / (2 * np.pi) % 1 * period_us / 1000)),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point."""

    def row(folders: str) -> dict[str, object]:
        run, guard = folders.rsplit(",", 1)
        return phases(Path(run), guard)

    write_named_rows(__doc__, "RUN_DIR,GUARD", row, arguments)


if __name__ == "__main__":
    main()
