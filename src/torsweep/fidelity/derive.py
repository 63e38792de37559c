"""Runs that exist to be compared: a run with another seed, a run on another engine's circuits.

In: a run directory. Out: another one with its run.json, for an engine to run.

A repeat has the network, the variant and everything else of its original but another ``seed``: other
pauses, other servers, other circuits. What lies between the two is what any one run leaves to chance. A
replay is a run of cellsim on the circuits that tor chose in a run of Shadow: what then still lies between
the two engines is not the luck of the paths.
"""

from __future__ import annotations

import os
from pathlib import Path

from torsweep.engines.prepare import run_status, write_run
from torsweep.engines.run_spec import RunSpec, read_json, read_run
from torsweep.errors import InputError
from torsweep.seeds import MOST_SEED

REPEAT_SEED_STEP = 1_000_000
"""Far from any seed of a network, so that no repeat shares its draws with another replicate."""

PATHS_FILE = "paths.json"
"""Relays of each circuit that a client used, in order of first use; a run of Shadow leaves it."""

REPLAYING_ENGINE = "cellsim"


def repeat_seed(seed: int) -> int:
    """The seed of the repeat of a run with ``seed``."""
    return (seed + REPEAT_SEED_STEP) % (MOST_SEED + 1)


def repeated(original: Path, out: Path) -> RunSpec:
    """The repeat of the run in ``original``, to stand in ``out``."""
    run = read_run(original)
    return run.model_copy(
        update={"seed": repeat_seed(run.seed), "network": _from(out, original, run.network)}
    )


def replayed(original: Path, out: Path) -> RunSpec:
    """cellsim's run on the circuits of the run in ``original``, to stand in ``out``.

    A client that used no circuit in it draws its own; circuits over an authority, which the model has no
    link of, are left out. Raises InputError when the original is not complete or has left no paths.
    """
    run, status = read_run(original), run_status(original)
    if not status.complete:
        raise InputError(f"has no circuits to replay: {status.text}", file=original)
    relays = {relay["name"] for relay in read_json(original / run.network / "network.json")["relays"]}
    used = {
        client: [circuit for circuit in circuits if relays.issuperset(circuit)]
        for client, circuits in read_json(original / PATHS_FILE).items()
    }
    paths = {client: circuits for client, circuits in used.items() if circuits}
    if not paths:
        raise InputError(
            "names no circuit of any client; the run has to be one in which clients were traced",
            file=original / PATHS_FILE,
        )
    settings = {**run.model_dump(), "engine": REPLAYING_ENGINE, "paths": paths}
    return RunSpec.model_validate({**settings, "network": _from(out, original, run.network)})


def derive(original: Path, out: Path, *, replay: bool, wait: bool = False) -> RunSpec:
    """Write the replay, or the repeat, of ``original`` into ``out`` and return it.

    Raises OutputError when ``out`` cannot be written or an engine is at work in it.
    """
    run = replayed(original, out) if replay else repeated(original, out)
    write_run(run, out, wait=wait)
    return run


def _from(out: Path, original: Path, network: str) -> str:
    """The network directory relative to ``out``, from what it is relative to ``original``."""
    return os.path.relpath(original / network, out)
