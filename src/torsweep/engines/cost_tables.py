"""Tables that every engine of real tor makes in the same way: what processes cost, and round trips.

In: the ids of processes that still run; the logs of exits, plain or compressed, and the local time that
counts as 0. Out: frames as in :data:`~torsweep.engines.table_schema.COSTS` and
:data:`~torsweep.engines.table_schema.ROUND_TRIPS`.

At a SENDME, tor's ``congestion_control_update_circuit_bdp`` logs the circuit and its round trips in whole
ms, and then ``congestion_control_vegas_log`` the same round trips and the window. The window is logged when
slow start ends and at each later update, so slow start has no rows.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import polars as pl

from torsweep.config.tor_settings import TorSettings, Vegas
from torsweep.engines.table_schema import COSTS, ROUND_TRIPS
from torsweep.formats.files import text_lines
from torsweep.network.model import Network, Relay

PROC = Path("/proc")


@dataclass(frozen=True)
class Cost:
    """Processor time of all threads of a process, user and system, in µs; its VmHWM (proc(5)) in bytes."""

    cpu_us: int
    peak_memory_bytes: int


def process_cpu_ns(pid: int) -> int:
    """Processor time so far of all threads of the process ``pid``, in ns; OSError when it is gone."""
    # The kernel's number of another process's CPU clock: MAKE_PROCESS_CPUCLOCK in posix-timers_types.h.
    return time.clock_gettime_ns((~pid << 3) | 2)


def cost_of(pid: int) -> Cost | None:
    """The cost of the process ``pid`` since its start; None when it has ended."""
    try:
        status = (PROC / str(pid) / "status").read_text()
        cpu_us = process_cpu_ns(pid) // 1000
    except OSError:
        return None
    peak = re.search(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)
    # A process that has ended, and for which nobody has waited yet, has no memory.
    return Cost(cpu_us, int(peak[1]) * 1024) if peak else None


def costs_frame(costs: Mapping[str, Cost], network: Network, ready_us: Mapping[str, int]) -> pl.DataFrame:
    """A row for each host of ``network`` in ``costs``: authorities, relays, clients, and how long the start
    of these took, where that is known."""
    rows = [
        (host.name, role, cost.cpu_us, cost.peak_memory_bytes, ready_us.get(host.name))
        for role, hosts in network.tor_hosts.items()
        for host in hosts
        if (cost := costs.get(host.name))
    ]
    return pl.DataFrame(rows, schema=COSTS.polars, orient="row")


def group_pids(group: int) -> list[int]:
    """The processes of the process group ``group``."""
    pids = []
    for stat in PROC.glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(stat.read_text().rsplit(")", 1)[1].split()[2]) == group:
                pids.append(int(stat.parent.name))
    return pids


def resident_bytes(pids: Iterable[int]) -> int:
    """Memory of ``pids`` in bytes: their proportional set sizes (proc(5)) count shared pages once."""
    total = 0
    for pid in pids:
        with suppress(OSError):
            size = re.search(
                r"^Pss:\s+(\d+) kB", (PROC / str(pid) / "smaps_rollup").read_text(), re.MULTILINE
            )
            total += int(size[1]) * 1024 if size else 0
    return total


VEGAS_LOG = "round_trips.log"
"""The file into which an exit's tor logs, in its folder."""

_CIRCUIT = (
    r"CC: Circuit (?<channel>\d+):(?<number>-?\d+) SENDME"
    r" RTT: (?<same_least>\d+), \d+, (?<same_smoothed>\d+), (?<same_most>\d+),"
)
"""The channel towards the client, the ID of the circuit on it; round trips: least, newest, smoothed, most."""

_VEGAS = (
    r"^(?<stamp>\w{3} \d\d [\d:.]{12}) .*CC: TOR_VEGAS"
    r" RTT: (?<least>\d+), (?<smoothed>\d+), (?<most>\d+), CWND: (?<window>\d+),.* SS: 0$"
)
"""The time; round trips: least, smoothed, most; the window in cells. The end of slow start is logged twice,
the first time with ``SS: 1``."""


def logs_round_trips(settings: TorSettings, relay: Relay) -> bool:
    """Whether ``relay`` has ends of circuits whose windows depend on round trips."""
    return isinstance(settings.congestion, Vegas) and relay.position in ("exit", "guard_exit")


def vegas_log_lines(file: str) -> tuple[str, ...]:
    """The lines of torrc by which tor logs into ``file`` what :func:`round_trips_frame` reads."""
    return ("LogTimeGranularity 1 msec", f"Log [circ]info file {file}")


def round_trips_frame(logs: Mapping[str, Path], zero: datetime, duration_us: int) -> pl.DataFrame:
    """The table of the exits whose ``logs`` are given by name, by host and time; those without one have no
    rows. ``zero`` is the time 0 of the run by the local clock, as tor logs it."""
    frames = [_frame(host, file, zero) for host, file in logs.items() if file.is_file()]
    whole = pl.concat([pl.DataFrame(schema=ROUND_TRIPS.polars), *frames])
    return whole.filter(pl.col("time_us").is_between(0, duration_us, closed="left"))


def _frame(host: str, file: Path, zero: datetime) -> pl.DataFrame:
    lines = pl.col("line").str
    names = ["channel", "number", "same_least", "same_smoothed", "same_most"]
    same = [pl.col(f"same_{which}") == pl.col(which) for which in ("least", "smoothed", "most")]
    # As in the table of passages. tor prints the ID as a signed number.
    circuit = pl.col("channel").cast(pl.Int64) * 2**32 + pl.col("number").cast(pl.Int64) % 2**32
    return (
        pl.DataFrame({"line": list(text_lines(file))}, schema={"line": pl.String})
        .select(lines.extract_groups(_CIRCUIT).alias("circuit"), lines.extract_groups(_VEGAS).alias("vegas"))
        .unnest("circuit", "vegas")
        .with_columns(pl.col(names).forward_fill())
        .drop_nulls("window")
        .select(
            host=pl.lit(host),
            circuit=pl.when(*same).then(circuit),
            time_us=_since(zero),
            round_trip_us=pl.col("smoothed").cast(pl.Int64) * 1000,
            least_us=pl.col("least").cast(pl.Int64) * 1000,
            window_cells=pl.col("window").cast(pl.Int64),
        )
    )


def _since(zero: datetime) -> pl.Expr:
    """µs from ``zero`` to the times in ``stamp``, which have no year."""
    # A run may pass New Year.
    next_year = pl.col("stamp").str.starts_with("Jan") & (zero.month == 12)
    year = pl.when(next_year).then(zero.year + 1).otherwise(zero.year)
    moment = pl.format("{} {}", year, "stamp").str.to_datetime("%Y %b %d %H:%M:%S%.3f", time_unit="us")
    return (moment - zero).dt.total_microseconds()
