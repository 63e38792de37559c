"""A plan from its first process to its files, and its variants compared round by round; the cost of clocks.

In: the name of a plan, a build of tor, how often and how long. Out: in a folder, NAME_samples.csv (a row a
relay and turn), NAME.csv (the comparison), NAME.md (the same to read) and, last, NAME.json: what it was made
with. The program ``clocks`` measures what a call costs for every clock of this system; it names neither host
nor user.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from rich.console import Console
from rich.table import Table

from torsweep.chain.measuring import Lengths, measure_turns
from torsweep.chain.turns import (
    ENDS_RATE,
    MOST_COST,
    NOT_TRACED,
    REPORT_NS,
    TurnsPlan,
    clocks_plan,
    enter_own_namespace,
    quantum_plan,
    tracing_plan,
)
from torsweep.engines.contract import Say
from torsweep.engines.emulation.processes import orderly_end
from torsweep.engines.emulation.rights import cores_claimed
from torsweep.engines.tools import require_own_program
from torsweep.errors import TorsweepError
from torsweep.provenance import machine, versions
from torsweep.stats.inference.intervals import Interval, exponential, t_interval
from torsweep.storage import write_text
from torsweep.storage.folders import CHAIN_FOLDER, own_folder
from torsweep.tor.builds import BuiltTor

WAYS = {"library": "C library", "system_call": "system call"}
"""How the program says a clock was asked, and how a reader would."""

WIDTH = 100
"""Columns of the table, which does not fit into 80."""


def measure_clocks(rounds: int) -> dict[str, Any]:
    """What the program ``clocks`` says after ``rounds`` rounds.

    Raises ToolMissing when it is not there, TorsweepError when it fails.
    """
    program = require_own_program("clocks")
    done = subprocess.run([str(program), str(rounds)], capture_output=True, text=True, check=False)
    if done.returncode:
        words = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise TorsweepError(f"clocks: failed with exit code {done.returncode}: {words}")
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def print_clocks(measured: Mapping[str, Any]) -> None:
    """Print ``measured`` as a table: a row for each clock, with its costs in each way."""
    ways = list(dict.fromkeys(cost["way"] for clock in measured["clocks"] for cost in clock["costs"]))
    table = Table(box=None, pad_edge=False)
    for header in ("clock", "resolution", "step", *(f"{WAYS[way]}, ns" for way in ways)):
        table.add_column(header, justify="left" if header == "clock" else "right")
    for clock in measured["clocks"]:
        costs = {cost["way"]: cost_text(cost) for cost in clock["costs"]}
        times = (time_text(clock[name]) for name in ("resolution_ns", "step_ns"))
        table.add_row(clock["name"], *times, *(costs.get(way, "–") for way in ways))
    console = Console(width=WIDTH)
    console.print(table)
    source = measured["clocksource"]
    console.print(
        f"\nMedians of {measured['rounds']} rounds, with quartiles, less a loop of"
        f" {measured['loop_ns']:.2f} ns; {measured['system']}"
        + (f", clock source {source}." if source else "."),
        highlight=False,
    )


def cost_text(cost: Mapping[str, float]) -> str:
    """``21.3 [21.2, 21.5]``: the median and the quartiles."""
    return f"{cost['median_ns']:.1f} [{cost['q1_ns']:.1f}, {cost['q3_ns']:.1f}]"


def time_text(nanoseconds: float | None) -> str:
    """``4 ms``, ``1 ns``; a dash where it is not known."""
    if nanoseconds is None:
        return "–"
    for unit, factor in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if nanoseconds >= factor:
            return f"{nanoseconds / factor:.3g} {unit}"
    return f"{nanoseconds:.3g} ns"


WHOLE_CHAIN = "chain"
"""The position under which all three relays are counted together."""

PRECISE = "CLOCK_MONOTONIC"

PlanRow = dict[str, Any]

ClockCosts = Mapping[tuple[str, str], float]
"""Nanoseconds that a call costs, by clock and way (``library``, ``system_call``).

