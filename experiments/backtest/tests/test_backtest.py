"""Predictions, the public effect of a change, and their score, from made series whose steps are known."""

from __future__ import annotations

import csv
import os
import subprocess
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from experiments.backtest.scripts.public_change import Event, PublicChange, changes, read_series
from experiments.backtest.scripts.score import (
    HERE,
    QUANTITIES,
    effects,
    interval_score,
    of_changes,
    predicted_on,
    public_effects,
    read_predictions,
    score,
)
from torsweep.config.experiment import load_experiment
from torsweep.config.variant import Variant
from torsweep.errors import InputError
from torsweep.stats.statistic import statistics

ROOT = HERE.parents[1]
ROWS = read_predictions()
EVENT = Event(date(2021, 12, 31), date(2022, 1, 15))


def test_each_row_names_variants_of_its_plan_and_networks_that_are_there() -> None:
    for row in ROWS.values():
        for runs in row.runs:
            assert set(runs.predicted) <= set(QUANTITIES)
            plan = load_experiment(ROOT / "experiments" / runs.sides.experiment / "experiment.yaml").plan(
                runs.sides.plan
            )
            for side in ("before", "after"):
                assert Variant.parse(getattr(runs.sides, side)) in plan.variants
                network = runs.networks.get(side) or runs.network
                assert (ROOT / f"configs/networks/{network}.yaml").is_file()


def test_a_prediction_has_the_day_on_which_it_was_written_not_the_one_of_a_later_change(
    tmp_path: Path,
) -> None:
    file = tmp_path / "predictions.yaml"
    public, runs = "    public: {1mib: [0, 1]}\n", "    runs:\n        predicted: {1mib: [0, 1]}\n"
    text = f"rows:\n  one:\n    change: a\n{public}{runs}"
    later = text.replace("change: a", "change: b").replace("public: {1mib: [0, 1]}", "public: {1mib: [0, 2]}")
    names = {"GIT_AUTHOR_NAME": "a", "GIT_COMMITTER_NAME": "a", "GIT_AUTHOR_EMAIL": "a", "EMAIL": "a@b"}
    for content, day in ((text, "2026-01-01"), (later, "2026-01-05")):
        file.write_text(content)
        dates = {"GIT_AUTHOR_DATE": f"{day}T12:00:00Z", "GIT_COMMITTER_DATE": "2026-01-09T12:00:00Z"}
        for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "-"]):
            subprocess.run(["git", *command], cwd=tmp_path, check=True, env={**os.environ, **names, **dates})
    assert predicted_on(file) == {"one": ["2026-01-05 12:00", "2026-01-01 12:00"]}


def test_effects_are_log_ratios_over_networks(tmp_path: Path) -> None:
    folder = tmp_path / "summaries/backtest/shadow/2019/backtest_small/main"
    folder.mkdir(parents=True)
    perf, web = [], []
    for scheduler, slow in (("kist_10ms", 10.0), ("kist_2ms", 8.0)):
        for seed in (1, 2):
            head = {"scheduler": scheduler, "congestion": "fixed", "seed": seed}
            web.append(
                head | {"metric": "ttlb", "kind": "web", "mean_s": 5.0, "p90_s": 9.0 if seed == 1 else None}
            )
            for metric in ("ttlb", "ttfb_after_command"):
                for kind in ("perf_50kib", "perf_1mib", "perf_5mib"):
                    time = slow * seed if (metric, kind) == ("ttlb", "perf_5mib") else 1.0 * seed
                    perf.append(head | {"metric": metric, "kind": kind, "median_s": time})
    for name, rows in (("perf_medians", perf), ("medians", web)):
        schema = statistics()[name].schema(("scheduler", "congestion"))
        pl.DataFrame(rows, schema).write_csv(folder / f"{name}.csv")
    days = {name: ["2026-11-28 14:13"] * (1 + len(row.runs)) for name, row in ROWS.items()}
    found = {one["quantity"]: one for one in effects(ROWS, [tmp_path], days)}
    assert {one["row"] for one in found.values()} == {"kist_interval"}
    assert found["5mib"]["ratio"] == pytest.approx(-0.2231, abs=1e-4)
    assert (found["50kib"]["ratio"], found["50kib"]["networks"]) == (0, 2)
    assert found["web_mean"]["ratio"] == "", "a tenth of the downloads did not end in network 2"


def _case(ratio: float, least: float, most: float, **more: Any) -> dict[str, Any]:
    head = {"row": "congestion_control", "engine": "shadow", "quantity": "5mib", "low": "", "high": ""}
    return {**head, "predicted_low": least, "predicted_high": most, "ratio": ratio, **more}


def test_the_score_counts_what_intervals_cover_what_they_say_and_what_they_miss_by() -> None:
    assert interval_score(-0.1, 0.1, 0.0) == pytest.approx(0.2)
    assert interval_score(-0.1, 0.1, 0.2) == pytest.approx(0.2 + 20 * 0.1)
    model = _case(0.4, -0.1, 0.1, engine="cellsim")
    of_model, real, both = score([_case(0.0, -0.1, 0.1), _case(0.2, -0.3, -0.1), model])
    assert (of_model["times"], real["times"], both["times"]) == (1, 2, 3)
    assert (real["predicted_covers"], real["has_0"], real["no_change_covers"]) == (0.5, 0.5, 1.0)
    assert of_model["no_change_score"] == pytest.approx(0.6 + 20 * 0.1)


