"""Perf clients of runs beside OnionPerf's downloads of public Tor, January to May 2019.

    python -m experiments.onionperf_2019.scripts.public_tor NAME=RUN,RUN… NAME=RUN… > tails.csv

In: folders of runs in any engine, those of a variant together. Out: a CSV with a row for each variant and
quantity: quantiles of the downloads of all its networks over public Tor's, and the share of downloads that
ended at their time limit. Downloads count that start after the warm-up and a minute or more before the end.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import polars as pl

from bench.run_pairs import utilisation
from bench.writing import csv_text, end_with
from torsweep.config.traffic import KIND_NAMES
from torsweep.engines.run_spec import read_run
from torsweep.engines.table_schema import STREAMS
from torsweep.formats.frames import read_frame
from torsweep.network.model import read_network

QUANTILES = (0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
PUBLIC = {
    "round_trip": (0.298, 0.420, 0.596, 0.726, 0.898, 1.715),
    "perf_50kib": (0.916, 1.282, 1.836, 2.284, 2.774, 7.772),
    "perf_1mib": (2.322, 3.466, 4.870, 7.487, 11.435, 30.375),
    "perf_5mib": (7.668, 11.185, 15.604, 24.684, 36.784, 85.099),
}
"""Means of five months' quantiles, s: the artifact of Once is Never Enough. Round trips are from the request
to the first byte of the answer, times of sizes from the opening of the SOCKS connection to the last byte."""

_TAIL_US = 60_000_000


def downloads(folder: Path) -> pl.DataFrame:
    """The perf clients' downloads in the run of ``folder``, whatever came of them."""
    run = read_run(folder)
    started = pl.col("start_us").is_between(run.warm_up_ns // 1000, run.duration_ns // 1000 - _TAIL_US)
    streams = read_frame(folder / STREAMS.file)
    return streams.filter(pl.col("kind").cast(pl.String).str.starts_with("perf"), started)


def rows(name: str, folders: list[Path]) -> list[dict[str, object]]:
    """The rows of a variant."""
    every = pl.concat([downloads(folder) for folder in folders])
    run = read_run(folders[0])
    network, _ = read_network((folders[0] / run.network).resolve(), latency=False)
    head: dict[str, object] = {"engine": run.engine, "relays": len(network.relays), "variant": name}
    head |= {"networks": len(folders)}
    head |= {"utilisation": round(sum(map(utilisation, folders)) / len(folders), 3)}
    found: list[dict[str, object]] = []
    for quantity, public in PUBLIC.items():
        own, time_us = every.filter(pl.col("kind").cast(pl.String) == quantity), pl.col("last_byte_us")
        if quantity == "round_trip":
            own, time_us = every, pl.col("first_byte_us") - pl.col("command_us")
        times = own.filter(outcome="complete").select(time_us / 1e6).to_series()
        row = head | {"what": KIND_NAMES.get(quantity, "circuit round trip"), "downloads": len(times)}
        row["timeouts"] = f"{own.filter(outcome='timeout').height / own.height:.1%}"
        for share, there in zip(QUANTILES, public, strict=True):
            here = times.quantile(share, "linear") or 0.0
            row |= {f"p{share:.0%}".rstrip("%") + "_s": round(here, 3)}
            row |= {f"p{share:.0%}".rstrip("%") + "_ratio": round(here / there, 3)}
        found.append(row)
    return found


def _variant(text: str) -> tuple[str, list[Path]]:
    name, _, runs = text.partition("=")
    if not runs:
        raise argparse.ArgumentTypeError(f"{text}: accepted: NAME=RUN,RUN…")
    return name, [Path(run) for run in runs.split(",")]


def main() -> None:
    """Write the CSV to standard output."""
    parser = argparse.ArgumentParser(prog="python -m experiments.onionperf_2019.scripts.public_tor")
    parser.add_argument("variants", nargs="+", metavar="NAME=RUN,RUN…", type=_variant)
    found = [row for variant in parser.parse_args().variants for row in rows(*variant)]
    sys.stdout.write(csv_text(list(found[0]), found))


if __name__ == "__main__":
    end_with(main)
