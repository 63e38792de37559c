"""Measures what knobs do in real tor: buckets' refill, circuits' policies, the waking of blocked reads.

    torsweep emulation check refill|circuits|waking --out DIR

In: the name of a check. Out: a run directory a condition in DIR, rows of numbers, and the same rows in
DIR/refill.csv, circuits.csv or waking.csv. Every number comes from the tables of a run of the engine: relays'
own counts of raw bytes, and bytes against time at the clients. Each row also says how far its run fell behind
real time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from torsweep.config.eras import tor_settings
from torsweep.config.network import load_network_config
from torsweep.config.variant import variant_text
from torsweep.engines.emulation.kept_up import kept_up
from torsweep.engines.emulation.run.engine import run_emulation
from torsweep.engines.emulation.tools import Tools
from torsweep.engines.run_spec import RunSpec, RunTables, RunTraffic
from torsweep.engines.table_files import PROGRESS_FILE, RELAYS_FILE, STREAMS_FILE
from torsweep.errors import TorsweepError
from torsweep.network.chain import given_paths
from torsweep.network.model import NETWORK_FILE, write_network
from torsweep.network.sampling import sample_network
from torsweep.provenance import sha256_of_file
from torsweep.ranges import LEAST_TOR_RATE_BYTES_PER_S
from torsweep.storage import write_text
from torsweep.storage.folders import KNOB_CHECKS, own_folder

ENDLESS_BYTES = 10**9
FIRST_BYTES = 100_000
WAKING_STREAMS = 6
SECOND_NS = 1_000_000_000
PHASE_BINS = 20
BUSIEST_BINS = 4

Row = dict[str, Any]


@dataclass(frozen=True)
class Condition:
    """One run of a check: the knobs' levels, the chain's rates, who downloads, and for how long."""

    label: str
    levels: Mapping[str, str]
    network: Mapping[str, object]
    traffic: Mapping[str, RunTraffic]
    warm_up_s: int
    measured_s: int
    extra: tuple[str, ...] = ()


def _downloads(
    parallel: int = 1, *, isolated: bool = False, size: int = ENDLESS_BYTES, pause_s: tuple[int, int] = (0, 0)
) -> RunTraffic:
    return RunTraffic(
        request_bytes=100,
        response_bytes=size,
        think_min_ns=pause_s[0] * SECOND_NS,
        think_max_ns=pause_s[1] * SECOND_NS,
        streams_per_circuit_isolation=isolated,
        parallel_streams=parallel,
        timeout_ns=None,
    )


def _chain(guard: str, middle: str, exit_: str, web_clients: int = 0) -> dict[str, object]:
    rates = {"chain.guard": guard, "chain.middle": middle, "chain.exit": exit_}
    return {**rates, "web_clients": web_clients}


def refill_conditions() -> list[Condition]:
    """A single download through a middle of 200 KiB/s, in each mode and at each interval."""
    found = []
    for mode, intervals in (("burst", ("1000ms", "100ms", "10ms")), ("lazy", ("1000ms", "100ms", "10ms"))):
        for interval in intervals:
            for clock in ("precise", "coarse_4ms") if mode == "lazy" else ("precise",):
                levels = {"refill_mode": mode, "refill_interval": interval, "clock": clock}
                label = variant_text(levels)
                network = _chain("4 MiB/s", "200 KiB/s", "4 MiB/s")
                found.append(Condition(label, levels, network, {"bulk": _downloads()}, 10, 20))
    return found


def refill_row(condition: Condition, run_directory: Path) -> Row:
    """What the middle's bucket delivered, in parts of its rate, and how far bytes came in steps.

    ``in_steps`` is the part of the bytes that came in the busiest fifth of the refill interval: 0.2 where
    they come evenly, 1 where all come at once.
    """
    rate = 200 * 1024
    window = pl.col("second").is_between(condition.warm_up_s, condition.warm_up_s + condition.measured_s - 2)
    relays = pl.read_parquet(run_directory / RELAYS_FILE).filter(window, pl.col("relay") == "relay2")
    interval_us = int(condition.levels["refill_interval"].removesuffix("ms")) * 1000
    progress = pl.read_parquet(run_directory / PROGRESS_FILE).with_columns(
        pl.col("bytes_got").diff().fill_null(0).alias("came")
    )
    progress = progress.filter(pl.col("time_us") >= condition.warm_up_s * 1_000_000)
    phase = (progress["time_us"] % interval_us) * PHASE_BINS // interval_us
    by_bin = np.bincount(phase.to_numpy(), weights=progress["came"].to_numpy(), minlength=PHASE_BINS)
    return {
        "seconds": len(relays),
        "read_of_rate": round(relays["bytes_in"].sum() / len(relays) / rate, 4),
        "written_of_rate": round(relays["bytes_out"].sum() / len(relays) / rate, 4),
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
        "bulk": _downloads(10, isolated=True),
        "web": _downloads(size=20_000, pause_s=(1, 2)),
    }
    policies: list[dict[str, str]] = [
        {"circuit_policy": "round_robin", "round_robin_quantum": "32"},
        {"circuit_policy": "round_robin", "round_robin_quantum": "1"},
        {"circuit_policy": "ewma", "ewma_half_life": "30s"},
    ]
    network = _chain("4 MiB/s", "4 MiB/s", "500 KiB/s", web_clients=1)
    return [Condition(variant_text(levels), levels, network, traffic, 60, 60) for levels in policies]


def circuits_row(condition: Condition, run_directory: Path) -> Row:
    """Shares of the busy circuits, in parts of an equal one, and the times of the quiet client's."""
    streams = pl.read_parquet(run_directory / STREAMS_FILE)
    quiet = streams.filter(
        pl.col("kind") == "web",
        pl.col("outcome") == "complete",
        pl.col("start_us") >= condition.warm_up_s * 1e6,
    )
    shares = _shares(condition, run_directory, "bulk1")
    return {
        "circuits": streams.filter(pl.col("kind") == "bulk")["circuit"].n_unique(),
        "least_share": round(float(shares.min()), 3),
        "greatest_share": round(float(shares.max()), 3),
        "quiet_downloads": len(quiet),
        "quiet_median_s": round(float(np.median(quiet["last_byte_us"].to_numpy())) / 1e6, 3),
    }