def test_the_published_score_is_that_of_the_published_runs() -> None:
    with (HERE / "runs.csv").open(newline="") as lines:
        whole = score(list(csv.DictReader(lines)))
    with (ROOT / "docs/tables/backtest_score.csv").open(newline="") as lines:
        assert [{key: str(value) for key, value in row.items()} for row in whole] == list(
            csv.DictReader(lines)
        )


DIRECTIONS = [(-0.4, -0.1, "right"), (-0.4, 0.1, "not shown"), (0.1, 0.2, "wrong")]


@pytest.mark.parametrize(("low", "high", "word"), DIRECTIONS)
def test_a_direction_counts_where_the_interval_shows_one(low: float, high: float, word: str) -> None:
    run = _case((low + high) / 2, -0.5, 0, low=low, high=high, quantity="bulk_5mib")
    (line,) = [one for one in of_changes(ROWS, [_case(1.0, -1, 1), run], []) if "real" in one]
    assert line["real_sign"] == word, "bulk's 5 MiB stand for 5 MiB"


def _series(step: float = 0.0, drift: float = 0.0) -> pl.DataFrame:
    """Two vantage points of two years: noise, a ``drift`` a year, a ``step`` of the logarithm at EVENT."""
    random = np.random.default_rng(7)
    rows = []
    for source, offset in (("op-a", 1.0), ("op-b", 2.0)):
        for n in range(730):
            day = date(2021, 1, 1) + timedelta(days=n)
            log = offset + random.normal(0, 0.05) + drift * n / 365 + step * (day >= EVENT.after_starts)
            rows.append((day, source, "1mib", float(np.exp(log))))
    return pl.DataFrame(rows, ["date", "source", "quantity", "median"], orient="row")


def _change(series: pl.DataFrame, *others: Event) -> PublicChange:
    (found,) = changes(series, EVENT, others, 28)
    return found


@pytest.mark.parametrize("step", [-0.5, 0.0, 0.3])
def test_a_step_is_found_and_is_no_placebo_of_its_own(step: float) -> None:
    found = _change(_series(step))
    assert found.ratio == pytest.approx(step, abs=0.05)
    assert found.low < step < found.high < found.low + 0.15
    assert 0 < found.sd < 0.03


def test_drift_widens_the_interval_and_other_changes_do_not() -> None:
    assert _change(_series(drift=2.0)).sd == pytest.approx(2.0 * 42 / 365, rel=0.1)
    other = Event(date(2021, 5, 31), date(2021, 6, 1))
    tripled = pl.when(pl.col("date") >= other.after_starts).then(3.0).otherwise(1.0)
    series = _series().with_columns(median=pl.col("median") * tripled)
    assert _change(series).sd > 0.25 > 0.03 > _change(series, other).sd


def test_a_window_needs_half_of_its_days_and_an_interval_two_windows() -> None:
    near = _series(-0.4).filter(pl.col("date").is_between(date(2021, 11, 1), date(2022, 3, 1)))
    assert _change(near).ratio == pytest.approx(-0.4, abs=0.05)
    assert np.isnan(_change(near).low)
    assert changes(near.filter(pl.col("date") > date(2021, 12, 20)), EVENT, (), 28) == []


def test_of_public_files_rows_are_filled_whose_windows_they_cover() -> None:
    found = list(public_effects(ROWS, [ROOT / "topologies/history/torperf-2009.csv"]))
    assert {one["row"] for one in found} == {"bandwidth_authorities"}
    assert all(one["ratio"] < -2 * one["sd"] for one in found)


def test_of_tor_metrics_tables_public_servers_named_vantage_points_and_known_sizes_count(
    tmp_path: Path,
) -> None:
    head = "# a comment\ndate,filesize,source,server,q1,md,q3\n2022-01-01,51200,op-a,public,1,2,3\n"
    left_out = (
        "2022-01-01,51200,op-a,onion,1,9,3\n2022-01-01,51200,,public,1,5,3\n2022-01-01,99,op-a,public,1,5,3\n"
    )
    (tmp_path / "torperf.csv").write_text(head + left_out)
    assert read_series([tmp_path / "torperf.csv"])["median"].to_list() == [2.0]
    address = "# URL: https://metrics.torproject.org/{}.csv?start=2022-01-01\ndate,source,server,md\n"
    latency = f"{address.format('onionperf-latencies')}2022-01-01,op-a,public,400\n"
    (tmp_path / "may.csv").write_text(latency)
    assert read_series([tmp_path / "may.csv"])["quantity"].to_list() == ["round_trip"]
    throughput = latency.replace("latencies", "throughput")
    for name, text in (("june.csv", throughput), ("a.csv", "a,b\n1,2\n"), ("b.csv", "")):
        (tmp_path / name).write_text(text)
        with pytest.raises(InputError, match=name):
            read_series([tmp_path / name])
