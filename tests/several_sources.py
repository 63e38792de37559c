"""Runs of several sources in a tree of results, drawn from the synthetic sweep; and what is said of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import polars as pl

from tests import synthetic
from tests.synthetic import KNOBS, Size, finish_run, write_run
from torsweep.config.experiment import Experiment, load_experiment
from torsweep.config.tor_settings import Transport
from torsweep.engines.run_spec import read_run
from torsweep.runsets.collect import collect
from torsweep.runsets.plan_tables import PlanTables
from torsweep.runsets.run import Run, RunSource, open_runs, parse_sources
from torsweep.seeds import repeat_seed
from torsweep.stats.summarize import Summary, summarize

SMALL = Size(web_clients=20, bulk_clients=4, relays=2, warm_up_s=20, duration_s=120)
VARIANTS = tuple(
    {"refill_interval": interval, "circuit_policy": policy}
    for interval in KNOBS["refill_interval"]
    for policy in KNOBS["circuit_policy"]
)
SLOW, FAST = VARIANTS[0], VARIANTS[4]
"""1000 ms and 10 ms with EWMA."""
EXPERIMENT = Path(__file__).parents[1] / "experiments/refill_sweep"

MakeRun = Callable[..., Path]


def leave_run(
    folder: Path,
    source: str,
    variant: Mapping[str, str],
    seed: int,
    *,
    draws: int | None = None,
    slower: float = 1.0,
    version: str = "1.0",
    network: str = "ci",
    **changes: object,
) -> Path:
    """A finished run of ``source`` below ``folder``/results.

    ``draws`` makes it a repeat with other downloads; ``slower`` stretches all times; other keywords replace
    what stands in run.json.
    """
    named = RunSource.parse(source)
    tree = "runs" if draws is None else "repeats"
    levels = {**variant, **dict(named.levels)}
    above = folder / "results" / tree / "refill_sweep" / named.engine / "2012" / network
    directory = write_run(above, levels, seed, SMALL)
    transport = {key: level for key, level in named.levels if key == "tcp"}
    carried = Transport.model_validate(transport) if named.engine == "cellsim" else None
    update: dict[str, object] = {"engine": named.engine, "transport": carried, **changes}
    if draws is not None:
        update["seed"] = repeat_seed(seed)
    read_run(directory).model_copy(update=update).write(directory)
    streams = synthetic.streams(variant, seed if draws is None else draws, SMALL)
    times = [pl.col(name) for name in ("first_byte_us", "last_byte_us")]
    stretched = streams.with_columns((time * slower).round().cast(pl.Int64) for time in times)
    stretched.write_parquet(directory / "streams.parquet")
    finish_run(directory, engine=named.engine, engine_version=version)
    return directory


def found_runs(folder: Path, sources: str, seeds: Sequence[int] = (1, 2, 3)) -> list[Run]:
    """The runs of ``sources`` below ``folder``/results on networks ``ci``, in the order of the grid."""
    order = [f"refill_interval={one['refill_interval']}" for one in VARIANTS]
    directories = [
        run
        for run in sorted(folder.glob("results/**/refill_sweep/*/2012/ci/*/*/"))
        if (run / "provenance.json").exists() and int(run.parent.name) in seeds
    ]
    named = {source.engine for source in parse_sources(sources)}
    directories = [run for run in directories if run.parents[3].name in named]
    directories.sort(key=lambda run: order.index(run.name.split("+")[0]))
    return open_runs(directories, parse_sources(sources))


def summary_of(folder: Path, sources: str = "shadow,cellsim", seeds: Sequence[int] = (1, 2, 3)) -> Summary:
    """The summary of these runs, which are a plan of the refill sweep."""
    collect(found_runs(folder, sources, seeds), folder / "tables", network="ci")
    return summarize(PlanTables.open(folder / "tables"), refill_sweep())


def refill_sweep() -> Experiment:
    """The experiment on networks ``ci``."""
    return load_experiment(EXPERIMENT, {"network": "ci"})
