"""The score of predictions, from made effects."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from bench.backtest import (
    PUBLIC_QUANTITIES,
    QUANTITIES,
    ROOT,
    badly_predicted,
    effects,
    public_effects,
    score,
    wide,
)
from bench.predictions import PREDICTIONS, predicted_on, read_predictions
from torsweep.config.experiment import load_experiment
from torsweep.config.variant import Variant
from torsweep.errors import InputError

ROWS = read_predictions(ROOT / PREDICTIONS)
DATES = {name: ["2026-11-28 14:13"] * (1 + len(row.runs)) for name, row in ROWS.items()}


def test_each_row_names_variants_of_its_plan_and_networks_that_are_there() -> None:
    for row in ROWS.values():
        assert set(row.public) <= set(PUBLIC_QUANTITIES)
        for runs in row.runs:
            assert set(runs.predicted) <= set(QUANTITIES)
            plan = load_experiment(ROOT / "experiments" / runs.sides.experiment / "experiment.yaml").plan(
                runs.sides.plan
            )
            for side in ("before", "after"):
                assert Variant.parse(getattr(runs.sides, side)) in plan.variants
                assert (ROOT / f"configs/networks/{runs.network_of(side)}.yaml").is_file()


def test_a_prediction_has_the_day_on_which_it_was_written_not_the_one_of_a_later_change(
    tmp_path: Path,
) -> None:
    file = tmp_path / "predictions.yaml"
    public, runs = "    public: {1mib: [0, 1]}\n", "    runs:\n        predicted: {1mib: [0, 1]}\n"
    text = f"rows:\n  one:\n    change: a\n{public}{runs}"

    def commit(content: str, day: str) -> None:
        file.write_text(content)
        names = {"GIT_AUTHOR_NAME": "a", "GIT_COMMITTER_NAME": "a", "GIT_AUTHOR_EMAIL": "a", "EMAIL": "a@b"}
        dates = {"GIT_AUTHOR_DATE": f"{day}T12:00:00Z", "GIT_COMMITTER_DATE": "2026-01-09T12:00:00Z"}
        for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "-"]):
            subprocess.run(["git", *command], cwd=tmp_path, check=True, env={**os.environ, **names, **dates})

    commit(text, "2026-01-01")
    commit(
        text.replace("change: a", "change: b").replace("public: {1mib: [0, 1]}", "public: {1mib: [0, 2]}"),
        "2026-01-05",
    )
    assert predicted_on(file) == {"one": ["2026-01-05 12:00", "2026-01-01 12:00"]}


def _results(tree: Path, web_p90_s: float | None = 9.0) -> None:
    """Summaries of KIST's interval on two networks: 5 MiB take a fifth less, and all else is the same."""
    folder = tree / "summaries/backtest/shadow/2019/backtest_small/main"
    folder.mkdir(parents=True)
    levels = [("kist_10ms", 10.0), ("kist_2ms", 8.0)]
    perf = [
        {
            "metric": metric,
            "kind": kind,
            "scheduler": scheduler,
            "congestion": "fixed",
            "seed": seed,
            "median_s": time,
        }
        for scheduler, slow in levels
        for seed in (1, 2)
        for metric in ("ttlb", "ttfb_after_command")
        for kind in ("perf_50kib", "perf_1mib", "perf_5mib")
        for time in [slow * seed if (metric, kind) == ("ttlb", "perf_5mib") else 1.0 * seed]
    ]
    web = [
        {
            "metric": "ttlb",
            "kind": "web",
            "scheduler": scheduler,
            "congestion": "fixed",
            "seed": seed,
            "mean_s": 5.0,
            "p90_s": web_p90_s,
        }
        for scheduler, _ in levels
        for seed in (1, 2)
    ]
    stalled = [
        {
            "measure": "clients_stalled",
            "group": "web",
            "scheduler": scheduler,
            "congestion": "fixed",
            "mean": slow / 100,
        }
        for scheduler, slow in levels
    ]
    tables: dict[str, list[dict[str, Any]]] = {"perf_medians": perf, "medians": web, "measures": stalled}
    for name, rows in tables.items():
        pl.DataFrame(rows).write_csv(folder / f"{name}.csv")


def _effects(tmp_path: Path) -> list[dict[str, Any]]:
    _results(tmp_path)
    return effects(ROWS, [tmp_path], DATES)


