"""The figure of queues where an engine could not see them."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from plotting.drawing.palette import style
from plotting.drawing.source import Source
from tests.synthetic import Size, gathered, record_tables, write_sweep
from torsweep.config.experiment import load_experiment
from torsweep.pipeline.figures import figures
from torsweep.stats.summarize import summarize, write_summary

EXPERIMENT = Path(__file__).parents[3] / "experiments/refill_sweep/experiment.yaml"
SMALL = Size(web_clients=4, bulk_clients=2, relays=2, warm_up_s=10, duration_s=40)


def test_queues_that_no_engine_saw_are_said_to_be_missing(tmp_path: Path) -> None:
    experiment = load_experiment(EXPERIMENT)
    runs = write_sweep(tmp_path / "runs", experiment.plan("main").knobs, [1, 2], SMALL, "refill_sweep")
    for run in runs:
        file = run / "relays.parquet"
        unseen = [pl.lit(None, pl.Int64).alias(name) for name in ("queued_cells", "queued_cells_max")]
        pl.read_parquet(file).with_columns(unseen).write_parquet(file)
        record_tables(run)
    tables = gathered(runs, tmp_path, plan="main")
    write_summary(summarize(tables, experiment), tmp_path / "summaries")
    with style():
        figure, points, caption = figures()["relay_queues"].draw(Source(tmp_path / "summaries"))
    assert "not observed" in figure.texts[-1].get_text() + figure.texts[0].get_text()
    assert "not observed" in caption
    assert points.is_empty()
