"""The tables of a comparison in documents have a column for every source, and a row for every network."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from bench.compare_rows import COLUMNS, main
from tests.unit.compare.conftest import FAST, SLOW, leave_run
from torsweep.compare.comparison import compare, write_comparison
from torsweep.compare.sources import parse_sources, read_sources
from torsweep.config.experiment import load_experiment

EXPERIMENT = Path(__file__).parents[2] / "experiments/refill_sweep"


@pytest.fixture
def two_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The runs of two variants in real tor and in the model, without a repeat."""
    for variant in (SLOW, FAST):
        for source in ("emulation", "cellsim+tcp=linux_6_18"):
            leave_run(tmp_path, source, variant, 1)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def compared(folder: Path) -> Path:
    """The folder of the comparison of the runs in ``folder``."""
    experiment = load_experiment(EXPERIMENT, {"network": "ci"})
    sources = parse_sources("emulation,cellsim+tcp=linux_6_18")
    read = read_sources(sources, experiment, experiment.plan())
    write_comparison(compare(read, experiment, experiment.plan()), "text", folder / "out")
    return folder / "out"


def test_every_source_has_a_column_and_every_network_a_row(two_sources: Path) -> None:
    leave_run(two_sources, "emulation", SLOW, 1, draws=7)
    main([str(compared(two_sources)), str(two_sources / "here")])
    contrast = pl.read_csv(two_sources / "here_contrasts.csv").to_dicts()[0]
    assert (contrast["contrast"], contrast["at"]) == ("1000 ms → 10 ms, EWMA", "EWMA")
    assert contrast["emulation"] == contrast["linux_6_18"] != contrast["linux"] == "–"
    assert set(COLUMNS.values()) <= contrast.keys()
    slow, fast, again = pl.read_csv(two_sources / "here_distances.csv").to_dicts()
    assert (slow["variant"], fast["variant"]) == ("1000 ms, EWMA", "10 ms, EWMA")
    assert (slow["first_ks"], slow["first_within"], slow["network"]) == (0, "yes", 1)
    assert slow["first_model_s"] == slow["first_reference_s"] > 0
    assert again["variant"] == "the reference again: 1000 ms, EWMA"
    assert again["first_ks"] > 0 and again["first_within"] == "–"
    # No network has every variant: there is no verdict.
    assert not (two_sources / "here_verdicts.csv").exists()


def test_a_reference_without_repeats_has_the_rows_of_its_runs(two_sources: Path) -> None:
    main([str(compared(two_sources)), str(two_sources / "here")])
    rows = pl.read_csv(two_sources / "here_distances.csv")
    assert rows["variant"].to_list() == ["1000 ms, EWMA", "10 ms, EWMA"]
    assert rows["first_within"].to_list() == ["–", "–"]