def test_effects_are_log_ratios_over_networks_and_points(tmp_path: Path) -> None:
    found = {one["quantity"]: one for one in _effects(tmp_path)}
    assert {one["row"] for one in found.values()} == {"kist_interval"}
    assert found["5mib"]["ratio"] == pytest.approx(-0.2231, abs=1e-4)
    assert found["5mib"]["inside"] == "no", "predicted was no less than -0.20"
    assert found["50kib"]["ratio"] == 0
    assert found["no_progress"]["ratio"] == pytest.approx(-2)
    (line,) = wide(found.values())
    assert line["outside"] == "5 MiB"
    assert line["5mib"].startswith("−0.22")


def test_web_users_have_no_mean_where_a_tenth_of_their_downloads_did_not_end(tmp_path: Path) -> None:
    _results(tmp_path, web_p90_s=None)
    found = {one["quantity"]: one["ratio"] for one in effects(ROWS, [tmp_path], DATES)}
    assert (found["web_mean"], found["web_p90"], found["50kib"]) == ("", "", 0)


def test_a_statement_is_graded_by_sign_and_what_waits_says_so(tmp_path: Path) -> None:
    graded = {
        (one["row"], one.get("quantity", "")): one for one in score(ROWS, _effects(tmp_path), [], DATES)
    }
    assert graded["kist_interval", "5 MiB"]["real_sign"] == "right, not shown"
    assert graded["kist_interval", "5 MiB"]["known"] == "a statement"
    assert "real_error" not in graded["kist_interval", "5 MiB"]
    assert graded["guards", ""]["known"] == "predicted on 2026-11-28 14:13, outcome not looked at"


@pytest.mark.parametrize(
    ("public", "low", "high", "sign", "covers"),
    [
        (-0.3, -0.4, -0.1, "right", "yes"),
        (0.3, -0.4, -0.1, "wrong", "no"),
        (-0.05, -0.4, -0.1, "not judged", "no"),
    ],
)
def test_a_measured_outcome_is_graded_where_it_exceeds_two_sd(
    public: float, low: float, high: float, sign: str, covers: str
) -> None:
    head = {"row": "congestion_control", "quantity": "5mib"}
    run = {**head, "engine": "shadow", "predicted_on": "x", "ratio": -0.25, "low": low, "high": high}
    seen = {**head, "source": "all", "ratio": public, "low": "", "high": "", "sd": 0.06}
    (graded,) = [one for one in score(ROWS, [run], [seen], DATES) if one.get("known") == "measured"]
    assert (graded["real_sign"], graded["real_covers"]) == (sign, covers)
    assert graded["public_order"] == "", "of one size there is no order"
    told = [one["option"] for one in badly_predicted(ROWS, [graded])]
    assert told == (["cc_alg"] if sign == "wrong" else [])
    assert graded["real_error"] == pytest.approx(abs(public + 0.25))
    assert graded["no_change_error"] == pytest.approx(abs(public))


def test_of_public_files_rows_are_filled_whose_windows_they_cover() -> None:
    found = public_effects(ROWS, [ROOT / "topologies/history/torperf-2009.csv"])
    assert {one["row"] for one in found} == {"bandwidth_authorities"}


def test_a_wrong_key_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "predictions.yaml").write_text("rows:\n  one: {changed: a}\n")
    with pytest.raises(InputError, match="changed"):
        read_predictions(tmp_path / "predictions.yaml")


def test_the_order_across_sizes_is_from_the_greatest_gain_to_the_greatest_loss() -> None:
    head = {"row": "congestion_control", "low": "", "high": "", "sd": 0.1}
    sizes = {"50kib": 0.0, "1mib": -0.2, "5mib": -0.1}
    seen = [{**head, "source": "all", "quantity": size, "ratio": ratio} for size, ratio in sizes.items()]
    run = [
        {**head, "engine": "cellsim", "predicted_on": "x", "quantity": size, "ratio": -ratio - 0.1}
        for size, ratio in sizes.items()
    ]
    first, *_ = [one for one in score(ROWS, run, seen, DATES) if one.get("known") == "measured"]
    assert first["public_order"] == "1 MiB, 5 MiB, 50 KiB"
    assert first["model_order"] == "50 KiB, 5 MiB, 1 MiB"
    assert first["real_order"] == ""
