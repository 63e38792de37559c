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

from tests.unit.imports.made_tornet import Circuit, Download, Host, clients_waiting, tornet
from torsweep.errors import InputError
from torsweep.imports.compare import Comparison, compare_imports, print_comparison, write_comparison
from torsweep.imports.stored import Import, import_simulations

FASTER = np.array([0.80, 0.85, 0.75, 0.82])
"""How long a candidate takes in each of four networks, as a part of the baseline."""


def imported(folder: Path, name: str, seconds: Sequence[float], networks: Sequence[int]) -> Import:
    """Simulations whose downloads take so long from the request to the last byte, one a network."""
    folders = []
    for took_s, network in zip(seconds, networks, strict=True):
        place = folder / f"{name}-{network}"
        folders.append(tornet(place, clients_waiting(took_s), network=network, seeds=[network]))
    return import_simulations(folders, folder / name)


def found(comparison: Comparison, measure: str) -> dict[str, object]:
    (row,) = comparison.tables["differences"].filter(measure=measure).iter_rows(named=True)
    return row


def test_the_same_networks_are_paired(tmp_path: Path) -> None:
    baseline = np.array([1.0, 1.5, 0.7, 1.2])
    one = imported(tmp_path, "vanilla", baseline, [1, 2, 3, 4])
    other = imported(tmp_path, "branch", baseline * FASTER, [1, 2, 3, 4])
    comparison = compare_imports(one, other, "1 min")
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
    comparison = compare_imports(vanilla, branch, "1 min")
    assert found(comparison, "1 MiB, goodput (bytes/s)")["baseline"] == pytest.approx(262_144)
    assert found(comparison, "circuit build time (s)")["baseline"] == pytest.approx(0.4)
    assert found(comparison, "failed downloads (points)")["baseline"] == 0.5


def test_other_networks_are_independent_samples(tmp_path: Path) -> None:
    baseline = np.array([1.0, 1.5, 0.7, 1.2])
    one = imported(tmp_path, "vanilla", baseline, [1, 2, 3, 4])
    other = imported(tmp_path, "branch", baseline * FASTER, [11, 12, 13, 14])
    comparison = compare_imports(one, other, "1 min")
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
    comparison = compare_imports(one, other, "1 min")
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
    comparison = compare_imports(one, other, "1 min")
    assert comparison.pairing == "paired on 2 networks that both have"
    assert found(comparison, "50 KiB, last byte")["networks"] == 2


def test_a_warm_up_that_leaves_nothing(tmp_path: Path) -> None:
    one, other = (imported(tmp_path, name, [1.0], [1]) for name in ("vanilla", "branch"))
    with pytest.raises(InputError, match=r"vanilla: --warm-up: has no download .* got '1200 s'"):
        compare_imports(one, other, "20 min")


def test_two_imports_of_one_name(tmp_path: Path) -> None:
    one = imported(tmp_path, "vanilla", [1.0], [1])
    with pytest.raises(InputError, match="is the name of both imports"):
        compare_imports(one, one, "1 min")


def test_the_terminal_and_the_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    metrics = {"download_times": {"51200": [1.0, 2.0]}, "daily_counts": {}}
    (tmp_path / "tor_metrics.json").write_text(json.dumps(metrics))
    one = imported(tmp_path, "vanilla", [1.0, 1.5], [1, 2])
    other = imported(tmp_path, "branch", [1.1, 1.5], [1, 2])
    comparison = compare_imports(one, other, "1 min", tmp_path / "tor_metrics.json")
    write_comparison(comparison, tmp_path / "out")
    print_comparison(comparison, Console(width=110))
    printed = capsys.readouterr().out.splitlines()
    assert printed[:2] == ["branch, against vanilla", "paired on 2 networks that both have"]
    assert " ".join(printed[2].split()) == "measure change interval (97.5 %) verdict can show (80 % chance)"
    assert any(line.startswith("50 KiB, last byte") and "+4.9 %" in line for line in printed)
    names = {path.name for path in (tmp_path / "out").iterdir()} - {".torsweep"}
    tables = {"differences.csv", "medians.csv", "outcomes.csv", "curves.csv", "public.csv"}
    assert names == {*tables, "comparison.json", "summary.md", "figures"}
    drawn = {path.name for path in (tmp_path / "out/figures").iterdir()} - {".torsweep"}
    assert drawn == {f"{name}.{end}" for name in ("ttfb", "ttlb") for end in ("pdf", "png", "csv")}
    text = (tmp_path / "out/summary.md").read_text()
    assert text.endswith("\nPaired on 2 networks that both have.\n")
    assert pl.read_csv(tmp_path / "out/outcomes.csv")["downloads"].to_list() == [4, 4, 2, 2, 2, 2]
