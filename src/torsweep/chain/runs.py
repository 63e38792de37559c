"""Plans of runs: what buckets, circuit policies and the waking of blocked reads do in real tor.

In: the name of a plan, a folder. Out: a run directory of the emulation for each condition, and a row of
numbers of each, from its tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl

from torsweep.chain.comparing import PlanRow
from torsweep.chain.turns import downloads
from torsweep.config.eras import tor_settings
from torsweep.config.network import load_network_config
from torsweep.config.variant import variant_text
from torsweep.engines.contract import Say
from torsweep.engines.emulation.entry import EmulationTools
from torsweep.engines.emulation.run.engine import run_in_tries
from torsweep.engines.emulation.run.pace import read_slowest
from torsweep.engines.run_spec import RunSpec, RunTables, RunTraffic
from torsweep.engines.table_files import PROGRESS_FILE, RELAYS_FILE, STREAMS_FILE
from torsweep.network.model import NETWORK_FILE, write_network
from torsweep.network.relays import only_paths
from torsweep.network.sampling import sample_network
from torsweep.provenance import PROVENANCE_FILE, sha256_of_file
from torsweep.ranges import LEAST_TOR_RATE_BYTES_PER_S
from torsweep.storage.folders import RUN_FOLDER, own_folder
from torsweep.units import SECOND_NS

FIRST_BYTES = 100_000
WAKING_STREAMS = 6
REFILL_KIB_PER_S = 200
PHASE_BINS, BUSIEST_BINS = 20, 4


@dataclass(frozen=True)
class Condition:
    """One run: the knobs' levels, the rates of guard, middle and exit, who downloads, and for how long."""

    label: str
    levels: Mapping[str, str]
    rates: tuple[str, str, str]
    traffic: Mapping[str, RunTraffic]
    warm_up_s: int
    measured_s: int
    extra: tuple[str, ...] = ()


def refill_conditions() -> list[Condition]:
    """A single download through a middle of 200 KiB/s, in each mode and at each interval.

    With lazy refill also on the kernel's coarse clock, and with the remainders of steps kept.
    """
    rates, conditions = ("4 MiB/s", f"{REFILL_KIB_PER_S} KiB/s", "4 MiB/s"), []
    lazy = product(("lazy",), ("precise", "coarse_4ms"), ("dropped", "kept"))
    for mode, clock, remainder in [("burst", "precise", "dropped"), *lazy]:
        for interval in ("1000ms", "100ms", "10ms"):
            levels = {"refill_mode": mode, "refill_interval": interval, "clock": clock}
            levels["refill_remainder"] = remainder
            conditions.append(Condition(variant_text(levels), levels, rates, {"bulk": downloads()}, 10, 20))
    return conditions


def refill_row(condition: Condition, run_directory: Path) -> PlanRow:
    """What the middle's bucket delivered, in parts of its rate, and how far bytes came in steps.

    ``in_steps`` is the part of the bytes that came in the busiest fifth of the refill interval: 0.2 where
    they come evenly, 1 where all come at once.
    """
    window = pl.col("second").is_between(condition.warm_up_s, condition.warm_up_s + condition.measured_s - 2)
    relays = pl.read_parquet(run_directory / RELAYS_FILE).filter(window, pl.col("relay") == "relay2")
    rated = len(relays) * REFILL_KIB_PER_S * 1024
    interval_us = int(condition.levels["refill_interval"].removesuffix("ms")) * 1000
    progress = pl.read_parquet(run_directory / PROGRESS_FILE).with_columns(
        pl.col("bytes_got").diff().fill_null(0).alias("came")
    )
    progress = progress.filter(pl.col("time_us") >= condition.warm_up_s * 1_000_000)
    phase = (progress["time_us"] % interval_us) * PHASE_BINS // interval_us
    by_bin = np.bincount(phase.to_numpy(), weights=progress["came"].to_numpy(), minlength=PHASE_BINS)
    return {
        "seconds": len(relays),
        "read_of_rate": round(relays["bytes_in"].sum() / rated, 4),
        "written_of_rate": round(relays["bytes_out"].sum() / rated, 4),
        "in_steps": round(float(np.sort(by_bin)[-BUSIEST_BINS:].sum() / by_bin.sum()), 3),
    }


def circuits_conditions() -> list[Condition]:
    """Ten busy circuits of one client and a quiet one of another through an exit of 500 KiB/s.

    The exit is the bottleneck, because its cells are a little larger than the bytes that it reads for them,
    so that they queue in its circuits. Bytes that a slower middle does not read wait in the kernel's buffers,
    where no policy orders them. All queues are full after some 45 seconds; before that, not every circuit is
    busy all the time.
    """
    traffic = {
        "bulk": downloads(10, isolated=True),
        "web": downloads(size=20_000, pause_s=(1, 2)),
    }
    policies: list[dict[str, str]] = [
        {"circuit_policy": "round_robin", "round_robin_quantum": "32"},
        {"circuit_policy": "round_robin", "round_robin_quantum": "1"},
        {"circuit_policy": "ewma", "ewma_half_life": "30s"},
    ]
    rates = ("4 MiB/s", "4 MiB/s", "500 KiB/s")
    return [Condition(variant_text(levels), levels, rates, traffic, 60, 60) for levels in policies]


