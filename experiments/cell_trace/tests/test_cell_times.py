"""Times of cells in relays: planted ones are found, and claims about them are judged."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import polars as pl
import pytest

from experiments.cell_trace.cell_times import _over_networks
from plotting.drawing.palette import style
from plotting.drawing.source import Source
from tests.synthetic import Size, gathered, write_sweep
from tests.synthetic_cells import BUSY, CIRCUITS, QUIET, RELAYING_NS, WAIT_NS, WRITING_NS
from torsweep.config.experiment import Experiment, load_experiment
from torsweep.pipeline.figures import figures
from torsweep.runsets.plan_tables import PlanTables
from torsweep.stats.statistic import Analysis
from torsweep.stats.summarize import Summary, shown_summary, summarize, write_summary

SMALL = Size(web_clients=4, bulk_clients=2, relays=2, warm_up_s=10, duration_s=40)
CELLS = (BUSY + QUIET) * CIRCUITS // 2


@pytest.fixture(scope="module")
def traced() -> Experiment:
    return load_experiment(Path(__file__).parents[3] / "experiments/cell_trace/experiment.yaml")


@pytest.fixture(scope="module")
def traced_tables(traced: Experiment, tmp_path_factory: pytest.TempPathFactory) -> PlanTables:
    folder = tmp_path_factory.mktemp("traced")
    runs = write_sweep(folder / "runs", traced.plan("main").knobs, [1, 2, 3], SMALL, "cell_trace")
    return gathered(runs, folder)


@pytest.fixture(scope="module")
def traced_summary(traced: Experiment, traced_tables: PlanTables) -> Summary:
    return summarize(traced_tables, traced)


def section(frame: pl.DataFrame, scheduler: str, circuits: str, stage: str) -> pl.DataFrame:
    wanted = {"scheduler": scheduler, "host": "relay1", "circuits": circuits, "stage": stage}
    wanted |= dict.fromkeys(("direction", "command", "queue"), "any")
    return frame.filter(*(pl.col(name) == value for name, value in wanted.items()))


def test_each_stage_has_the_planted_time(traced_summary):
    times = traced_summary["cell_times"]
    relaying, writing = (section(times, "kist_10ms", "all", stage) for stage in ("relaying", "writing"))
    assert relaying["median_ms"].to_list() == pytest.approx([RELAYING_NS / 1e6])
    assert writing["max_ms"].to_list() == pytest.approx([WRITING_NS / 1e6])
    for scheduler, wait_ns in WAIT_NS.items():
        (busy,) = section(times, scheduler, "busy", "waiting")["median_ms"]
        (quiet,) = section(times, scheduler, "quiet", "waiting")["median_ms"]
        assert busy == pytest.approx(wait_ns / 1e6, rel=0.03)
        assert quiet == pytest.approx(2 * wait_ns / 1e6, rel=0.05)


def test_means_of_stages_add_up_to_the_mean_of_the_whole(traced_summary):
    runs = traced_summary["cell_runs"]
    by = ["scheduler", "seed", "host", "circuits", "direction", "command", "queue"]
    whole = runs.filter(pl.col("stage") == "total").select(*by, "mean_ms")
    parts = runs.filter(pl.col("stage") != "total").group_by(by).agg(pl.col("mean_ms").sum().alias("sum"))
    both = whole.join(parts, on=by)
    assert len(both) == len(whole) > 0
    assert np.allclose(both["mean_ms"], both["sum"], rtol=1e-12)


def test_a_network_whose_median_is_0_counts_as_much_as_the_others(traced_summary):
    runs = section(traced_summary["cell_runs"], "kist_10ms", "all", "total")
    runs = runs.with_columns(median_ms=pl.col("seed").replace_strict({1: 0.0, 2: 1.0, 3: 2.0}))
    analysis = SimpleNamespace(knobs=["scheduler"], once=lambda _: SimpleNamespace(runs=runs))
    (row,) = _over_networks(cast(Analysis, analysis)).iter_rows(named=True)
    assert row["median_ms"] == pytest.approx(1.0)
    interval = (row["median_ms_low"], row["median_ms_high"])
    assert interval == pytest.approx((0.0, 1 + 4.3027 / 3**0.5), rel=1e-4)


def test_cells_are_counted_once_in_each_section_and_in_the_density(traced_summary):
    runs = traced_summary["cell_runs"].filter(pl.col("stage") == "total", pl.col("circuits") == "all")
    assert set(runs.filter(pl.col("direction") != "inward")["cell_count"]) == {CELLS}
    assert runs.filter(pl.col("direction") == "inward").is_empty()
    density = traced_summary["cell_density"].group_by("scheduler", "host").agg(pl.col("cell_count").sum())
    assert density["cell_count"].to_list() == [CELLS] * 8
    assert set(traced_summary["cell_density"]["seed"]) == {1}
    assert traced_summary["cell_counts"]["passages"].to_list() == [CELLS] * 24


def test_the_load_of_a_relay_is_over_networks(traced_summary):
    counts = traced_summary["cell_counts"].filter(
        pl.col("scheduler") == "vanilla", pl.col("host") == "relay2"
    )
    load = traced_summary["cell_load"]
    (row,) = load.filter(pl.col("scheduler") == "vanilla", pl.col("host") == "relay2").to_dicts()
    assert (len(load), len(counts), row["networks"]) == (8, 3, 3)
    assert row["sent_mb_per_s"] == pytest.approx(np.mean(counts["sent_mb_per_s"].to_numpy()))
    assert row["sent_mb_per_s"] > 0
    assert row["cpu_share"] == counts["cpu_share"].max()


def test_claims_about_cells_are_judged(traced_summary):
    assert {verdict.claim: verdict.verdict for verdict in traced_summary.verdicts} == {
        "kist_takes_milliseconds": "holds",
        "vanilla_takes_less_than_one": "holds",
        "quiet_circuits_are_slower": "holds",
        "kist_time_is_in_the_queue": "holds",
    }


@pytest.mark.parametrize(
    ("number", "changes"),
    [
        (0, {"level": "vanilla"}),
        (1, {"level": "kist_10ms"}),
        (3, {"stage": "writing"}),
    ],
)
def test_claims_that_the_cells_speak_against_are_contradicted(number, changes, traced, traced_tables):
    claim = {**traced.claims[number], **changes}
    (verdict,) = summarize(traced_tables, traced.model_copy(update={"claims": (claim,)})).verdicts
    assert verdict.verdict == "contradicted"


@pytest.mark.parametrize("name", ["cell_density", "cell_stages"])
def test_figures_are_drawn_from_the_summaries(name, traced_summary, tmp_path):
    write_summary(traced_summary, tmp_path / "summaries")
    with style():
        figure, points, caption = figures("cell_trace")[name].draw(Source(tmp_path / "summaries"))
    assert len(figure.axes) in (8, 9)
    assert not points.is_empty()
    assert "RELAY cells" in caption


def test_the_summary_to_read_has_a_row_for_each_relay_variant_and_group(traced_summary, summary):
    (table,) = shown_summary(traced_summary).tables["cell_times"]
    assert "RELAY cells" in table.title
    assert len(table.rows) == 2 * 4 * 4
    kist = next(row for row in table.rows if row[:3] == ["relay1", "kist_10ms", "all"])
    assert float(kist[6]) == pytest.approx(8.1, rel=0.05)
    assert "cell_times" not in shown_summary(summary).tables
