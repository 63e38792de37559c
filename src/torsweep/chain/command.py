"""A plan from its first process to its files.

In: the name of a plan, a build of tor, how often and how long. Out: in a folder, NAME_samples.csv (a row a
relay and turn), NAME.csv (the comparison), NAME.md (the same to read) and, last, NAME.json: what it was made
with.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl

from torsweep.chain.clocks import measure_clocks
from torsweep.chain.comparing import (
    PRECISE,
    ClockCosts,
    PlanRow,
    as_markdown,
    clock_costs,
    compare,
    reading_ns,
)
from torsweep.chain.measuring import Lengths, measure_turns
from torsweep.chain.turns import (
    REPORT_NS,
    TurnsPlan,
    clocks_plan,
    enter_own_namespace,
    quantum_plan,
    tracing_plan,
)
from torsweep.engines.contract import Say
from torsweep.engines.emulation.rights import cores_claimed
from torsweep.engines.emulation.run.processes import orderly_end
from torsweep.provenance import machine, versions
from torsweep.storage import write_text
from torsweep.storage.folders import CHAIN_FOLDER, own_folder
from torsweep.tor.builds import BuiltTor

CLOCK_ROUNDS = 41


def run_plan(
    name: str,
    out: Path,
    tor: BuiltTor,
    say: Say,
    rounds: int | None = None,
    load_s: float | None = None,
    small_s: float = 1.0,
    claim: Callable[[], AbstractContextManager[None]] = cores_claimed,
) -> str:
    """Measure the plan ``name`` into ``out``; return the text of NAME.md.

    ``rounds`` and ``load_s`` are the plan's own where they are left out. Raises OutputError when another
    measurement has the machine or the folder cannot be had, ToolMissing without a program or the right to
    make a network namespace, TorsweepError when the network fails.
    """
    own_folder(out, CHAIN_FOLDER)
    made_with = {"plan": name, "tor": tor.provenance, "started": round(time.time())}
    made_with |= {"machine": dict(machine()), "versions": dict(versions())}
    with claim(), orderly_end():
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
    """Write the files of the plan, ``document`` last; while it stands, all of them fit each other."""
    (out / f"{name}.json").unlink(missing_ok=True)
    write_text(out / f"{name}_samples.csv", samples.write_csv())
    write_text(out / f"{name}.csv", pl.from_dicts(rows, infer_schema_length=None).write_csv())
    write_text(out / f"{name}.md", text)
    whole = {**document, "wall_s": round(time.time() - document["started"], 1)}
    write_text(out / f"{name}.json", json.dumps(whole, indent=1) + "\n")
    return text