Those of the cheapest round of the bench, which had its processor for itself: they are compared with CPU time,
in which waiting for a processor does not count."""

MOST_BESIDE = 0.1
"""If other programs take more cores than this, the text tells the reader to measure again."""


def clock_costs(measured: Mapping[str, Any]) -> ClockCosts:
    """The costs in what the program ``clocks`` printed (:func:`torsweep.chain.command.measure_clocks`)."""
    return {
        (clock["name"], cost["way"]): float(cost["least_ns"])
        for clock in measured["clocks"]
        for cost in clock["costs"]
    }


def reading_ns(costs: ClockCosts, clock: str, calls: int) -> float:
    """What a reading of ``clock`` costs that makes ``calls`` system calls, or asks the C library."""
    return calls * costs[clock, "system_call"] if calls else costs[clock, "library"]


def per_round(samples: pl.DataFrame) -> pl.DataFrame:
    """A row for each round, variant and position (the whole chain last): sums over turns, and rates from
    them."""
    keys = ["round", "variant", "position"]
    sums = pl.col("cpu_s", "span_s", "bytes_read", "bytes_written", "readings_precise", "readings_coarse")
    relays = samples.group_by(keys, maintain_order=True).agg(sums.sum(), pl.col("small_us").mean())
    middle = relays.filter(pl.col("position") == "middle").drop("cpu_s")
    chain = (
        relays.group_by(["round", "variant"], maintain_order=True)
        .agg(pl.col("cpu_s").sum())
        .join(middle, on=["round", "variant"])
        .with_columns(pl.lit(WHOLE_CHAIN).alias("position"))
        .select(relays.columns)
    )
    both = pl.concat([relays, chain])
    gigabytes = pl.col("bytes_written") / 1e9
    return both.with_columns(
        (pl.col("cpu_s") / gigabytes).alias("cpu_s_per_gb"),
        (pl.col("bytes_written") / pl.col("span_s") / 1e6).alias("megabytes_per_s"),
        (pl.col("bytes_read") / pl.col("span_s")).alias("read_bytes_per_s"),
        (pl.col("readings_precise") / gigabytes).alias("precise_per_gb"),
        (pl.col("readings_coarse") / gigabytes).alias("coarse_per_gb"),
    )


def compare(plan: TurnsPlan, samples: pl.DataFrame, costs: ClockCosts) -> list[PlanRow]:
    """The rows, in the order of the plan's variants."""
    rounds = per_round(samples)
    positions = ["middle"] if plan.shared_ends else ["guard", "middle", "exit", WHOLE_CHAIN]
    rows = []
    for position in positions:
        base = _values(rounds, plan.variants[0].name, position)
        for variant in plan.variants:
            values = _values(rounds, variant.name, position)
            row: PlanRow = {"position": position, "variant": variant.name, "rounds": len(values)}
            for name in ("cpu_s_per_gb", "megabytes_per_s", "small_us"):
                row |= _spread(name, t_interval(values[name]))
                relative = t_interval(np.log(values[name].to_numpy() / base[name].to_numpy()))
                if variant is not plan.variants[0]:
                    row |= _spread(f"{name}_relative", exponential(relative))
            if plan.middle_rate != ENDS_RATE:
                row |= _spread("read_of_rate", t_interval(values["read_bytes_per_s"] / plan.middle_rate))
            if position != WHOLE_CHAIN and values["readings_coarse"].sum():
                row |= _clock_columns(values, base, costs, variant.coarse, variant.calls)
            rows.append(row)
    return rows


def _clock_columns(
    values: pl.DataFrame, base: pl.DataFrame, costs: ClockCosts, coarse: str, calls: int
) -> PlanRow:
    """Readings a gigabyte, what they cost by the bench, and what they are seen to cost."""
    precise_ns, coarse_ns = reading_ns(costs, PRECISE, calls), reading_ns(costs, coarse, calls)
    in_calls_s = (values["precise_per_gb"] * precise_ns + values["coarse_per_gb"] * coarse_ns) / 1e9
    readings = values["precise_per_gb"] + values["coarse_per_gb"]
    row: PlanRow = {
        "million_readings_per_gb": _digits(float(np.mean(readings.to_numpy())) / 1e6),
        "coarse_share_of_readings": _digits(float(np.mean((values["coarse_per_gb"] / readings).to_numpy()))),
        "bench_ns_per_coarse_reading": _digits(coarse_ns),
        "bench_ns_per_precise_reading": _digits(precise_ns),
    }
    row |= _spread("share_in_readings", t_interval(in_calls_s / values["cpu_s_per_gb"]))
    if values["variant"][0] != base["variant"][0]:
        added_s = values["cpu_s_per_gb"] - base["cpu_s_per_gb"]
        row |= _spread("added_ns_per_reading", t_interval(added_s * 1e9 / readings))
    return row


def _values(rounds: pl.DataFrame, variant: str, position: str) -> pl.DataFrame:
    return rounds.filter(pl.col("variant") == variant, pl.col("position") == position).sort("round")


def _spread(name: str, interval: Interval) -> PlanRow:
    """Mean and bounds; without bounds where there is one round."""
    bounds = (interval.low, interval.high) if interval.known else (None, None)
    return {
        name: _digits(interval.mean),
        f"{name}_low": _digits(bounds[0]),
        f"{name}_high": _digits(bounds[1]),
    }


def _digits(value: float | None) -> float | None:
    return None if value is None or not np.isfinite(value) else float(f"{value:.5g}")


