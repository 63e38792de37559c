"""Moments in phase with a guard's refill, made up so that the answer is known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from bench.stair_phase import rows_of_run
from tests.synthetic import Size, record_tables, write_run
from torsweep.engines.table_schema import CIRCUITS, STREAMS
from torsweep.network.model import read_network

COUNT = 2000


def test_what_leaves_with_a_refill_is_in_phase(tmp_path: Path) -> None:
    """Openings at any time, CONNECTED with a refill, the first byte some whole refills later."""
    levels = {"refill_interval": "1000ms", "circuit_policy": "ewma"}
    run = write_run(tmp_path, levels, 1, Size(web_clients=1, bulk_clients=1, relays=4))
    network, _ = read_network(run.parent / "networks/1,load=", latency=False)
    guard = network.relays[0]
    generator = np.random.default_rng(1)
    starts_s = generator.uniform(40, 100, COUNT)
    connected_s = np.ceil(starts_s - guard.refill_phase) + guard.refill_phase
    first_s = connected_s + generator.geometric(0.4, COUNT)
    one = pl.read_parquet(run / "streams.parquet").filter(kind="web").head(1)
    times = {
        "start_us": starts_s,
        "command_us": connected_s - starts_s,
        "first_byte_us": first_s - starts_s,
        "first_byte_after_command_us": first_s - connected_s,
    }
    columns = {name: pl.Series(np.round(values * 1e6).astype(np.int64)) for name, values in times.items()}
    streams = pl.concat([one] * COUNT).with_columns(**columns, circuit=pl.lit(7, pl.Int64))
    streams.select(list(STREAMS.polars)).write_parquet(run / "streams.parquet")
    circuit = dict.fromkeys(CIRCUITS.polars) | {
        "client": one["client"].item(),
        "circuit": 7,
        "purpose": "GENERAL",
        "launched_us": 0,
        "streams": COUNT,
        "path": ",".join([guard.name, "relay3", "relay4"]),
    }
    pl.DataFrame([circuit], CIRCUITS.polars).write_parquet(run / "circuits.parquet")
    record_tables(run)
    (row,) = rows_of_run(run).iter_rows(named=True)
    assert row["bucket"] == guard.bucket_binds
    assert row["opening_in_phase"] < 0.1
    assert (row["connected_in_phase"], row["first_byte_in_phase"]) == pytest.approx((1.0, 1.0), abs=1e-6)
    assert row["depth_request"] > 0.9 > 0.3 > abs(row["depth_opening"])
