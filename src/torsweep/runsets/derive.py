"""Runs that exist to be compared: a run with another seed, a run on another engine's circuits.

In: a run directory. Out: another one with its run.json, for an engine to run.

A repeat has the network, the variant and everything else of its original but another ``seed``: other
pauses, other servers, other circuits unless they are given. The difference between the two is chance. A
replay is a run of cellsim on the circuits that tor chose in a run of another engine, those of the measured
time, with a TCP and queues like that engine's. The remaining difference is not due to the choice of paths.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from torsweep.engines.paths import used_paths
from torsweep.engines.prepare import finished_run, write_run
from torsweep.engines.run_spec import RUN_FILE, RunSpec, read_run
from torsweep.engines.selection import MODEL_ENGINE, find_engine, find_kind
from torsweep.engines.table_schema import CIRCUITS, STREAMS
from torsweep.errors import InputError
from torsweep.formats.json_file import read_json
from torsweep.network.model import NETWORK_FILE
from torsweep.runsets.run import read_table
from torsweep.seeds import repeat_seed


def repeated(original: Path, out: Path) -> RunSpec:
    """The repeat of the run in ``original``, to stand in ``out``."""
    run = read_run(original)
    return run.model_copy(
        update={"seed": repeat_seed(run.seed), "network": _from(out, original, run.network)}
    )


def replayed(original: Path, out: Path) -> RunSpec:
    """cellsim's run on the circuits of the run in ``original``, to stand in ``out``.

    A client gets the circuits that carried its downloads in the measured time, in order of first use: tor
    leaves many of the circuits that it uses first before that. A client without any in that time gets
    all that it used, and one that used none draws its own; circuits over an authority, which the model has
    no link of, are left out. Raises InputError when the original is by an engine that runs no tor, is not
    complete, lacks its tables of streams and circuits, or has no circuit to replay.
    """
    run = read_run(original)
    if not find_engine(run.engine).runs_tor:
        raise InputError(
            "chooses no circuits to replay", file=original / RUN_FILE, key="engine", value=run.engine
        )
    finished_run(original)
    relays = _relay_names(original / run.network / NETWORK_FILE)
    circuits, streams = read_table(original, CIRCUITS), read_table(original, STREAMS)
    measured = measured_circuits(circuits, streams, run.warm_up_ns // 1000)
    paths = _over(relays, used_paths(circuits)) | _over(relays, used_paths(measured))
    if not paths:
        raise InputError(
            "names no circuit of any client; the run has to be one in which clients were traced",
            file=original / CIRCUITS.file,
        )
    transport = run.transport or find_kind(run.engine).as_in
    settings = {**run.model_dump(), "engine": MODEL_ENGINE, "paths": paths, "transport": transport}
    return RunSpec.model_validate({**settings, "network": _from(out, original, run.network)})


def _relay_names(file: Path) -> set[str]:
    relays = read_json(file).get("relays")
    if not isinstance(relays, list) or not all(
        isinstance(relay, dict) and "name" in relay for relay in relays
    ):
        raise InputError("is no network", file=file, key="relays")
    return {str(relay["name"]) for relay in relays}


def measured_circuits(circuits: pl.DataFrame, streams: pl.DataFrame, warm_up_us: int) -> pl.DataFrame:
    """The rows of ``circuits`` that carried a download in the measured time, from ``warm_up_us`` to the end.

    Both frames are a run's tables. A download counts that started in that time or was not over before it;
    where it changed circuits, the last one has it.
    """
    seen_until_us = pl.col("start_us") + pl.col("observed_us")
    return circuits.join(streams.filter(seen_until_us >= warm_up_us), on=["client", "circuit"], how="semi")


def _over(relays: set[str], paths: Mapping[str, Sequence[Sequence[str]]]) -> dict[str, list[Sequence[str]]]:
    """The paths over none but ``relays``, of the clients that have any."""
    over = {client: [path for path in own if relays.issuperset(path)] for client, own in paths.items()}
    return {client: own for client, own in over.items() if own}


def derive(original: Path, out: Path, *, replay: bool, wait: bool = False) -> RunSpec:
    """Write the replay, or the repeat, of ``original`` into ``out`` and return it.

    Raises OutputError when ``out`` cannot be written or an engine is at work in it.
    """
    run = replayed(original, out) if replay else repeated(original, out)
    write_run(run, out, wait=wait)
    return run


def _from(out: Path, original: Path, network: str) -> str:
    """The network directory relative to ``out``, from what it is relative to ``original``."""
    return os.path.relpath((original / network).resolve(), out.resolve())
