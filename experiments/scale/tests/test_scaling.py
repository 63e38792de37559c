"""Contrasts over scales of the network, against other ways to work them out; a plan whose scales have numbers
of networks of their own, from its runs to its figures."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure
from scipy import stats

from experiments.scale import scaling
from plotting.drawing.palette import style
from plotting.drawing.source import Source
from tests.analyses import analysis_of
from tests.synthetic import Size, write_run
from torsweep.config.experiment import Experiment, load_experiment
from torsweep.errors import InputError
from torsweep.pipeline.figures import draw_figure, figures
from torsweep.runsets.collect import collect
from torsweep.runsets.plan_tables import PlanTables
from torsweep.stats.inference.intervals import t_interval, welch_interval
from torsweep.stats.statistic import Analysis
from torsweep.stats.summarize import Summary, summarize, write_summary

EXPERIMENT = Path(__file__).parents[1] / "experiment.yaml"
SMALL = Size(web_clients=10, bulk_clients=2, relays=2, warm_up_s=10, duration_s=70)
NETWORKS = {"0.003": 5, "0.01": 4, "0.05": 3}
SPREADS = ("spread", "spread_low", "spread_high", "spread_by_root")
KNOBS = {"circuit_policy": ["ewma", "round_robin"], "scale": ["0.01", "0.1"]}


def _variants(scale: str) -> list[dict[str, str]]:
    return [{"circuit_policy": policy, "scale": scale} for policy in KNOBS["circuit_policy"]]


def _analysis(log_ratios: dict[str, np.ndarray]) -> Analysis:
    rows = [
        {"kind": "web", **variant, "seed": seed, "metric": "ttfb"}
        | dict.fromkeys(scaling.SCALE_QUANTILES, float(time_s))
        for scale, logs in log_ratios.items()
        for variant, times_s in zip(
            _variants(scale), (np.full(len(logs), 2.0), 2 * np.exp(logs)), strict=True
        )
        for seed, time_s in enumerate(times_s)
    ]
    contrast = ("circuit_policy", "", "ewma", "round_robin")
    known: dict[Callable[[Analysis], Any], Any] = {
        scaling.quantiles_by_run: pl.DataFrame(rows),
        scaling._own_contrasts: {contrast: [tuple(_variants(scale)) for scale in log_ratios]},
    }
    return analysis_of(KNOBS, _variants("0.1")[0], known)


@pytest.fixture(scope="module")
def log_ratios() -> dict[str, np.ndarray]:
    random = np.random.default_rng(7)
    return {"0.01": random.normal(0.5, 0.3, 40), "0.1": random.normal(0.4, 0.1, 12)}


def test_effect_and_spread_are_those_of_the_networks_of_a_scale(log_ratios):
    rows = {row["scale"]: row for row in _contrasts(log_ratios) if row["estimand"] == "p90"}
    assert list(rows) == ["0.01", "0.1"]
    for scale, values in log_ratios.items():
        row, interval = rows[scale], t_interval(values)
        assert row["networks"] == len(values)
        assert np.log([row["ratio"], row["ratio_low"], row["ratio_high"]]) == pytest.approx(
            [interval.mean, interval.low, interval.high]
        )
        freedom, spread = len(values) - 1, np.std(values, ddof=1)
        # The chance that a sample's variance is so far from the true one, at each bound.
        below = [stats.chi2.cdf(freedom * (spread / row[end]) ** 2, freedom) for end in _ends("spread")]
        assert [row["spread"], *below] == pytest.approx([spread, 0.975, 0.025])
    fallen = rows["0.01"]["spread_by_root"] / rows["0.1"]["spread_by_root"]
    assert fallen == pytest.approx(10**0.5)


def _contrasts(log_ratios: dict[str, np.ndarray]) -> list[dict[str, Any]]:
    return scaling.contrasts(_analysis(log_ratios))


def _ends(name: str) -> list[str]:
    return [f"{name}_low", f"{name}_high"]


@pytest.mark.parametrize("spread", [0.01, 0.1, 0.4])
def test_so_many_networks_are_the_fewest(spread):
    networks = scaling.networks_for(spread, 0.05)
    assert networks is not None

    def half(number: int) -> float:
        return float(stats.t.ppf(0.975, number - 1)) * spread / number**0.5

    assert half(networks) <= np.log(1.05)
    assert networks == 2 or half(networks - 1) > np.log(1.05)


@pytest.mark.parametrize("spread", [0.0, np.nan])
def test_without_a_spread_no_number_of_networks_is_the_fewest(spread):
    assert scaling.networks_for(spread, 0.05) is None


def test_the_trend_of_two_scales_is_their_difference(log_ratios):
    small, large = log_ratios["0.01"], log_ratios["0.1"]
    slope, difference = (
        scaling.slope_of_means(np.array([-2.0, -1.0]), [small, large]),
        welch_interval([small, large], [-1, 1]),
    )
    assert (slope.mean, slope.low, slope.high) == pytest.approx(
        (difference.mean, difference.low, difference.high)
    )


def test_the_exponent_of_spreads_that_fall_with_the_root_is_a_half():
    unit = np.array([-1.0, 0.0, 1.0])
    scales = np.array([0.003, 0.01, 0.1])
    found = scaling.slope_of_spreads(np.log10(scales), [unit / scale**0.5 for scale in scales])
    assert found.mean == pytest.approx(-0.5)
    assert found.low < -0.5 < found.high


def test_the_interval_of_the_exponent_covers_as_often_as_it_says():
    random, scales = np.random.default_rng(11), np.log10([0.003, 0.01, 0.03, 0.1])
    hits = 0
    for _ in range(400):
        groups = [
            random.normal(0, scale**-0.5, size)
            for scale, size in zip(10**scales, (40, 20, 12, 8), strict=True)
        ]
        found = scaling.slope_of_spreads(scales, groups)
        hits += found.low < -0.5 < found.high
    assert 0.9 < hits / 400 < 0.985


def test_a_quantile_that_a_network_never_reached_has_no_effect():
    rows = _contrasts({"0.01": np.array([0.1, np.nan, 0.3]), "0.1": np.array([0.1, 0.2])})
    assert np.isnan(rows[0]["ratio"]) and np.isnan(rows[0]["spread"])
    assert rows[0]["networks_for_margin"] is None


@functools.cache
def _experiment() -> Experiment:
    overrides = {
        "network": "tenfold",
        "warm_up": "10 s",
        "measured": "60 s",
        "replicates": {"scale": NETWORKS},
    }
    levels = {"knobs.scale": list(NETWORKS), "baseline.scale": "0.05", "sensitivities": {}}
    levels["knobs.refill_interval"] = ["1000ms", "10ms"]
    return load_experiment(EXPERIMENT, {**overrides, **levels})


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The runs of a plan with more networks at small scales than at large ones."""
    folder, experiment = tmp_path_factory.mktemp("scales"), _experiment()
    return [
        write_run(folder / variant.network_levels["scale"], dict(variant.levels), seed, SMALL, "scale")
        for variant in experiment.plan().variants
        for seed in experiment.own_seeds(variant)
    ]