def waking_conditions() -> list[Condition]:
    """Six streams, each on its circuit, at an exit whose bucket holds less than one read gives out: the least
    that tor takes.

    With ``default`` tor wakes blocked connections as it does without the patch. The knob's levels order the
    streams of one circuit, so they should make no difference here.
    """
    network = _chain("4 MiB/s", "4 MiB/s", f"{LEAST_TOR_RATE_BYTES_PER_S // 1024} KiB/s")
    levels = {"refill_mode": "burst", "refill_interval": "10ms"}
    traffic = {"bulk": _downloads(WAKING_STREAMS, isolated=True)}
    return [
        Condition(f"order={order}", levels, network, traffic, 20, 40, (f"StreamActivationOrder {order}",))
        for order in ("default", "reversed")
    ]


def waking_row(condition: Condition, run_directory: Path) -> Row:
    """When each stream, in order of opening, had its first 100 KB: seconds since the clients started.

    A stream that never had them has no second.
    """
    progress = pl.read_parquet(run_directory / PROGRESS_FILE).filter(pl.col("bytes_got") >= FIRST_BYTES)
    reached = dict(progress.group_by("stream").agg(pl.col("time_us").min()).iter_rows())
    seconds = {stream: round(time_us / 1e6, 1) for stream, time_us in reached.items()}
    order = {"order": condition.label.removeprefix("order=")}
    return order | {f"stream_{stream}_s": seconds.get(stream) for stream in range(1, WAKING_STREAMS + 1)}


def _shares(condition: Condition, run_directory: Path, client: str) -> np.ndarray:
    """Bytes of each stream of ``client`` after the warm-up, in parts of their mean."""
    progress = pl.read_parquet(run_directory / PROGRESS_FILE).filter(pl.col("client") == client)
    streams = pl.read_parquet(run_directory / STREAMS_FILE).filter(pl.col("client") == client)
    before = pl.col("time_us") < condition.warm_up_s * 1_000_000
    had = progress.filter(before).group_by("stream").agg(pl.col("bytes_got").max().alias("had"))
    got = progress.group_by("stream").agg(pl.col("bytes_got").max())
    table = streams.select("stream").join(got, on="stream", how="left").join(had, on="stream", how="left")
    came = (
        table.sort("stream").fill_null(0).select(pl.col("bytes_got") - pl.col("had")).to_series().to_numpy()
    )
    return came / came.mean()


CHECKS: Mapping[str, tuple[Callable[[], list[Condition]], Callable[[Condition, Path], Row]]] = {
    "refill": (refill_conditions, refill_row),
    "circuits": (circuits_conditions, circuits_row),
    "waking": (waking_conditions, waking_row),
}


def run_check(name: str, out: Path, tools: Tools, say: Callable[[str], None]) -> list[Row]:
    """Run every condition of the check ``name`` below ``out`` that has not been run; return its rows.

    They stand in ``out``/``name``.csv too, from the first condition on.

    Raises the errors of :func:`torsweep.engines.emulation.run.engine.run_emulation`.
    """
    own_folder(out, KNOB_CHECKS)
    conditions, row = CHECKS[name]
    rows = []
    for condition in conditions():
        folder = out / name / condition.label
        if not (folder / "run" / "provenance.json").is_file():
            say(f"{name}: {condition.label}")
            _prepare(condition, folder)
            run_emulation(folder / "run", tools, progress=True, extra=condition.extra)
        measured, account = row(condition, folder / "run"), kept_up(folder / "run")
        pace = {"delay_ms": account.delay_ms, "late_share": account.late_share}
        rows.append({"condition": condition.label, **condition.levels, **measured, **pace})
        write_text(out / f"{name}.csv", pl.from_dicts(rows, infer_schema_length=None).write_csv())
    return rows


def _prepare(condition: Condition, folder: Path) -> None:
    """Sample the network and write run.json."""
    sampled = sample_network(load_network_config("starvation", condition.network), seed=1)
    write_network(sampled.network, sampled.latency.blocks(), folder / "network")
    paths = given_paths(sampled.network)
    if paths is None:
        raise TorsweepError("configs/networks/starvation.yaml: is no chain any more")
    (folder / "run").mkdir(exist_ok=True)
    RunSpec(
        experiment="check",
        engine="emulation",
        era="2012",
        variant={},
        warm_up_ns=condition.warm_up_s * SECOND_NS,
        duration_ns=(condition.warm_up_s + condition.measured_s) * SECOND_NS,
        client_start_window_ns=0,
        tor=tor_settings("2012", condition.levels),
        traffic=dict(condition.traffic),
        paths=paths,
        tables=RunTables(progress=True),
        network="../network",
        network_sha256=sha256_of_file(folder / "network" / NETWORK_FILE),
        seed=1,
    ).write(folder / "run")


def as_text(rows: Sequence[Row]) -> str:
    """``rows`` as a table of aligned columns."""
    columns = list(dict.fromkeys(column for row in rows for column in row))
    cells = [columns, *([str(row.get(column, "")) for column in columns] for row in rows)]
    widths = [max(len(line[position]) for line in cells) for position in range(len(columns))]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)) for line in cells
    )