def as_markdown(plan: TurnsPlan, rows: Sequence[PlanRow], document: Mapping[str, Any]) -> str:
    """The comparison of ``plan`` with how it was made; intervals are 95 %, over rounds."""
    beside = document["cores_taken_beside"]
    made = (
        f"tor {document['tor']['version']} with the patch series {document['tor']['series_sha256'][:12]};"
        f" {document['rounds']} rounds, in each of which relays have new processes, and two turns of"
        f" {document['lengths']['load_s']:g} s each. Means and 95 % intervals over rounds; relative to the"
        " first variant."
    )
    quiet = ": measure again on a quiet machine." if beside > MOST_BESIDE else "."
    others = f"Other programs used {beside:.2f} cores meanwhile{quiet}"
    return "\n".join([made, "", others, "", table(rows), *_sentences(plan, rows), ""])


def table(rows: Sequence[PlanRow]) -> str:
    """``rows`` in Markdown, a column for each of their keys; intervals follow their means."""
    keys = dict.fromkeys(key for row in rows for key in row)
    columns = [key for key in keys if not (key.endswith(("_low", "_high")) and key.rsplit("_", 1)[0] in keys)]
    cells = [[_cell(row, name) for name in columns] for row in rows]
    lines = [columns, ["---"] * len(columns), *cells]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cell(row: PlanRow, name: str) -> str:
    low, high = row.get(f"{name}_low"), row.get(f"{name}_high")
    value = "" if row.get(name) is None else str(row[name])
    return value if low is None or high is None else f"{value} [{low}, {high}]"


def _sentences(plan: TurnsPlan, rows: Sequence[PlanRow]) -> list[str]:
    if plan.name == "clocks":
        calls = plan.variants[-1].calls
        return [
            f"`{plan.variants[-1].name}` makes {calls} system calls for one reading, to take as long as the"
            f" report's clock, {REPORT_NS / 1000:g} µs: the slow clock is artificial."
        ]
    if plan.name != "tracing":
        return []
    traced = [row for row in rows if row["position"] == "chain" and row["variant"] != NOT_TRACED]
    return [
        f"Recording {row['variant'].replace('_', ' ')} costs at most {MOST_COST:.0%} of {what}:"
        f" {_verdict(row, name)}."
        for row in traced
        for what, name in (("latency", "small_us_relative"), ("CPU", "cpu_s_per_gb_relative"))
    ]


def _verdict(row: PlanRow, name: str) -> str:
    """Whether the interval is below the bound, above, or neither."""
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    if low is None or high is None:
        return "not known from one round"
    if high <= MOST_COST:
        return "holds"
    return "fails" if low > MOST_COST else "inconclusive"


CLOCK_ROUNDS = 41


def run_plan(
    name: str,
    out: Path,
    tor: BuiltTor,
    say: Say,
    rounds: int | None = None,
    load_s: float | None = None,
    small_s: float = 1.0,
) -> str:
    """Measure the plan ``name`` into ``out``; return the text of NAME.md.

    ``rounds`` and ``load_s`` are the plan's own where they are left out. Raises OutputError when another
    measurement has the machine or the folder cannot be had, ToolMissing without a program or the right to
    make a network namespace, TorsweepError when the network fails.
    """
    own_folder(out, CHAIN_FOLDER)
    made_with = {"plan": name, "tor": tor.provenance, "started": round(time.time())}
    made_with |= {"machine": dict(machine()), "versions": dict(versions())}
    with cores_claimed(), orderly_end():
        clocks = measure_clocks(CLOCK_ROUNDS)
        costs = clock_costs(clocks)
        plan = turns_plan(name, costs)
        rounds, lengths = rounds or plan.rounds, Lengths(small_s, load_s or plan.load_s)
        enter_own_namespace()
        measured = measure_turns(plan, rounds, out / name, tor, lengths, say)
    document = made_with | {
        "rounds": rounds,
        "lengths": asdict(lengths),
        "variants": [asdict(variant) for variant in plan.variants],
        "clocks": clocks,
        "cores_taken_beside": round(measured.cores_beside, 4),
    }
    samples = pl.from_dicts([asdict(sample) for sample in measured.samples])
    rows = compare(plan, samples, costs)
    return _leave_files(out, name, rows, as_markdown(plan, rows, document), document, samples)


def turns_plan(name: str, costs: ClockCosts) -> TurnsPlan:
    """The plan in turns of this ``name``."""
    if name == "clocks":
        return clocks_plan(max(1, round(REPORT_NS / reading_ns(costs, PRECISE, 1))))
    return {"tracing": tracing_plan, "quantum": quantum_plan}[name]()


def _leave_files(
    out: Path,
    name: str,
    rows: Sequence[PlanRow],
    text: str,
    document: Mapping[str, Any],
    samples: pl.DataFrame,
) -> str:
    """Write the files of the plan, ``document`` last; while it is there, all of them fit each other."""
    (out / f"{name}.json").unlink(missing_ok=True)
    write_text(out / f"{name}_samples.csv", samples.write_csv())
    write_text(out / f"{name}.csv", pl.from_dicts(rows, infer_schema_length=None).write_csv())
    write_text(out / f"{name}.md", text)
    whole = {**document, "wall_s": round(time.time() - document["started"], 1)}
    write_text(out / f"{name}.json", json.dumps(whole, indent=1) + "\n")
    return text
