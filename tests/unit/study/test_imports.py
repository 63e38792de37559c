"""Two imports compared: paired where their networks are the same, and otherwise not."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from rich.console import Console
from scipy import stats

from tests.made_tornet import clients_waiting, tornet
from torsweep.cli import main
from torsweep.errors import InputError
from torsweep.runsets.imported import Import, import_simulations
from torsweep.stats.claims.change import EVERYONE
from torsweep.stats.claims.judging import Answer
from torsweep.stats.measures.summary import MEASURE_DIFFERENCES
from torsweep.stats.streams.perf import PERF_DIFFERENCES
from torsweep.stats.verdicts import read_claims
from torsweep.study.cli import are_imports
from torsweep.study.imports import compare_imports

BASELINE = np.array([1.0, 1.5, 0.7, 1.2])
FASTER = np.array([0.80, 0.85, 0.75, 0.82])
"""Seconds in each of four networks, and how long a candidate takes as a part of them."""


def imported(folder: Path, name: str, seconds: Sequence[float], networks: Sequence[int]) -> Import:
    """Simulations whose downloads take so long from the request to the last byte, one a network."""
    folders = []
    for took_s, network in zip(seconds, networks, strict=True):
        place = folder / f"{name}-{network}"
        folders.append(tornet(place, clients_waiting(took_s), network=network, seeds=[network]))
    return import_simulations(folders, folder / name)


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def compared(one: Import, other: Import, warm_up: str = "1 min", metrics: Path | None = None) -> Path:
    """The summary of a candidate against the baseline ``other``."""
    names = (f"import:{one.folder}", f"import:{other.folder}")
    return compare_imports(*names, warm_up, metrics, Console(width=110))


def last_byte_of_50_kib(summary: Path) -> Answer:
    (claim,) = (each for each in read_claims(summary).claims if each.claim == "small")
    return claim.comparisons[1]


def measured(summary: Path, measure: str, group: str = "all") -> dict[str, Any]:
    rows = MEASURE_DIFFERENCES.read(summary).filter(measure=measure, group=group)
    return rows.row(0, named=True)


def test_the_same_networks_are_paired(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = imported(tmp_path, "vanilla", BASELINE, [1, 2, 3, 4])
    other = imported(tmp_path, "branch", BASELINE * FASTER, [1, 2, 3, 4])
    summary = compared(other, one)
    answer = last_byte_of_50_kib(summary)
    sizes = len({claim.claim for claim in read_claims(summary).claims} - {EVERYONE})
    bounds = stats.ttest_1samp(np.log(FASTER), 0).confidence_interval(1 - 0.04 / (2 * sizes))
    assert answer.interval.mean == pytest.approx(np.expm1(np.log(FASTER).mean()), rel=1e-5)
    assert (answer.interval.low, answer.interval.high) == pytest.approx(tuple(np.expm1(bounds)), rel=1e-4)
    assert (answer.shows, answer.interval.networks) == ("yes", 4)
    assert "paired on 4 networks that both have" in capsys.readouterr().out


def test_other_networks_are_independent_samples(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = imported(tmp_path, "vanilla", BASELINE, [1, 2, 3, 4])
    other = imported(tmp_path, "branch", BASELINE * FASTER, [11, 12, 13, 14])
    summary = compared(other, one)
    logs = np.log(BASELINE * FASTER), np.log(BASELINE)
    answer, test = last_byte_of_50_kib(summary), stats.ttest_ind(*logs, equal_var=False)
    bounds = test.confidence_interval(answer.interval.confidence)
    assert answer.interval.low == pytest.approx(np.expm1(bounds.low), rel=1e-4)
    assert answer.interval.high == pytest.approx(np.expm1(bounds.high), rel=1e-4)
    assert answer.shows == "unclear"
    own = test.confidence_interval(0.95)
    chosen = {"kind": "perf_50kib", "metric": "ttlb_after_command", "estimand": "median"}
    row = PERF_DIFFERENCES.read(summary).filter(**chosen).row(0, named=True)
    assert (row["relative_low"], row["relative_high"]) == pytest.approx(tuple(np.expm1(own)), rel=1e-4)
    assert row["networks"] == 8
    assert "4 against 4 networks as independent samples (Welch)" in capsys.readouterr().out


def test_networks_that_only_one_has_are_left_out_of_pairs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = imported(tmp_path, "vanilla", [1.0, 1.5, 0.7], [1, 2, 3])
    other = imported(tmp_path, "branch", [0.9, 1.3], [2, 3])
    answer = last_byte_of_50_kib(compared(other, one))
    assert "paired on 2 networks that both have; 1 that only one of them has" in capsys.readouterr().out
    change = np.expm1(np.log([0.9 / 1.5, 1.3 / 0.7]).mean())
    assert answer.interval.mean == pytest.approx(change, rel=1e-5)


def test_simulations_of_one_network_count_as_one(tmp_path: Path) -> None:
    """Their downloads are put together, and rates are over the seconds of both."""
    one = imported(tmp_path, "vanilla", [1.0, 1.2], [1, 2])
    again = [tmp_path / "vanilla-1", tmp_path / "vanilla-2"]
    again.append(tornet(tmp_path / "more", clients_waiting(1.01), network=1, seeds=[5]))
    other = import_simulations(again, tmp_path / "branch")
    summary = compared(other, one)
    assert last_byte_of_50_kib(summary).interval.networks == 2
    assert measured(summary, "relay_traffic")["change"] == pytest.approx(0, abs=0.05)
    assert measured(summary, "relay_traffic")["networks"] == 2


def test_a_warm_up_that_leaves_nothing_and_two_imports_of_one_name(tmp_path: Path) -> None:
    one, other = (imported(tmp_path, name, [1.0], [1]) for name in ("vanilla", "branch"))
    with pytest.raises(InputError, match=r"--warm-up: leaves no .* import branch, got '20 min'"):
        compared(one, other, "20 min")
    with pytest.raises(InputError, match="is the name of both imports"):
        compared(one, one)


def test_the_folder_of_a_comparison(tmp_path: Path) -> None:
    metrics = {"download_times": {"51200": [1.0, 2.0]}, "daily_counts": {}}
    (tmp_path / "tor_metrics.json").write_text(json.dumps(metrics))
    one = imported(tmp_path, "vanilla", [1.0, 1.5], [1, 2])
    other = imported(tmp_path, "branch", [1.1, 1.5], [1, 2])
    summary = compared(other, one, metrics=tmp_path / "tor_metrics.json")
    assert summary == Path("results/summaries/imports/branch_vs_vanilla")
    names = {path.name for path in summary.iterdir()}
    assert {"perf_differences.csv", "public.csv", "perf_medians.csv", "summary.md", "plan.json"} <= names
    drawn = {path.name for path in Path("results/figures/imports/branch_vs_vanilla").glob("*.png")}
    assert drawn == {"perf_ttfb_cdf.png", "perf_ttlb_cdf.png"}
    outcomes = pl.read_csv(summary / "perf_outcomes.csv")
    assert outcomes["downloads"].to_list() == [4, 4, 2, 2, 2, 2]


@pytest.mark.parametrize("option", [["--dry-run"], ["--torrc", "Nonsense 1"], ["--networks", "x"]])
def test_options_of_runs_are_refused(option: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["compare", "--candidate", "import:a", "--baseline", "import:b", *option])
    assert f"{option[0]}: is not for imports" in capsys.readouterr().err
    assert not Path("results").exists()


def test_both_sides_are_imports() -> None:
    assert are_imports("import:a", "import:b")
    assert not are_imports("../tor@x", None)
    with pytest.raises(InputError, match="--baseline: the other side is an import"):
        are_imports("import:a", "debian")
