"""What common paths gain, and how often intervals of a self-comparison cover: the answers are known."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats

from bench import pairing, self_comparison
from bench.run_medians import MEASURES, medians_of_run
from tests.synthetic import write_run
from torsweep.engines.prepare import build_run, run_settings
from torsweep.engines.run_spec import read_run
from torsweep.engines.table_schema import STREAMS
from torsweep.network.model import read_network
from torsweep.stats.inference.intervals import t_interval


def _medians(deviation: float, networks: int = 40, seed: int = 1, **changes: object) -> pl.DataFrame:
    """Medians of three runs a network: networks differ much, runs on one by ``deviation``."""
    draws = np.random.default_rng(seed)
    rows = []
    for number in range(networks):
        place = draws.normal(2, 1)
        for level in ("stock", "again", "once_more"):
            median_s = float(np.exp(place + draws.normal(0, deviation)))
            rows.append({"metric": "ttfb", "kind": "web", "tor": level, "seed": number, "median_s": median_s})
    return pl.DataFrame(rows).with_columns(**{name: pl.lit(value) for name, value in changes.items()})


def test_the_ratio_of_spreads_is_found_whatever_networks_do() -> None:
    (row,) = pairing.rows(_medians(0.2), _medians(0.1, seed=2))
    assert (row["kind"], row["metric"], row["free_networks"]) == ("web", "ttfb", 40)
    assert row["free"] == pytest.approx(0.2 * np.sqrt(2), rel=0.2)
    assert row["ratio_low"] < 0.5 < row["ratio_high"]
    assert row["free_degrees"] == row["paths_degrees"] == 80
    bounds = stats.f.ppf([0.025, 0.975], 80, 80)
    assert row["ratio_low"] == pytest.approx(row["ratio"] / np.sqrt(bounds[1]))
    assert row["ratio_high"] == pytest.approx(row["ratio"] / np.sqrt(bounds[0]))


def test_of_two_runs_a_network_the_spread_is_that_of_their_logarithm() -> None:
    two = _medians(0.3).filter(pl.col("tor") != "once_more")
    sides = [two.filter(pl.col("tor") == level)["median_s"].to_numpy() for level in ("stock", "again")]
    logarithms = np.log(sides[1] / sides[0])
    (row,) = pairing.rows(two, two)
    assert row["free"] == pytest.approx(np.sqrt((logarithms**2).mean()))
    assert (row["free_degrees"], row["ratio"]) == (40, pytest.approx(1))


def test_the_half_width_is_that_of_an_interval_over_eight_networks() -> None:
    values = np.array([1.0, -1.0] * 4) * np.sqrt(7 / 8)
    interval = t_interval(values)
    spread = pairing.Spread(float(values.std(ddof=1)), 7, 8)
    assert spread.half_width == pytest.approx(np.expm1(interval.high))


def test_a_network_without_a_median_is_left_out() -> None:
    lacking = _medians(0.1).with_columns(
        pl.when((pl.col("seed") == 3) & (pl.col("tor") == "again"))
        .then(None)
        .otherwise(pl.col("median_s"))
        .alias("median_s")
    )
    (row,) = pairing.rows(_medians(0.1), lacking)
    assert (row["free_networks"], row["paths_networks"]) == (40, 39)
    assert (row["free_degrees"], row["paths_degrees"]) == (80, 78)


def test_a_metric_that_no_run_reached_has_no_row() -> None:
    assert not pairing.rows(_medians(0.1), _medians(0.1).with_columns(median_s=pl.lit(None, pl.Float64)))


def test_the_table_is_written_from_two_summaries(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, deviation in (("free", 0.2), ("paths", 0.1)):
        (tmp_path / name).mkdir()
        _medians(deviation).write_csv(tmp_path / name / "medians.csv")
    out = tmp_path / "pairing.csv"
    pairing.main([str(tmp_path / "free"), str(tmp_path / "paths"), "--out", str(out)])
    assert out.read_text().startswith("kind,metric,free,free_networks,")
    assert capsys.readouterr().out == out.read_text()


def test_intervals_of_normal_values_cover_as_they_should() -> None:
    values = np.random.default_rng(3).normal(size=(800, 3))
    found = self_comparison.covers(values, 8)
    assert found["error"] == pytest.approx(np.sqrt(0.95 * 0.05 / 100))
    assert all(abs(share - 0.95) < 0.02 for share in found["cover"])
    assert abs(found["any"] - (1 - 0.95**3)) < 0.04
    assert found["any_together"] < 0.1 < found["any"]
    assert found["half"][0] == pytest.approx(0.8, abs=0.1)
    assert self_comparison.spread(values[:, 0] + 3)[0] == pytest.approx(np.sqrt(10), rel=0.05)


def test_networks_without_a_median_make_no_groups_for_that_measure() -> None:
    values = np.random.default_rng(4).normal(size=(32, 2))
    values[:29, 1] = np.nan
    found = self_comparison.covers(values, 4)
    assert found["cover"][0] > 0.85
    assert found["cover"][1] is found["half"][1] is None
    assert self_comparison.percent(None) == "–"


def test_the_part_that_is_left_is_of_networks_that_both_have() -> None:
    own = np.random.default_rng(6).normal(size=200)
    common = own[::-1] / 4
    common[3] = np.nan
    part, low, high = self_comparison.narrower(common, own)
    assert low < part < high
    assert part == pytest.approx(0.25, rel=0.1)


def test_kinds_of_chance_change_what_they_say(network: Path) -> None:
    asked = self_comparison.experiment()
    settings = run_settings(asked, "cellsim", "2012", asked.variant(""))
    spec = build_run(settings, asked.variant(""), network, network / "run")
    sampled, _ = read_network(network)
    made = dict(self_comparison.chances(spec, sampled))
    changed = {
        name: {key for key, value in dict(run).items() if value != getattr(spec, key)}
        for name, run in made.items()
    }
    assert changed == {
        "itself": set(),
        "timing": {"client_start_window_ns"},
        "paths": {"client_start_window_ns", "paths"},
        "traffic": {"client_start_window_ns", "paths", "seed"},
    }


def test_the_page_names_each_measure_under_each_kind_of_chance() -> None:
    draws = np.random.default_rng(5)
    rows = [
        {
            "network": "ci",
            "seed": seed,
            "chance": chance,
            **dict.fromkeys(MEASURES, float(np.exp(draws.normal()))),
        }
        for seed in range(32)
        for chance in ("itself", *self_comparison.CHANCES)
    ]
    record = {"ci": self_comparison.measured(pl.DataFrame(rows))}
    page = self_comparison.page(json.loads(json.dumps(record)))
    assert "## `ci`, 32 networks" in page
    assert all(f"| {chance} | web, first byte | " in page for chance in self_comparison.CHANCES)
    assert "| bulk, first byte | 1.000 [" not in page


def test_the_median_of_a_run_is_of_the_downloads_after_its_warm_up(tmp_path: Path) -> None:
    directory = write_run(tmp_path, {"refill_interval": "10ms", "circuit_policy": "ewma"}, 1)
    warm_up_us = read_run(directory).warm_up_ns // 1_000
    streams = pl.read_parquet(directory / STREAMS.file)
    web = streams.filter(pl.col("kind") == "web", pl.col("start_us") >= warm_up_us)
    assert 0 < web.height < streams.filter(pl.col("kind") == "web").height
    found = medians_of_run(directory)
    assert found.keys() == MEASURES.keys()
    assert found["web_ttfb"] == pytest.approx(web["first_byte_us"].median() / 1e6, rel=0.1)
