"""What it changes that several clients share a tor (`clients_per_tor`), in runs on the same networks.

In: folders of runs. Out: a CSV with a row for each run.

    python -m bench.shared_tors RUN… > docs/tables/shared_tors.csv

Web clients' downloads and pages' objects count that start after the warm-up.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import polars as pl

from bench.public_2019 import utilisation
from torsweep.engines.run_spec import read_run
from torsweep.engines.table_schema import CIRCUITS, STREAMS
from torsweep.network.model import read_network


def row(folder: Path) -> dict[str, object]:
    """The row of the run in ``folder``."""
    run = read_run(folder)
    network, _ = read_network((folder / run.network).resolve(), latency=False)
    streams = pl.read_parquet(folder / STREAMS.file).filter(
        pl.col("kind") == "web", pl.col("start_us") >= run.warm_up_ns // 1000, pl.col("outcome") == "complete"
    )
    circuits = pl.read_parquet(folder / CIRCUITS.file).drop_nulls("path")
    used = circuits.drop_nulls("first_use_us").height
    open_at_end = circuits.drop_nulls("built_us").filter(pl.col("closed_us").is_null()).height
    guards = circuits.select("client", pl.col("path").str.split(",").list.first()).unique().height
    return {
        "engine": run.engine,
        "network": network.seed,
        "relays": len(network.relays),
        "clients_per_tor": network.config.get("clients_per_tor", 1),
        "tors_of_clients": len(network.tor_clients),
        "utilisation": round(utilisation(folder), 3),
        "web_first_byte_s": round(_median_s(streams["first_byte_us"]), 3),
        "web_last_byte_s": round(_median_s(streams["last_byte_us"]), 3),
        "used_circuits_a_relay": round(3 * used / len(network.relays), 1),
        "open_circuits_a_relay": round(3 * open_at_end / len(network.relays), 1),
        "channels_to_guards": guards,
    }


def _median_s(times: pl.Series) -> float:
    return (times.quantile(0.5, "linear") or 0.0) / 1e6


def main() -> None:
    """Write the CSV to standard output."""
    rows = [row(Path(folder)) for folder in sys.argv[1:]]
    writer = csv.DictWriter(sys.stdout, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


if __name__ == "__main__":
    main()
