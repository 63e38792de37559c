"""Two imports compared: paired where their networks are the same, and otherwise not."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from rich.console import Console
from scipy import stats

from tests.made_tornet import Circuit, Download, Host, clients_waiting, tornet
from torsweep.errors import InputError
from torsweep.runsets.imported import Import, import_simulations
from torsweep.study.cli import are_imports
from torsweep.study.imports import ImportsSummary, compare_imports, print_imports

FASTER = np.array([0.80, 0.85, 0.75, 0.82])
"""How long a candidate takes in each of four networks, as a part of the baseline."""


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


def compared(one: Import, other: Import, warm_up: str, metrics: Path | None = None) -> ImportsSummary:
    """The baseline, then the candidate."""
    return compare_imports(f"import:{other.folder}", f"import:{one.folder}", warm_up, metrics)


def found(summary: ImportsSummary, measure: str) -> dict[str, object]:
    (row,) = summary.changes.filter(measure=measure).iter_rows(named=True)
    return row


def test_the_same_networks_are_paired(tmp_path: Path) -> None:
    baseline = np.array([1.0, 1.5, 0.7, 1.2])
    one = imported(tmp_path, "vanilla", baseline, [1, 2, 3, 4])
    other = imported(tmp_path, "branch", baseline * FASTER, [1, 2, 3, 4])
    comparison = compared(one, other, "1 min")
    assert comparison.pairing == "paired on 4 networks that both have"
    row = found(comparison, "50 KiB, last byte")
    bounds = stats.ttest_1samp(np.log(FASTER), 0).confidence_interval(0.975)
    assert row["change"] == pytest.approx(np.expm1(np.log(FASTER).mean()), rel=1e-5)
    assert (row["low"], row["high"]) == pytest.approx(tuple(np.expm1(bounds)), rel=1e-4)
    assert (row["verdict"], row["networks"], row["paired"]) == ("shown", 4, True)
    assert found(comparison, "circuit build time (s)")["change"] == pytest.approx(row["change"], rel=1e-3)
    assert found(comparison, "failed downloads (points)")["change"] == 0


def test_rates_are_bytes_a_second_and_downloads_cut_off_do_not_count_as_ended(tmp_path: Path) -> None:
    """A second half of 1 MiB in 2 s, a circuit in 0.4 s, and one of two downloads that ended failed."""
    half = Download(0, 70.0, 1_048_576, last_s=4.0, got=((2.0, 524_288),))
    failed = Download(1, 80.0, error="TIMEOUT", last_s=None)
    host = Host([half, failed, Download(2, 90.0, last_s=None)], [Circuit(1, 65.0, 0.4)])
    tornet(tmp_path / "one", {"perfclient1exit": host})
    vanilla, branch = (import_simulations([tmp_path / "one"], tmp_path / name) for name in ("a", "b"))
    comparison = compared(vanilla, branch, "1 min")
    assert found(comparison, "1 MiB, goodput (bytes/s)")["baseline"] == pytest.approx(262_144)
    assert found(comparison, "circuit build time (s)")["baseline"] == pytest.approx(0.4)
    assert found(comparison, "failed downloads (points)")["baseline"] == 0.5


def test_other_networks_are_independent_samples(tmp_path: Path) -> None:
    baseline = np.array([1.0, 1.5, 0.7, 1.2])
    one = imported(tmp_path, "vanilla", baseline, [1, 2, 3, 4])
    other = imported(tmp_path, "branch", baseline * FASTER, [11, 12, 13, 14])
    comparison = compared(one, other, "1 min")
    expected = "unpaired (Welch), 4 against 4 networks: no network is known to be in both"
    assert comparison.pairing == expected
    row = found(comparison, "50 KiB, last byte")
    logs = np.log(baseline * FASTER), np.log(baseline)
    bounds = stats.ttest_ind(*logs, equal_var=False).confidence_interval(0.975)
    assert (row["low"], row["high"]) == pytest.approx((np.expm1(bounds.low), np.expm1(bounds.high)), rel=1e-4)
    assert (row["verdict"], row["paired"]) == ("not shown", False)


def test_networks_that_only_one_has_are_left_out_of_pairs(tmp_path: Path) -> None:
    one = imported(tmp_path, "vanilla", [1.0, 1.5, 0.7], [1, 2, 3])
    other = imported(tmp_path, "branch", [0.9, 1.3], [2, 3])
    comparison = compared(one, other, "1 min")
    assert comparison.pairing == (
        "paired on 2 networks that both have; 1 that only one of them has are left out"
    )
    change = np.expm1(np.log([0.9 / 1.5, 1.3 / 0.7]).mean())
    assert found(comparison, "50 KiB, last byte")["change"] == pytest.approx(change, rel=1e-5)


def test_simulations_of_one_network_count_as_one(tmp_path: Path) -> None:
    one = imported(tmp_path, "vanilla", [1.0, 1.2], [1, 2])
    again = [tmp_path / "vanilla-1", tmp_path / "vanilla-2"]
    host = Host([Download(0, 61.0, last_s=1.75)])
    again.append(tornet(tmp_path / "more", {"perfclient1exit": host}, network=1))
    other = import_simulations(again, tmp_path / "branch")
    comparison = compared(one, other, "1 min")
    assert comparison.pairing == "paired on 2 networks that both have"
    assert found(comparison, "50 KiB, last byte")["networks"] == 2


def test_a_warm_up_that_leaves_nothing(tmp_path: Path) -> None:
    one, other = (imported(tmp_path, name, [1.0], [1]) for name in ("vanilla", "branch"))
    with pytest.raises(InputError, match=r"--warm-up: leaves no .* import vanilla, got '1200 s'"):
        compared(one, other, "20 min")


def test_two_imports_of_one_name(tmp_path: Path) -> None:
    one = imported(tmp_path, "vanilla", [1.0], [1])
    with pytest.raises(InputError, match="is the name of both imports"):
        compared(one, one, "1 min")


def test_the_terminal_and_the_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    metrics = {"download_times": {"51200": [1.0, 2.0]}, "daily_counts": {}}
    (tmp_path / "tor_metrics.json").write_text(json.dumps(metrics))
    one = imported(tmp_path, "vanilla", [1.0, 1.5], [1, 2])
    other = imported(tmp_path, "branch", [1.1, 1.5], [1, 2])
    summary = compared(one, other, "1 min", tmp_path / "tor_metrics.json")
    print_imports(summary, Console(width=110))
    printed = capsys.readouterr().out.splitlines()
    assert printed[:2] == ["branch, against vanilla", "paired on 2 networks that both have"]
    assert " ".join(printed[2].split()) == "measure change interval (97.5 %) verdict"
    assert any(line.startswith("50 KiB, last byte") and "+4.9 %" in line for line in printed)
    assert summary.folder == Path("results/summaries/imports/branch_vs_vanilla")
    names = {path.name for path in summary.folder.iterdir()}
    assert {"changes.csv", "public.csv", "perf_medians.csv", "summary.md", "plan.json"} <= names
    drawn = {path.name for path in Path("results/figures/imports/branch_vs_vanilla").glob("*.png")}
    assert drawn == {"perf_ttfb_cdf.png", "perf_ttlb_cdf.png"}
    assert "Paired on 2 networks that both have." in (summary.folder / "summary.md").read_text()
    outcomes = pl.read_csv(summary.folder / "perf_outcomes.csv")
    assert outcomes["downloads"].to_list() == [4, 4, 2, 2, 2, 2]


def test_both_sides_are_imports() -> None:
    assert are_imports("import:a", "import:b")
    assert not are_imports("../tor@x", None)
    with pytest.raises(InputError, match="--baseline: the other side is an import"):
        are_imports("import:a", "debian")
