"""What a plan's runs keep and its tables do not have: every cell of traced relays, and files of programs.

In: the folder of a plan's tables, beside which its runs are. Out: frames with ``seed`` and a column for each
knob. A cell at a guard has the client at the other end of its channel, and the download that this client had
under way then, of several the last that began. Channels of the model have no such ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import polars as pl

from torsweep.config.variant import Variant
from torsweep.engines.cell_ring import CHANNELS_FILE, scan_cells
from torsweep.engines.host_files import address
from torsweep.engines.run_spec import PROGRAMS_FOLDER
from torsweep.engines.table_schema import CELLS, STREAMS
from torsweep.errors import InputError
from torsweep.network.model import read_network
from torsweep.runsets.plan_tables import PlanTables
from torsweep.runsets.run import Run, open_run, read_table


def runs_of(tables: Path) -> Iterator[Run]:
    """The runs of the plan whose tables are in the folder ``tables``; InputError where they are not there."""
    told = PlanTables.open(tables).provenance
    runs = tables.absolute().parents[5] / "runs" / told.experiment / told.engine / told.era
    for run in told.runs:
        variant = Variant(tuple(run["variant"].items()))
        folder = runs / variant.network_key(told.network) / str(run["seed"]) / variant.key
        if not folder.is_dir():
            problem, accepted = "the runs of these tables are not here", "the results that they were made in"
            raise InputError(problem, file=folder, accepted=accepted)
        yield open_run(folder)


def read_cells(run: Run) -> pl.DataFrame:
    """The cells of ``run``, each with ``client``, ``download`` and ``label`` as far as they are known; the
    label is the client's kind."""
    cells = scan_cells(run.directory).with_columns(pl.col("host").cast(pl.String)).collect()
    assert run.spec is not None, "only runs of an engine have cells"
    network, _ = read_network(run.directory / run.spec.network, latency=False)
    nodes = network.node_of
    ends = pl.DataFrame(
        [(address(nodes[client.name]), client.name) for client in network.tor_clients],
        {"remote_address": pl.String, "client": pl.String},
        orient="row",
    )
    channels = run.directory / CHANNELS_FILE
    columns = ("host", "channel", "remote_address")
    known = pl.read_parquet(channels, columns=list(columns)) if channels.is_file() else None
    if known is None:
        cells = cells.with_columns(client=pl.lit(None, pl.String))
    else:
        clients = known.join(ends, on="remote_address").select("host", "channel", "client").unique()
        cells = cells.join(clients, on=["host", "channel"], how="left", maintain_order="left")
    came = pl.col("client").is_not_null() & pl.col("point").cast(pl.String).is_in(["inbuf", "recognized"])
    cells = cells.with_columns(
        pl.coalesce("outward", pl.when(came).then(True)).alias("outward"), time_us=pl.col("time_ns") // 1000
    )
    began = read_table(run.directory, STREAMS).select(
        "client", "kind", "start_us", download="stream", end_us=pl.col("start_us") + pl.col("observed_us")
    )
    joined = cells.with_row_index("row").sort("time_us").join_asof(
        began.sort("start_us"), left_on="time_us", right_on="start_us", by="client", check_sortedness=False
    )  # fmt: skip
    under_way = pl.col("time_us") <= pl.col("end_us")
    labels = (
        pl.when(under_way).then(name).alias(to) for name, to in (("download", "download"), ("kind", "label"))
    )
    return joined.sort("row").select(*CELLS.polars, "client", *labels)


def kept_files(run: Run) -> pl.DataFrame:
    """The files that programs of ``run`` left and that were kept: ``host``, ``file`` (its path)."""
    folder = run.directory / PROGRAMS_FOLDER
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    rows = [(file.relative_to(folder).parts[0], str(file)) for file in files]
    return pl.DataFrame(rows, {"host": pl.String, "file": pl.String}, orient="row")


OF_RUNS: Mapping[str, Callable[[Run], pl.DataFrame]] = {"cells": read_cells, "programs": kept_files}
"""What is read of each run, by the name that :func:`torsweep.load` has for it."""


def load_of_runs(tables: Path, name: str) -> pl.DataFrame:
    """What the runs of the plan in ``tables`` have of ``name``, one of :data:`OF_RUNS`."""
    frames = []
    for run in runs_of(tables):
        keys = [pl.lit(level).alias(knob) for knob, level in run.variant.items()]
        frames.append(OF_RUNS[name](run).select(pl.lit(run.seed, pl.Int64).alias("seed"), *keys, pl.all()))
    return pl.concat(frames)
