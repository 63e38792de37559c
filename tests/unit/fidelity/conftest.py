"""Runs of two engines as they stand side by side, drawn from the synthetic sweep."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from tests import synthetic
from tests.synthetic import Size, finish_run, write_run
from torsweep.engines.run_spec import read_run
from torsweep.fidelity.matches import REFERENCE, SERIES

SMALL = Size(web_clients=20, bulk_clients=4, relays=2, warm_up_s=20, duration_s=120)
VARIANTS = (
    {"refill_interval": "1000ms", "circuit_policy": "ewma"},
    {"refill_interval": "10ms", "circuit_policy": "ewma"},
)

MakeRun = Callable[..., Path]


@pytest.fixture
def make_run(tmp_path: Path) -> MakeRun:
    """``make_run(series, variant, network)`` leaves a finished run of that series on a network, by its seed.

    ``draws`` draws its downloads anew, under another seed of the run; ``slower`` stretches its times;
    ``version`` is its engine's; other keywords replace what stands in run.json.
    """

    def make(
        series: str,
        variant: dict[str, str],
        network: int,
        *,
        draws: int | None = None,
        slower: float = 1.0,
        version: str = "1.0",
        **changes: object,
    ) -> Path:
        assert series in SERIES
        engine = str(changes.pop("engine", "shadow" if series.startswith(REFERENCE) else "cellsim"))
        directory = write_run(tmp_path / series, variant, network, SMALL)
        own_seed = {} if draws is None else {"seed": draws}
        if engine != "cellsim":
            changes = {"transport": None, **changes}
        read_run(directory).model_copy(update={"engine": engine, **own_seed, **changes}).write(directory)
        streams = synthetic.streams(variant, network if draws is None else draws, SMALL)
        times = [pl.col(name) for name in ("first_byte_us", "last_byte_us")]
        stretched = streams.with_columns((time * slower).round().cast(pl.Int64) for time in times)
        stretched.write_parquet(directory / "streams.parquet")
        finish_run(directory, engine=engine, engine_version=version)
        return directory

    return make
