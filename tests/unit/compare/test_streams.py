"""Streams of a circuit under two sources: on the networks that both have, means and intervals over them."""

from __future__ import annotations

from itertools import product

import polars as pl
import pytest

from tests.synthetic import EXPERIMENTS, finish_run
from tests.synthetic_streams import write_run
from torsweep.compare.comparison import Comparison, compare
from torsweep.compare.sources import parse_sources, read_sources
from torsweep.compare.text import comparison_text
from torsweep.config.experiment import load_experiment
from torsweep.engines.run_spec import read_run
from torsweep.pipeline.paths import network_key


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    """The model on networks 1 to 3, and an emulation on 2 to 4 that is a second later."""
    folder = tmp_path_factory.mktemp("streams")
    experiment = load_experiment(EXPERIMENTS / "starvation")
    plan = experiment.plan("packaging")
    for engine, seeds in (("cellsim", (1, 2, 3)), ("emulation", (2, 3, 4))):
        above = folder / "results/runs/starvation" / engine / "2012"
        for variant, seed in product(plan.variants, seeds):
            run = write_run(above / network_key(experiment.network, variant), dict(variant.levels), seed)
            if engine == "emulation":
                read_run(run).model_copy(update={"engine": engine, "transport": None}).write(run)
                streams = pl.read_parquet(run / "streams.parquet")
                late = pl.col("last_byte_us", "observed_us", "last_byte_after_command_us") + 1_000_000
                streams.with_columns(late).write_parquet(run / "streams.parquet")
                finish_run(run, engine=engine, engine_version="0.1.0")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        read = read_sources(parse_sources("emulation,cellsim"), experiment, plan)
        return compare(read, experiment, plan)


def test_streams_are_compared_on_the_networks_of_both(compared: Comparison) -> None:
    streams, means = compared.tables["streams"], compared.tables["stream_means"]
    assert sorted(streams["seed"].unique()) == [2, 3]
    assert set(means["networks"]) == {2}
    times = means.pivot("source", index=[*compared.origin.knobs, "opened"], values="completed_s")
    assert (times["emulation"] - times["cellsim"]).to_list() == pytest.approx([1.0] * times.height)
    assert times.height == 8 * 9


def test_who_starved_stands_in_the_text(compared: Comparison) -> None:
    starved = compared.tables["starved"]
    assert set(starved["source"]) == {"emulation", "cellsim"}
    assert starved["starved"].max() == 6
    # Networks that all agree have no interval of their own: see t_interval.
    assert starved["starved_low"].null_count() == starved.height
    text = comparison_text(compared)
    assert "Who starved" in text
    assert "When each stream was complete" in text
    assert "nan" not in text


def test_claims_and_contrasts_of_streams_stand_beside(compared: Comparison) -> None:
    assert {"verdicts", "contrasts", "gaps"} <= compared.tables.keys()
