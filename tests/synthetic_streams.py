"""Plausible runs of streams on one circuit, without an engine.

In: a folder, knobs of the experiment ``starvation``, seeds. Out: run directories as an engine leaves them. In
list order the three streams opened last are served first, in reversed order the three opened first, until
they are complete; in other orders all are served alike. With the middle at 600 KiB/s or more nobody starves.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path

import polars as pl

from tests.synthetic import EXPERIMENTS, begin_run, finish_run
from torsweep.config.experiment import Experiment, load_experiment
from torsweep.config.world_knobs import CELL_PAYLOAD_BYTES
from torsweep.engines.table_schema import PROGRESS, RELAYS, STREAMS
from torsweep.network.model import LATENCY_FLOOR_US

FIRST_S, ALL_S = 30.0, 90.0
"""When the streams that are served first are complete, and when all are."""

SERVED = 3
STARVED_SHARE = 0.05
"""What a starved stream has when the first ones are complete."""

FREE_FROM_KIB = 600
_STEPS = 60


def write_runs(folder: Path, knobs: Mapping[str, Sequence[str]], seeds: Sequence[int]) -> list[Path]:
    """Write a run for each variant and seed; their folders in the order of the grid."""
    return [
        write_run(folder, dict(zip(knobs, levels, strict=True)), seed)
        for levels in product(*knobs.values())
        for seed in seeds
    ]


def write_run(folder: Path, variant: Mapping[str, str], seed: int) -> Path:
    """One run directory, ``SEED/VARIANT`` in ``folder``."""
    network = f"{seed},{variant['middle_bandwidth']}"
    network_sha256 = hashlib.sha256(network.encode()).hexdigest()
    directory, _ = begin_run(folder, _experiment(), variant, seed, network, network_sha256)
    streams, progress = tables(variant, seed)
    streams.write_parquet(directory / "streams.parquet")
    progress.write_parquet(directory / "progress.parquet")
    pl.DataFrame(schema=RELAYS.polars).write_parquet(directory / "relays.parquet")
    finish_run(directory, engine="cellsim", engine_version="0.1.0", simulated_s=ALL_S)
    return directory


@functools.cache
def _experiment() -> Experiment:
    return load_experiment(EXPERIMENTS / "starvation")


def tables(variant: Mapping[str, str], seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Streams and progress of the one client of a run."""
    streams, cells = int(variant["streams"]), int(variant["cells"])
    order = variant["activation_order"]
    free = int(variant["middle_bandwidth"].removesuffix("KiBps")) >= FREE_FROM_KIB
    rows, points = [], []
    for number in range(1, streams + 1):
        among_last = number > streams - SERVED
        served = {"list": among_last, "reversed": number <= SERVED}.get(order, True) or free
        one_by_one = order in ("list", "reversed") and not free
        done_s = (FIRST_S if served and one_by_one else ALL_S) + 0.01 * number
        rows.append(_row(number, cells, done_s))
        for step in range(1, _STEPS + 1):
            time_s = done_s * step / _STEPS
            share = step / _STEPS if served else _late_share(time_s, done_s)
            points.append(("bulk1", number, int(time_s * 1e6), int(share * cells) * CELL_PAYLOAD_BYTES))
    return (
        pl.DataFrame(rows, schema=STREAMS.polars),
        pl.DataFrame(points, schema=PROGRESS.polars, orient="row"),
    )


def _late_share(time_s: float, done_s: float) -> float:
    """Next to nothing until the served streams are complete, then the rest."""
    if time_s < FIRST_S:
        return STARVED_SHARE * time_s / FIRST_S
    return STARVED_SHARE + (1 - STARVED_SHARE) * (time_s - FIRST_S) / (done_s - FIRST_S)


def _row(number: int, cells: int, done_s: float) -> dict[str, object]:
    row: dict[str, object] = dict.fromkeys(STREAMS.polars)
    done_us, wanted = int(done_s * 1e6), cells * CELL_PAYLOAD_BYTES
    return row | {
        "client": "bulk1",
        "kind": "bulk",
        "circuit": 1,
        "stream": number,
        "server": "server1",
        "start_us": 0,
        "socks_reply_us": LATENCY_FLOOR_US,
        "command_us": LATENCY_FLOOR_US,
        "first_byte_us": 500_000,
        "last_byte_us": done_us,
        "latest_byte_us": done_us,
        "first_byte_after_command_us": 500_000 - LATENCY_FLOOR_US,
        "last_byte_after_command_us": done_us - LATENCY_FLOOR_US,
        "observed_us": done_us,
        "bytes_wanted": wanted,
        "bytes_got": wanted,
        "outcome": "complete",
    }
