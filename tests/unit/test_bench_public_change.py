"""The effect of a change on public downloads, in series whose steps are known."""

from __future__ import annotations

import json
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from bench.public_change import SERIES, Event, changes, read_series
from torsweep.errors import InputError

ROOT = Path(__file__).parents[2]
START = date(2021, 1, 1)
EVENT = Event(date(2021, 12, 31), date(2022, 1, 15))


def _series(step: float = 0.0, drift: float = 0.0, days: int = 730, noise: float = 0.05) -> pl.DataFrame:
    """Two vantage points: noise, a ``drift`` a year, and a ``step`` of the logarithm at EVENT."""
    random = np.random.default_rng(7)
    rows = [
        (
            day,
            source,
            "1mib",
            float(np.exp(offset + random.normal(0, noise) + drift * n / 365 + step * later)),
        )
        for source, offset in (("op-a", 1.0), ("op-b", 2.0))
        for n in range(days)
        for day in [START + timedelta(days=n)]
        for later in [day >= EVENT.after_starts]
    ]
    return pl.DataFrame(rows, SERIES, orient="row")


@pytest.mark.parametrize("step", [-0.5, 0.0, 0.3])
def test_a_step_is_found_at_each_vantage_point_and_over_all(step: float) -> None:
    found = changes(_series(step), EVENT)
    assert [one.source for one in found] == ["op-a", "op-b", "all"]
    for one in found:
        assert one.log_ratio == pytest.approx(step, abs=0.05)
        assert one.low < step < one.high
        assert one.high - one.low < 0.15
        assert 0 < one.placebo_sd < 0.03, "a step is no placebo of its own"


def test_drift_widens_the_interval() -> None:
    calm, drifting = (changes(_series(-0.2, drift), EVENT)[-1] for drift in (0.0, 2.0))
    assert drifting.placebo_sd > 5 * calm.placebo_sd
    assert drifting.placebo_sd == pytest.approx(2.0 * 42 / 365, rel=0.1)
    assert drifting.low < -0.2 < drifting.high


def test_other_changes_are_no_placebos() -> None:
    other = Event(date(2021, 5, 31), date(2021, 6, 1))
    rows = _series().with_columns(
        median=pl.col("median") * pl.when(pl.col("date") >= other.after_starts).then(3.0).otherwise(1.0)
    )
    unlisted, listed = changes(rows, EVENT)[-1], changes(rows, EVENT, [other])[-1]
    assert unlisted.placebo_sd > 0.25
    assert listed.placebo_sd < 0.03
    assert listed.placebos < unlisted.placebos


def test_gaps_leave_a_vantage_point_out_of_a_window_that_lacks_half_of_its_days() -> None:
    silent = pl.col("date").is_between(date(2021, 12, 10), date(2021, 12, 31)) & (pl.col("source") == "op-b")
    one, other, both = changes(_series(-0.4).filter(~silent), EVENT)
    assert np.isnan(other.log_ratio)
    assert other.days_before == 6
    assert both.log_ratio == one.log_ratio


def test_a_short_series_has_an_effect_and_no_interval() -> None:
    series = _series(-0.4).filter(pl.col("date").is_between(date(2021, 11, 1), date(2022, 3, 1)))
    (*_, both) = changes(series, EVENT)
    assert both.log_ratio == pytest.approx(-0.4, abs=0.05)
    assert both.apart == 0
    assert np.isnan(both.low)


def test_the_public_network_of_2009_became_faster_with_bandwidth_authorities() -> None:
    series = read_series([ROOT / "topologies/history/torperf-2009.csv"])
    found = changes(series, Event(date(2009, 9, 8), date(2009, 9, 17)), days=14)
    assert {one.quantity for one in found} == {"50kib", "1mib", "5mib"}
    assert all(one.log_ratio < -2 * one.placebo_sd for one in found)


TORPERF = """# a comment of Tor Metrics
date,filesize,source,server,q1,md,q3
2022-01-01,51200,op-a,public,1,2,3
2022-01-01,51200,op-a,onion,1,9,3
2022-01-01,51200,,public,1,5,3
2022-01-01,99,op-a,public,1,5,3
2022-01-02,51200,op-a,public,1,,3
"""


def test_of_tor_metrics_tables_public_servers_named_vantage_points_and_known_sizes_count(
    tmp_path: Path,
) -> None:
    (tmp_path / "torperf.csv").write_text(TORPERF)
    (tmp_path / "onionperf-latencies.csv").write_text(
        "date,source,server,low,q1,md,q3,high\n2022-01-01,op-a,public,1,2,400,5,6\n"
    )
    series = read_series([tmp_path / "torperf.csv", tmp_path / "onionperf-latencies.csv"])
    assert series.rows() == [
        (date(2022, 1, 1), "op-a", "50kib", 2.0),
        (date(2022, 1, 1), "op-a", "round_trip", 400.0),
    ]


def test_a_table_says_what_it_is_in_its_head_under_any_name(tmp_path: Path) -> None:
    head = "# URL: https://metrics.torproject.org/onionperf-latencies.csv?start=2022-01-01\n"
    (tmp_path / "may.csv").write_text(f"{head}date,source,server,md\n2022-01-01,op-a,public,400\n")
    assert read_series([tmp_path / "may.csv"])["quantity"].to_list() == ["round_trip"]


def test_an_analysis_is_a_day_of_a_vantage_point(tmp_path: Path) -> None:
    metrics = {"download_times": {"51200": [1.0, 2.0, 4.0]}, "daily_counts": {}, "circuit_rtt": [0.3]}
    file = tmp_path / "2022-04-24.op-nl7a.onionperf.analysis.json"
    file.write_text(json.dumps(metrics))
    assert sorted(read_series([file]).rows()) == [
        (date(2022, 4, 24), "op-nl7a", "50kib", 2.0),
        (date(2022, 4, 24), "op-nl7a", "round_trip", 0.3),
    ]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "onionperf-throughput.csv",
            "date,source,server,low,q1,md,q3,high\n2022-01-01,op-a,public,1,2,4,5,6\n",
        ),
        (
            "may.csv",
            "# URL: https://metrics.torproject.org/onionperf-throughput.csv?start=2022-01-01\n"
            "date,source,server,low,q1,md,q3,high\n2022-01-01,op-a,public,1,2,4,5,6\n",
        ),
        ("old.csv", "source,date,q1,md,q3\nsiv-50kb,2012-01-01,1,2,3\n"),
        ("buildtimes.csv", "date,source,position,q1,md,q3\n2022-01-01,op-a,1,1,2,3\n"),
        ("other.csv", "a,b\n1,2\n"),
        ("torperf.csv", TORPERF.replace("2022-01-01", "soon")),
        ("empty.csv", ""),
    ],
)
def test_other_tables_are_refused_in_one_line(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError) as refused:
        read_series([tmp_path / name])
    assert name in str(refused.value)
    assert "\n" not in str(refused.value)


def test_the_days_after_come_after_the_days_before() -> None:
    with pytest.raises(InputError, match="after_starts"):
        Event(date(2022, 1, 1), date(2022, 1, 1))
