"""Why first bytes come in stairs when their clock starts with the request.

    python -m bench.stair_phase OUT.csv RUN_DIR...

In: runs of refill_sweep by the model, and their networks, whose relays say when they refill. Out: a row for
each variant and for guards that their bucket limits or their link: how far the openings of web clients' SOCKS
connections, the arrivals of CONNECTED and the first bytes keep to one phase of the guard's refill (mean
resultant length, 0 to 1; bytes of one refill are 1), and the depth of the stairs of first bytes, from the
opening and from the request. Means over networks.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import polars as pl

from torsweep.engines.table_schema import CIRCUITS, STREAMS
from torsweep.network.model import read_network
from torsweep.runsets.run import open_run, read_table
from torsweep.stats.streams.stairs import stair_depth
from torsweep.units import NANOSECONDS_PER, parse_quantity

HOPS = 3


def rows_of_run(directory: Path) -> pl.DataFrame:
    """A row for guards that their bucket limits, and one for those that their link limits."""
    run = open_run(directory)
    assert run.spec is not None
    period_us = parse_quantity(run.variant["refill_interval"], NANOSECONDS_PER, "100ms") / 1000
    network, _ = read_network(directory / run.spec.network, latency=False)
    guards = pl.DataFrame(
        [(relay.name, relay.refill_phase, relay.bucket_binds) for relay in network.relays],
        {"guard": pl.String, "phase": pl.Float64, "bucket": pl.Boolean},
        orient="row",
    )
    path = pl.col("path").str.split(",")
    circuits = read_table(directory, CIRCUITS).filter(path.list.len() == HOPS)
    downloads = (
        read_table(directory, STREAMS)
        .filter(
            pl.col("kind") == "web",
            pl.col("start_us") >= run.warm_up_ns // 1000,
            pl.col("first_byte_us").is_not_null(),
        )
        .join(circuits.select("client", "circuit", guard=path.list.first()), on=["client", "circuit"])
        .join(guards, on="guard")
    )
    moments = {"opening": pl.lit(0), "connected": pl.col("command_us"), "first_byte": pl.col("first_byte_us")}
    turns = {
        name: 2 * np.pi * ((pl.col("start_us") + since) / period_us - pl.col("phase"))
        for name, since in moments.items()
    }
    in_phase = {
        f"{name}_in_phase": (turn.cos().mean().pow(2) + turn.sin().mean().pow(2)).sqrt()
        for name, turn in turns.items()
    }
    clocks = {"opening": "first_byte_us", "request": "first_byte_after_command_us"}
    depths = [
        {"bucket": bucket}
        | {
            f"depth_{clock}": stair_depth(downloads.filter(bucket=bucket)[column].to_numpy(), period_us)
            for clock, column in clocks.items()
        }
        for bucket in (True, False)
    ]
    by_guard = downloads.group_by("bucket").agg(downloads=pl.len(), **in_phase)
    levels = [pl.lit(level).alias(knob) for knob, level in run.variant.items()]
    return by_guard.join(pl.DataFrame(depths), on="bucket").with_columns(*levels, seed=pl.lit(run.seed))


def main(out: Path, directories: list[Path]) -> None:
    """Write the means over networks to ``out``."""
    runs = pl.concat([rows_of_run(directory) for directory in directories])
    by = ["refill_interval", "circuit_policy", "bucket"]
    means = runs.group_by(by).agg(
        pl.len().alias("networks"),
        pl.col("downloads").sum(),
        pl.col("opening_in_phase", "connected_in_phase", "first_byte_in_phase").mean(),
        pl.col("depth_opening", "depth_request").mean(),
    )
    order = pl.col("refill_interval").str.strip_suffix("ms").cast(pl.Int64)
    limit = pl.when("bucket").then(pl.lit("bucket")).otherwise(pl.lit("link"))
    means = means.sort(order, "circuit_policy", "bucket", descending=[True, False, True])
    means.select("refill_interval", "circuit_policy", limit.alias("limit"), pl.exclude(by)).write_csv(
        out, float_precision=3
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(argument) for argument in sys.argv[2:]])
