"""Runs of several sources in a tree of results, drawn from the synthetic sweep."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl
import pytest

from tests import synthetic
from tests.synthetic import KNOBS, Size, finish_run, write_run
from torsweep.compare.derive import repeat_seed
from torsweep.compare.sources import Source
from torsweep.config.experiment import Experiment, load_experiment
from torsweep.config.tor_settings import Transport
from torsweep.engines.run_spec import read_run

SMALL = Size(web_clients=20, bulk_clients=4, relays=2, warm_up_s=20, duration_s=120)
VARIANTS = tuple(
    {"refill_interval": interval, "circuit_policy": policy}
    for interval in KNOBS["refill_interval"]
    for policy in KNOBS["circuit_policy"]
)
SLOW, FAST = VARIANTS[0], VARIANTS[4]
"""1000 ms and 10 ms with EWMA."""
EXPERIMENT = Path(__file__).parents[3] / "experiments/refill_sweep"

MakeRun = Callable[..., Path]


@pytest.fixture
def experiment() -> Experiment:
    return load_experiment(EXPERIMENT, {"network": "ci"})


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
    named = Source.parse(source)
    series = "runs" if draws is None else "repeats"
    tree = f"replays/{named.replay}" if named.replay else series
    levels = {**variant, **dict(named.levels)}
    above = folder / "results" / tree / "refill_sweep" / named.engine / "2012" / network
    directory = write_run(above, levels, seed, SMALL)
    transport = {key: level for key, level in named.levels if key == "tcp"}
    carried = Transport.model_validate(transport) if named.engine == "cellsim" else None
    update: dict[str, object] = {"engine": named.engine, "transport": carried, **changes}
    if named.replay:
        update["paths"] = {"web1": (("relay1", "relay2", "relay3"),)}
    if draws is not None:
        update["seed"] = repeat_seed(seed)
    read_run(directory).model_copy(update=update).write(directory)
    streams = synthetic.streams(variant, seed if draws is None else draws, SMALL)
    times = [pl.col(name) for name in ("first_byte_us", "last_byte_us")]
    stretched = streams.with_columns((time * slower).round().cast(pl.Int64) for time in times)
    stretched.write_parquet(directory / "streams.parquet")
    finish_run(directory, engine=named.engine, engine_version=version)
    return directory


@pytest.fixture
def make_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MakeRun:
    """:func:`leave_run` in the working directory."""
    monkeypatch.chdir(tmp_path)
    return functools.partial(leave_run, tmp_path)


@pytest.fixture(scope="session")
def four_sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole grid in the model on three networks, also with Linux 6.18; two variants in Shadow on the
    same networks, one of them repeated, and in an emulation on a network of another configuration."""
    folder = tmp_path_factory.mktemp("four")
    for seed in (1, 2, 3):
        for variant in VARIANTS:
            leave_run(folder, "cellsim", variant, seed)
            leave_run(folder, "cellsim+tcp=linux_6_18", variant, seed)
        for variant in (SLOW, FAST):
            leave_run(folder, "shadow", variant, seed)
    leave_run(folder, "shadow", SLOW, 1, draws=77)
    for variant in (SLOW, FAST):
        leave_run(folder, "emulation", variant, 7, network="quarter")
    return folder


@pytest.fixture
def four(four_sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The working directory has the results of :func:`four_sources`."""
    (tmp_path / "results").symlink_to(four_sources / "results")
    (tmp_path / "experiments").symlink_to(EXPERIMENT.parent)
    monkeypatch.chdir(tmp_path)
