"""A plan from its first process to its files.

In: the name of a plan, the programs, how often and how long. Out: in a folder, NAME_samples.csv (a row a
relay and turn), NAME.csv (the comparison), NAME.md (the same to read) and, last, NAME.json: what it was made
with.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl

from torsweep.clocks.cli import measure as measure_clocks
from torsweep.engines.emulation.directory.layout import Layout
from torsweep.engines.emulation.machine_lock import machine_claimed
from torsweep.engines.emulation.run.engine import READY_LIMIT_S
from torsweep.engines.emulation.run.processes import ProcessSet, orderly_end
from torsweep.loopback.comparing import PRECISE, ClockCosts, compare
from torsweep.loopback.describe import as_markdown
from torsweep.loopback.interface import enter_own_namespace
from torsweep.loopback.load_beside import Beside
from torsweep.loopback.measuring import Lengths, Measuring, Sample
from torsweep.loopback.network import LoopbackNetwork, run_of
from torsweep.loopback.plan import (
    REPORT_NS,
    Chain,
    Plan,
    clocks_plan,
    network_of,
    quantum_plan,
    tracing_plan,
    turns,
)
from torsweep.provenance import machine, versions
from torsweep.storage import write_text
from torsweep.storage.folders import KNOB_CHECKS, own_folder
from torsweep.tor.build import BuiltTor

CLOCK_ROUNDS = 41
SETTING_UP_S = 1.0
"""Seconds that a turn may take beside its measured time: enough to build four circuits."""

Say = Callable[[str], None]


def run_plan(
    name: str,
    out: Path,
    tor: BuiltTor,
    say: Say,
    rounds: int | None = None,
    load_s: float | None = None,
    small_s: float = 1.0,
    claim: Callable[[], AbstractContextManager[None]] = machine_claimed,
) -> str:
    """Measure the plan ``name`` into ``out``; return the text of NAME.md.

    ``rounds`` and ``load_s`` are the plan's own where they are left out.

    Raises OutputError when another measurement has the machine or the folder cannot be had, ToolMissing
    without the right to make a network namespace, TorsweepError when the network fails.
    """
    with claim(), orderly_end():
        own_folder(out, KNOB_CHECKS)
        told = measure_clocks(CLOCK_ROUNDS)
        costs = ClockCosts.of(told)
        plan = _plan(name, costs)
        rounds, lengths = rounds or plan.rounds, Lengths(small_s, load_s or plan.load_s)
        chains = plan.chains(rounds)
        enter_own_namespace()
        started = time.time()
        samples, beside = _measure(plan, chains, out / name / "processes", tor, lengths, say)
    document = {
        "plan": name,
        "tor": tor.provenance,
        "rounds": rounds,
        "lengths": asdict(lengths),
        "variants": [asdict(variant) for variant in plan.variants],
        "clocks": told,
        "started": round(started),
        "wall_s": round(time.time() - started, 1),
        "cores_taken_beside": round(beside, 4),
        "machine": dict(machine()),
        "versions": dict(versions()),
    }
    frame = pl.from_dicts([asdict(sample) for sample in samples])
    return _leave_files(out, plan, frame, compare(plan, frame, costs), document)


def _leave_files(
    out: Path, plan: Plan, frame: pl.DataFrame, rows: list[dict[str, Any]], document: Mapping[str, Any]
) -> str:
    """Write the files of the plan, ``document`` last, and return the text of NAME.md.

    While NAME.json stands, all of them fit each other.
    """
    name = document["plan"]
    text = as_markdown(plan, rows, document)
    (out / f"{name}.json").unlink(missing_ok=True)
    write_text(out / f"{name}_samples.csv", frame.write_csv())
    write_text(out / f"{name}.csv", pl.from_dicts(rows, infer_schema_length=None).write_csv())
    write_text(out / f"{name}.md", text)
    write_text(out / f"{name}.json", json.dumps(document, indent=1) + "\n")
    return text


def _plan(name: str, costs: ClockCosts) -> Plan:
    if name == "clocks":
        return clocks_plan(max(1, round(REPORT_NS / costs.reading_ns(PRECISE, 1))))
    return {"tracing": tracing_plan, "quantum": quantum_plan}[name]()


def _measure(
    plan: Plan, chains: tuple[Chain, ...], folder: Path, tor: BuiltTor, lengths: Lengths, say: Say
) -> tuple[list[Sample], float]:
    """The samples, and how many cores other programs used meanwhile."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    order = list(turns(chains, together=plan.together))
    duration_s = len(order) * (lengths.small_s + lengths.load_s + plan.ramp_s + SETTING_UP_S)
    sockets = Path(tempfile.mkdtemp(prefix="torsweep-"))
    layout = Layout(run_of(plan, chains, duration_s), network_of(plan, chains), folder.resolve(), sockets)
    running = LoopbackNetwork(
        layout,
        tor,
        Path(),
        {},
        ProcessSet(),
        say,
        time.monotonic() + READY_LIMIT_S,
        variants=plan.variant_of(chains),
    )
    try:
        found = asyncio.run(_live(running, plan, order, lengths, say))
    finally:
        running.processes.stop()
        shutil.rmtree(sockets, ignore_errors=True)
    # What is left of a run that failed tells why; one that did not has nothing to tell.
    shutil.rmtree(folder.parent, ignore_errors=True)
    return found


async def _live(
    running: LoopbackNetwork, plan: Plan, order: list[tuple[Chain, ...]], lengths: Lengths, say: Say
) -> tuple[list[Sample], float]:
    samples: list[Sample] = []
    try:
        await running.bring_up()
        measuring = Measuring(running, plan, lengths)
        beside = Beside([os.getpid(), *(child.handle.pid for child in running.children.values())])
        for number, chosen in enumerate(order, 1):
            names = ", ".join(chain.variant.name for chain in chosen)
            say(f"turn {number} of {len(order)}, round {chosen[0].number}: {names}")
            samples += await measuring.turn(chosen)
        return samples, beside.cores()
    finally:
        running.close()