def circuits_row(condition: Condition, run_directory: Path) -> PlanRow:
    """Shares of the busy circuits, in parts of an equal one, and the times of the quiet client's.

    Shares are of the bytes that came after the warm-up.
    """
    streams = pl.read_parquet(run_directory / STREAMS_FILE)
    quiet = streams.filter(
        pl.col("kind") == "web",
        pl.col("outcome") == "complete",
        pl.col("start_us") >= condition.warm_up_s * 1e6,
    )
    busy = streams.filter(pl.col("kind") == "bulk")
    progress = pl.read_parquet(run_directory / PROGRESS_FILE).group_by("stream")
    early = pl.col("time_us") < condition.warm_up_s * 1_000_000
    got = progress.agg(pl.col("bytes_got").max() - pl.col("bytes_got").filter(early).max().fill_null(0))
    came = busy.join(got, on="stream", how="left")["bytes_got"].fill_null(0).to_numpy()
    return {
        "circuits": busy["circuit"].n_unique(),
        "least_share": round(float(came.min() / came.mean()), 3),
        "greatest_share": round(float(came.max() / came.mean()), 3),
        "quiet_downloads": len(quiet),
        "quiet_median_s": round(float(np.median(quiet["last_byte_us"].to_numpy())) / 1e6, 3),
    }


def waking_conditions() -> list[Condition]:
    """Six streams, each on its circuit, at an exit whose bucket holds less than one read gives out: the least
    that tor takes; the bucket refilled as tor did until 2018, at 10 ms, and as it does today, at 100 ms.

    With ``default`` tor wakes blocked connections as it does without the patch. The knob's levels order the
    streams of one circuit, so they should make no difference here.
    """
    rates = ("4 MiB/s", "4 MiB/s", f"{LEAST_TOR_RATE_BYTES_PER_S // 1024} KiB/s")
    traffic = {"bulk": downloads(WAKING_STREAMS, isolated=True)}
    conditions = []
    for mode, interval in (("burst", "10ms"), ("lazy", "100ms")):
        levels = {"refill_mode": mode, "refill_interval": interval}
        for order in ("default", "reversed"):
            label = f"{variant_text(levels)},order={order}"
            extra = (f"StreamActivationOrder {order}",)
            conditions.append(Condition(label, levels, rates, traffic, 20, 40, extra))
    return conditions


def waking_row(condition: Condition, run_directory: Path) -> PlanRow:
    """When each stream, in order of opening, had its first 100 KB: seconds since the clients started.

    A stream that never had them has no second.
    """
    progress = pl.read_parquet(run_directory / PROGRESS_FILE).filter(pl.col("bytes_got") >= FIRST_BYTES)
    reached = dict(progress.group_by("stream").agg(pl.col("time_us").min()).iter_rows())
    seconds = {stream: round(time_us / 1e6, 1) for stream, time_us in reached.items()}
    order = {"order": condition.label.rpartition("=")[2]}
    return order | {f"stream_{stream}_s": seconds.get(stream) for stream in range(1, WAKING_STREAMS + 1)}


RUN_PLANS: Mapping[str, tuple[Callable[[], list[Condition]], Callable[[Condition, Path], PlanRow]]] = {
    "refill": (refill_conditions, refill_row),
    "circuits": (circuits_conditions, circuits_row),
    "waking": (waking_conditions, waking_row),
}


def measure_runs(name: str, folder: Path, tools: EmulationTools, say: Say) -> list[PlanRow]:
    """Run every condition of the plan ``name`` below ``folder`` that has not been run; return its rows.

    Raises the errors of :func:`torsweep.engines.emulation.run.engine.run_in_tries`.
    """
    conditions, row = RUN_PLANS[name]
    rows = []
    for condition in conditions():
        run_directory = folder / condition.label / "run"
        if not (run_directory / PROVENANCE_FILE).is_file():
            say(f"{name}: {condition.label}")
            _prepare(condition, run_directory)
            run_in_tries(run_directory, tools, progress=True, extra=condition.extra)
        slowest = read_slowest(run_directory)
        pace = {"delay_ms": slowest.delay_ms, "late_share": slowest.late_share}
        rows.append(
            {"condition": condition.label, **condition.levels, **row(condition, run_directory), **pace}
        )
    return rows


def _prepare(condition: Condition, run_directory: Path) -> None:
    """Sample the network, beside the run directory, and write run.json."""
    guard, middle, exit_ = condition.rates
    settings = {
        "chain.guard": guard,
        "chain.middle": middle,
        "chain.exit": exit_,
        "web_clients": int("web" in condition.traffic),
    }
    sampled = sample_network(load_network_config("starvation", settings), seed=1)
    network = run_directory.parent / "network"
    write_network(sampled.network, sampled.matrix_us, network)
    own_folder(run_directory, RUN_FOLDER)
    RunSpec(
        experiment="chain",
        engine="emulation",
        era="2012",
        variant={},
        warm_up_ns=condition.warm_up_s * SECOND_NS,
        duration_ns=(condition.warm_up_s + condition.measured_s) * SECOND_NS,
        client_start_window_ns=0,
        tor=tor_settings("2012", condition.levels),
        traffic=dict(condition.traffic),
        paths=only_paths(sampled.network),
        tables=RunTables(progress=True),
        network="../network",
        network_sha256=sha256_of_file(network / NETWORK_FILE),
        seed=1,
    ).write(run_directory)