@pytest.fixture(scope="module")
def summary(runs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Summary:
    folder = tmp_path_factory.mktemp("tables")
    collect(runs, folder, network="tenfold", replicates=_experiment().replicates)
    return summarize(PlanTables.open(folder), _experiment())


def test_each_scale_has_its_own_number_of_networks(summary):
    counted = summary["scale_contrasts"].group_by("scale").agg(pl.col("networks").unique())
    assert {scale: list(number) for scale, number in counted.iter_rows()} == {
        scale: [number] for scale, number in NETWORKS.items()
    }
    of_claims = [answer.interval.networks for verdict in summary.verdicts for answer in verdict.comparisons]
    # Two claims, each by the median and by the mean.
    assert of_claims == [*NETWORKS.values()] * 4
    assert not any(np.isnan(a.interval.mean) for verdict in summary.verdicts for a in verdict.comparisons)
    # Of the two contrasts at one scale, the refill interval's is the one that the synthetic runs have.
    assert {verdict.claim: verdict.verdict for verdict in summary.verdicts}["refill_last_byte"] == "holds"


def test_a_run_that_is_missing_at_one_scale_is_named(runs, tmp_path):
    with pytest.raises(InputError) as refusal:
        some = [run for run in runs if run != runs[1]]
        collect(some, tmp_path / "tables", network="tenfold", replicates=_experiment().replicates)
    assert "a run is missing" in str(refusal.value) and "seed 2" in str(refusal.value)


def test_scales_with_the_same_networks_have_all_of_them(runs, tmp_path):
    with pytest.raises(InputError, match=r"a run is missing.*seed 5"):
        collect(runs, tmp_path / "tables", network="tenfold", replicates=5)


def test_figures_and_rows_for_documents(summary, tmp_path):
    write_summary(summary, tmp_path / "summary")
    text = (tmp_path / "summary/summary.json").read_text()
    assert "5 networks (seeds 1–5) at scale 0.003, 4 networks (seeds 1–4) at scale 0.01" in text
    for name in ("scale_effect", "scale_spread"):
        draw_figure(name, tmp_path / "summary", tmp_path / "figures" / name)
        points = pl.read_csv(tmp_path / "figures" / f"{name}.csv")
        assert set(points["networks"]) == set(NETWORKS.values())
    assert "at scale 0.05" in Source(tmp_path / "summary").caption()


@pytest.mark.parametrize("spread", [None, 0.0])
def test_without_a_spread_effects_are_drawn_and_the_figure_of_spreads_says_so(summary, tmp_path, spread):
    alike = dict.fromkeys(("ratio", *_ends("ratio")), 1.1) | dict.fromkeys(SPREADS, spread)
    source = _drawn_from(
        summary, tmp_path, *(pl.lit(value, pl.Float64).alias(name) for name, value in alike.items())
    )
    with style():
        effects, points, _ = figures("scale")["scale_effect"].draw(source)
        assert len(points) and _notes(effects) == []
        spreads, points, _ = figures("scale")["scale_spread"].draw(source)
        assert points.is_empty() and not spreads.axes
        assert "No spread" in [text.get_text() for text in spreads.texts]
        spreads.savefig(tmp_path / "spreads.png")


def test_where_one_scale_has_a_spread_it_is_drawn(summary, tmp_path):
    spread = pl.when(pl.col("scale").cast(pl.String) == "0.003").then(0.2).otherwise(0.0)
    source = _drawn_from(summary, tmp_path, *(spread.alias(name) for name in SPREADS))
    with style():
        spreads, points, _ = figures("scale")["scale_spread"].draw(source)
    assert set(points["size"]) == {0.003} and _notes(spreads) == []


def test_a_time_that_no_network_has_is_in_the_caption_and_has_no_panel(summary, tmp_path):
    slowest = pl.col("estimand") == "p90"
    ratios = (pl.when(~slowest).then(column).alias(column) for column in ("ratio", *_ends("ratio")))
    with style():
        effects, _, caption = figures("scale")["scale_effect"].draw(_drawn_from(summary, tmp_path, *ratios))
    assert "Not reached: last byte, 90th percentile" in caption
    assert all("90th" not in axis.get_ylabel() for axis in effects.axes)
    assert len({axis.get_ylim() for axis in effects.axes}) == 1, "panels have one range"


def _drawn_from(summary: Summary, folder: Path, *columns: pl.Expr) -> Source:
    """The summary with other ``columns`` of contrasts, as written to ``folder``."""
    contrasts = summary["scale_contrasts"].with_columns(*columns)
    write_summary(replace(summary, frames={**summary.frames, "scale_contrasts": contrasts}), folder / "other")
    return Source(folder / "other")


def _notes(figure: Figure) -> list[str]:
    return [text.get_text() for axis in figure.axes for text in axis.texts]
