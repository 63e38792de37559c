"""Runs of several transports in a tree of results, drawn from the synthetic sweep."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from tests import synthetic
from tests.synthetic import KNOBS, Size, finish_run, write_run
from torsweep.config.experiment import Experiment, load_experiment
from torsweep.config.tor_settings import Transport
from torsweep.engines.run_spec import read_run

SMALL = Size(web_clients=12, bulk_clients=3, relays=2, warm_up_s=20, duration_s=100)
VARIANTS = tuple(
    {"refill_interval": interval, "circuit_policy": policy}
    for interval in KNOBS["refill_interval"]
    for policy in KNOBS["circuit_policy"]
)
EWMA_1000, EWMA_10 = VARIANTS[0], VARIANTS[4]
EXPERIMENT = Path(__file__).parents[3] / "experiments/refill_sweep"

MakeRun = Callable[..., Path]


@pytest.fixture
def experiment() -> Experiment:
    return load_experiment(EXPERIMENT, {"network": "ci"})


def leave_run(
    folder: Path,
    engine: str,
    variant: dict[str, str],
    seed: int,
    *,
    tcp: str | None = None,
    named: bool = False,
    slower: float = 1.0,
    version: str = "1.0",
    network: str = "ci",
    **changes: object,
) -> Path:
    """A finished run below ``folder``/results.

    ``tcp`` names the model's TCP in run.json, ``named`` also in the folder; ``slower`` stretches all times;
    other keywords replace what stands in run.json.
    """
    levels = {**variant, "tcp": tcp} if named and tcp else variant
    directory = write_run(folder / f"results/runs/refill_sweep/{engine}/2012/{network}", levels, seed, SMALL)
    transport = Transport.model_validate({"tcp": tcp}) if tcp else None
    update = {"engine": engine, "transport": transport, **changes}
    read_run(directory).model_copy(update=update).write(directory)
    streams = synthetic.streams(variant, seed, SMALL)
    times = [pl.col(name) for name in ("first_byte_us", "last_byte_us")]
    stretched = streams.with_columns((time * slower).round().cast(pl.Int64) for time in times)
    stretched.write_parquet(directory / "streams.parquet")
    finish_run(directory, engine=engine, engine_version=version)
    return directory


@pytest.fixture
def make_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MakeRun:
    """:func:`leave_run` in the working directory."""
    monkeypatch.chdir(tmp_path)
    return functools.partial(leave_run, tmp_path)


@pytest.fixture(scope="session")
def four_transports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole grid in the model on three networks, also with Shadow's TCP; two variants in Shadow on the
    same networks, and in an emulation on one of another configuration."""
    folder = tmp_path_factory.mktemp("four")
    for seed in (1, 2, 3):
        for variant in VARIANTS:
            leave_run(folder, "cellsim", variant, seed, tcp="linux")
            leave_run(folder, "cellsim", variant, seed, tcp="shadow", named=True)
        for variant in (EWMA_1000, EWMA_10):
            leave_run(folder, "shadow", variant, seed)
    for variant in (EWMA_1000, EWMA_10):
        leave_run(folder, "emulation", variant, 7, network="quarter")
    return folder


@pytest.fixture
def four(four_transports: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The working directory has the results of :func:`four_transports`."""
    (tmp_path / "results").symlink_to(four_transports / "results")
    monkeypatch.chdir(tmp_path)
