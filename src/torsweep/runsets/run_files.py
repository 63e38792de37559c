"""What a plan's runs keep and its tables do not have: every cell of traced relays, and files of programs.

In: the folder of a plan's tables, beside which its runs are. Out: frames with ``seed`` and a column for each
knob. A cell at a client, or on a channel of a guard with one, has this client and the download that the
client had under way then, of several the last that began.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import polars as pl

from torsweep.config.traffic import AnyKind
from torsweep.config.variant import Variant
from torsweep.engines.cell_ring import CHANNELS_FILE, scan_cells
from torsweep.engines.draws import PAGE, site_of
from torsweep.engines.host_files import address
from torsweep.engines.registry import find_engine
from torsweep.engines.run_spec import PROGRAMS_FOLDER, RunSpec
from torsweep.engines.table_schema import CELLS, CIRCUITS, STREAMS
from torsweep.errors import InputError
from torsweep.network.model import Network, read_network
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
    label is the site of the page, or the client's kind."""
    cells = scan_cells(run.directory).with_columns(pl.col("host").cast(pl.String)).collect()
    assert run.spec is not None, "only runs of an engine have cells"
    network, _ = read_network(run.directory / run.spec.network, latency=False)
    to_client = (
        _of_channels(run, network) if find_engine(run.spec.engine).runs_tor else _of_circuits(run, cells)
    )
    cells = cells.join(to_client, on=["host", "channel"], how="left", maintain_order="left")
    at_client = pl.col("host").is_in([client.name for client in network.tor_clients])
    outward = pl.when(at_client & _CAME).then(False).when(pl.col("client").is_not_null() & _CAME).then(True)
    cells = cells.with_columns(
        pl.coalesce("client", pl.when(at_client).then("host")).alias("client"),
        pl.coalesce("outward", outward).alias("outward"),
        time_us=pl.col("time_ns") // 1000,
    )
    of_clients = _under_way(_downloads(run, run.spec, network))
    joined = cells.with_row_index("row").sort("time_us").join_asof(
        of_clients.sort("time_us"), on="time_us", by="client", check_sortedness=False
    )  # fmt: skip
    return joined.sort("row").select(*CELLS.polars, "client", "download", "label")


_CAME = pl.col("point").cast(pl.String).is_in(["inbuf", "recognized"])
"""Whether a cell comes into its host at the point where it was recorded."""

_TO_CLIENT = {"host": pl.String, "channel": pl.Int64, "client": pl.String}


def _of_channels(run: Run, network: Network) -> pl.DataFrame:
    """The channels of real tors that lead to a client: ``host``, ``channel``, ``client``."""
    file, nodes = run.directory / CHANNELS_FILE, network.node_of
    names = {address(nodes[client.name]): client.name for client in network.tor_clients}
    if not file.is_file():
        return pl.DataFrame(schema=_TO_CLIENT)
    client = pl.col("remote_address").replace_strict(names, default=None, return_dtype=pl.String)
    known = pl.read_parquet(file).select("host", "channel", client=client)
    return known.drop_nulls("client").unique()


def _of_circuits(run: Run, cells: pl.DataFrame) -> pl.DataFrame:
    """The same of the model, whose circuits have one number everywhere: the channels by which cells towards
    the client leave the first relay of its circuit."""
    circuits = read_table(run.directory, CIRCUITS).select(
        "client", "circuit", host=pl.col("path").str.split(",").list.first()
    )
    inward = cells.filter(~pl.col("outward"), ~_CAME)
    return inward.join(circuits, on=["host", "circuit"]).select(*_TO_CLIENT).unique()


def _downloads(run: Run, spec: RunSpec, network: Network) -> pl.DataFrame:
    """The downloads of ``run``: ``client``, ``download``, ``label``, ``start_us``, ``end_us``. An object of a
    page lasts until the next one begins."""
    numbers = {client.name: number for number, client in enumerate(network.clients)}
    repeats = find_engine(spec.engine).pages_repeat_after

    def label(client: str, kind: AnyKind, page: int) -> str:
        if repeats:
            page = (page - 1) % repeats + 1
        site = site_of(spec.traffic[kind], spec.seed, numbers[client], page) if kind in spec.traffic else None
        return site or kind

    streams = read_table(run.directory, STREAMS).sort("client", "start_us", "stream").select(
        "client", "kind", "start_us", download="stream", page=pl.col("stream") // PAGE,
        end_us=pl.col("start_us") + pl.col("observed_us"),
    )  # fmt: skip
    following = pl.when(pl.col("page") > 0).then(pl.col("start_us").shift(-1).over("client", "page"))
    pages = streams.select("client", "kind", "page").unique()
    labels = pages.with_columns(label=pl.Series([label(*row) for row in pages.iter_rows()], dtype=pl.String))
    joined = streams.with_columns(end_us=pl.max_horizontal("end_us", following)).join(
        labels, on=["client", "kind", "page"], maintain_order="left"
    )
    return joined.select("client", "download", "label", "start_us", "end_us")


def _under_way(downloads: pl.DataFrame) -> pl.DataFrame:
    """``client``, ``time_us``, and the ``download`` with its ``label`` that is under way at the client from
    then on: of several the one that began last; null for none."""
    moments = sorted(
        (client, time_us + ends, ends, download, label)
        for client, download, label, *ends_of in downloads.iter_rows()
        for ends, time_us in enumerate(ends_of)
    )
    rows, active, last = [], dict[int, str](), ""
    for client, time_us, ends, download, label in moments:
        active, last = active if client == last else {}, client
        if ends:
            del active[download]
        else:
            active[download] = label
        rows.append((client, time_us, *next(reversed(active.items()), (None, None))))
    types = {"client": pl.String, "time_us": pl.Int64, "download": pl.Int64, "label": pl.String}
    return pl.DataFrame(rows, types, orient="row")


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
