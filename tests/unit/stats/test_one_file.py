"""A statistic that is right for a sweep, for imports and for a study is added in one file."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from rich.console import Console

from tests.made_tornet import clients_waiting, tornet
from tests.several_sources import SLOW, leave_run, refill_sweep
from tests.synthetic import gathered
from torsweep import stats
from torsweep.runsets.imported import import_simulations
from torsweep.stats.statistic import statistics
from torsweep.stats.summarize import summarize
from torsweep.study.imports import compare_imports

ADDED = """
from dataclasses import replace

import polars as pl

from torsweep.config.traffic import KINDS, PERF_KINDS
from torsweep.stats.statistic import KNOB_COLUMNS, Statistic, counts


def slow(analysis):
    tables = replace(analysis.tables, kinds=(*KINDS, *PERF_KINDS))
    streams = tables.streams(["kind", "observed_us"])
    return streams.group_by(analysis.knobs).agg(slow=(pl.col("observed_us") > 1_500_000).sum())


SLOW = Statistic("slow", "a variant", KNOB_COLUMNS | counts("downloads of more than 1.5 s", "slow"), slow)
"""


@pytest.fixture
def added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One more file among those of the statistics."""
    place = tmp_path / "statistics_of_mine"
    place.mkdir()
    (place / "slow_downloads.py").write_text(ADDED)
    monkeypatch.setattr(stats, "__path__", [*stats.__path__, str(place)])
    statistics.cache_clear()
    yield
    sys.modules.pop("torsweep.stats.slow_downloads", None)
    statistics.cache_clear()


@pytest.mark.usefixtures("added")
def test_of_a_sweep_or_a_study_and_of_imports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A study is a plan of an experiment as a sweep is: its knob is tor, or an option of it."""
    monkeypatch.chdir(tmp_path)
    runs = [leave_run(tmp_path, "cellsim", {**SLOW, "refill_interval": one}, 1) for one in ("100ms", "10ms")]
    summary = summarize(gathered(runs, tmp_path), refill_sweep())
    assert summary["slow"].columns == ["refill_interval", "circuit_policy", "slow"]
    assert summary["slow"].height == 2
    for name, took_s in (("vanilla", 1.5), ("branch", 1.0)):
        simulation = tornet(tmp_path / f"tornet-{name}", clients_waiting(took_s), network=1, seeds=[1])
        import_simulations([simulation], tmp_path / name)
    of_imports = compare_imports(
        f"import:{tmp_path}/branch", f"import:{tmp_path}/vanilla", "1 min", None, Console()
    )
    slow = dict(pl.read_csv(of_imports / "slow.csv").select("import", "slow").iter_rows())
    assert slow["vanilla"] > slow["branch"]
