"""Perf clients of runs beside OnionPerf's downloads of public Tor, January to May 2019.

In: folders of runs in any engine, those of a variant together. Out: a CSV with a row for each variant and
quantity: quartiles of the downloads of all its networks, their ratios to public Tor's, and the share of
downloads that ended at their time limit.

    python -m bench.public_2019 NAME=RUN,RUN… NAME=RUN… > docs/tables/onionperf_2019.csv

Downloads count that start after the warm-up and a minute or more before the end.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import polars as pl

from torsweep.config.traffic import KIND_NAMES
from torsweep.engines.run_spec import read_run
from torsweep.engines.table_schema import RELAYS, STREAMS
from torsweep.network.model import read_network

PUBLIC = {
    "round_trip": (0.298, 0.420, 0.596),
    "perf_50kib": (0.916, 1.282, 1.836),
    "perf_1mib": (2.322, 3.466, 4.870),
    "perf_5mib": (7.668, 11.185, 15.604),
}
"""Means of the five monthly quartiles, s: the artifact of Once is Never Enough. Round trips are from the
request to the first byte of the answer, times of sizes from the opening of the SOCKS connection to the last
byte."""

_TAIL_US = 60_000_000


def downloads(folder: Path) -> pl.DataFrame:
    """The perf clients' downloads in the run of ``folder``, whatever came of them."""
    run = read_run(folder)
    start_us, last_us = run.warm_up_ns // 1000, run.duration_ns // 1000 - _TAIL_US
    return pl.read_parquet(folder / STREAMS.file).filter(
        pl.col("kind").str.starts_with("perf"),
        pl.col("start_us").is_between(start_us, last_us),
    )


def utilisation(folder: Path) -> float:
    """What relays wrote after the warm-up, of what they could."""
    run = read_run(folder)
    network, _ = read_network((folder / run.network).resolve(), latency=False)
    warm_up_us, measured_s = run.warm_up_ns // 1000, (run.duration_ns - run.warm_up_ns) / 1e9
    table = pl.read_parquet(folder / RELAYS.file)
    written = int(table.filter(pl.col("second") >= warm_up_us // 1_000_000)["bytes_out"].sum())
    return written / measured_s / sum(relay.usable_bytes_per_s for relay in network.relays)


def rows(name: str, folders: list[Path]) -> list[dict[str, object]]:
    """The rows of a variant."""
    every = pl.concat([downloads(folder) for folder in folders])
    used = sum(map(utilisation, folders)) / len(folders)
    run = read_run(folders[0])
    network, _ = read_network((folders[0] / run.network).resolve(), latency=False)
    result: list[dict[str, object]] = []
    for quantity, public in PUBLIC.items():
        if quantity == "round_trip":
            own, time_us = every, pl.col("first_byte_us") - pl.col("command_us")
        else:
            own, time_us = every.filter(kind=quantity), pl.col("last_byte_us")
        times = own.filter(outcome="complete").select(time_us / 1e6).to_series()
        quartiles = [times.quantile(share, "linear") or 0.0 for share in (0.25, 0.5, 0.75)]
        row: dict[str, object] = {"engine": run.engine, "relays": len(network.relays), "variant": name}
        row |= {"networks": len(folders), "utilisation": round(used, 3)}
        row |= {"what": KIND_NAMES.get(quantity, "circuit round trip"), "downloads": len(times)}
        row |= {"timeouts": f"{own.filter(outcome='timeout').height / own.height:.1%}"}
        for label, here, there in zip(("q1", "median", "q3"), quartiles, public, strict=True):
            row |= {
                f"{label}_s": round(here, 3),
                f"public_{label}_s": there,
                f"{label}_ratio": round(here / there, 3),
            }
        result.append(row)
    return result


def main() -> None:
    """Write the CSV to standard output."""
    pairs = (argument.partition("=")[::2] for argument in sys.argv[1:])
    found = [
        row for name, folders in pairs for row in rows(name, [Path(each) for each in folders.split(",")])
    ]
    writer = csv.DictWriter(sys.stdout, list(found[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(found)


if __name__ == "__main__":
    main()
