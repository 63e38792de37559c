"""Responses to knobs with ranges, against surfaces that the times were made from; and their figures."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
import yaml

from tests.synthetic import Size, gathered, write_run
from torsweep.config.experiment import load_experiment
from torsweep.config.plan import KnobRange, range_settings
from torsweep.pipeline.figures import draw_figure
from torsweep.stats.inference.intervals import t_interval
from torsweep.stats.responses import BEST_SETTING, EFFECTS, RESPONSES
from torsweep.stats.statistic import Analysis
from torsweep.stats.streams.medians import quantiles_of_runs
from torsweep.stats.summarize import summarize, write_summary

RANGES = {
    "refill_interval": KnobRange.model_validate({"from": "10ms", "to": "1000ms", "scale": "log"}),
    "load": KnobRange.model_validate({"from": "0.5", "to": "1.5"}),
}
BASELINE = {"refill_interval": "100ms", "load": "0.5"}
NETWORKS = 6


def made_from(slopes: np.ndarray, points: int = 16) -> Analysis:
    """Log times of 1 + slope · y + 0.5 (x − 0.4)² + 0.1 x y, x for the interval and y for load."""
    rows = []
    for setting in range_settings(RANGES, points, BASELINE):
        x, y = (RANGES[knob].place_of(level) for knob, level in setting.items())
        for seed, slope in enumerate(slopes):
            log = 1 + slope * y + 0.5 * (x - 0.4) ** 2 + 0.1 * x * y
            rows.append(
                {"metric": "ttfb", "kind": "web", **setting, "seed": seed, "median_s": float(np.exp(log))}
            )
    frame = pl.DataFrame(rows)
    knobs = {knob: frame[knob].unique().to_list() for knob in RANGES}
    provenance = SimpleNamespace(knobs=knobs, seeds=list(range(len(slopes))), given_networks=0)
    tables = SimpleNamespace(provenance=provenance, kinds=("web", "bulk"))
    known = {quantiles_of_runs: frame}
    return Analysis(tables, BASELINE, 0.05, ranges=RANGES, known=known)  # type: ignore[arg-type]


def test_effects_and_the_best_setting_are_those_of_the_surface() -> None:
    slopes = np.array([0.1, 0.2, 0.3, 0.25, 0.15, 0.2])
    analysis = made_from(slopes)
    effects = EFFECTS.frame(analysis)
    assert effects is not None
    by_name = {(row["effect"], row["knob"]): row for row in effects.iter_rows(named=True)}
    of_load, expected = by_name["main", "load"], t_interval(2 * slopes)
    assert np.allclose(np.log([of_load["ratio"], of_load["ratio_low"]]), [expected.mean, expected.low])
    assert np.isclose(np.log(by_name["main", "refill_interval"]["ratio"]), 2 * -0.4)
    assert np.isclose(np.log(by_name["curvature", "refill_interval"]["ratio"]), -0.5)
    assert np.isclose(np.log(by_name["interaction", "refill_interval"]["ratio"]), 4 * 0.1)
    assert effects["unexplained"].max() < 1e-9
    best = BEST_SETTING.frame(analysis)
    assert best is not None
    # With load at its least, y = −1, the parabola's minimum is at x = 0.5: 10 ms × 10^1.5.
    assert best["best"].to_list() == ["316ms", "0.5"] and best["best_low"].to_list() == ["316ms", "0.5"]
    assert np.allclose(np.log(best["ratio"]), 0.5 * (0.1**2 - 0.4**2) - 0.1 * 0.5)


def test_effects_of_few_networks_have_no_intervals() -> None:
    effects = EFFECTS.frame(made_from(np.array([0.1, 0.3, 0.2])))
    assert effects is not None
    of_load = effects.row(by_predicate=(pl.col("effect") == "main") & (pl.col("knob") == "load"), named=True)
    ratios = [of_load[end] for end in ("ratio", "ratio_low", "ratio_high")]
    assert np.allclose(np.log(ratios), [0.4, 0.2, 0.6])


def test_a_curve_goes_through_the_settings_with_the_others_at_the_baseline() -> None:
    points = RESPONSES.frame(made_from(np.full(NETWORKS, 0.2) + np.linspace(-0.1, 0.1, NETWORKS)))
    assert points is not None
    of_load = points.filter(knob="load")
    x = RANGES["load"].place_of
    for row in of_load.filter(what="setting").iter_rows(named=True):
        assert np.isclose(np.log(row["ratio"]), 0.2 * (x(f"{row['number']:.4f}") - x(BASELINE["load"])))
    curve = of_load.filter(what="curve")
    assert (curve["ratio_low"] <= curve["ratio"]).all() and (curve["ratio"] <= curve["ratio_high"]).all()
    # The slopes of networks differ, and all of their curves go through the baseline.
    assert (
        curve["ratio_low"][0]
        == curve["ratio_high"][0]
        == 1
        < curve["ratio_low"][-1]
        < curve["ratio_high"][-1]
    )


def test_too_few_settings_have_a_simpler_surface_or_none() -> None:
    few = EFFECTS.frame(made_from(np.full(NETWORKS, 0.2), points=4))
    assert few is not None and set(few["effect"]) == {"main", "interaction"}
    assert EFFECTS.frame(made_from(np.full(NETWORKS, 0.2), points=2)) is None


@pytest.mark.parametrize("seeds", [(1,), (1, 2)])
def test_a_plan_of_ranges_has_its_tables_and_figures(tmp_path: Path, seeds: tuple[int, ...]) -> None:
    document = yaml.safe_load(Path("experiments/refill_sweep/experiment.yaml").read_text(encoding="utf-8"))
    ranged = {"refill_interval": {"from": "10 ms", "to": "1 s", "scale": "log"}, "circuit_policy": ["ewma"]}
    file = tmp_path / "refill_sweep" / "experiment.yaml"
    file.parent.mkdir()
    for key in ("sensitivities", "claims"):
        document.pop(key, None)
    document |= {"knobs": ranged, "points": 4, "replicates": len(seeds), "figures": ["responses", "effects"]}
    document["baseline"] = {"refill_interval": "100 ms", "circuit_policy": "ewma"}
    file.write_text(yaml.safe_dump(document), encoding="utf-8")
    experiment = load_experiment(file)
    small = Size(web_clients=10, bulk_clients=2, relays=2, warm_up_s=10, duration_s=70)
    runs = [
        write_run(tmp_path, dict(one.levels), seed, small)
        for one in experiment.plan().variants
        for seed in seeds
    ]
    summary = summarize(gathered(runs, tmp_path, "paper"), experiment)
    write_summary(summary, tmp_path / "summaries")
    assert "The best setting" in (tmp_path / "summaries/summary.json").read_text(encoding="utf-8")
    for name in ("responses", "effects"):
        draw_figure(name, tmp_path / "summaries", tmp_path / "figures" / name)
        assert (tmp_path / "figures" / f"{name}.png").is_file()
