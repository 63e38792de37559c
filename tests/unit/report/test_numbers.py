"""What a page says a number is, and how it is worked out: the page's own words, followed again with numpy.

In: runs of a comparison whose second side is slower, with clients cut off. Each number beside these words on
the page, and in medians.csv, is worked out anew from the tables of the runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from html import unescape
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.model_comparison import (
    BASELINE,
    CANDIDATE,
    END_US,
    KNOB,
    WARM_UP_S,
    compared,
    cut_off,
    experiment,
    slower,
    write_runs,
)
from tests.published_plan import EXPERIMENT, PublishedPlan
from torsweep.report import gather, render
from torsweep.runsets.plan_tables import PlanTables
from torsweep.stats.summarize import read_shown_summary, summarize, write_summary
from torsweep.stats.verdicts import read_claims

SEEDS = (1, 2, 3)
WARM_UP_US, MINUTE_US = WARM_UP_S * 10**6, 60 * 10**6


def _spoil(streams: pl.DataFrame, seed: int) -> pl.DataFrame:
    return cut_off(0.2, END_US)(slower(1.5, share=0.7)(streams, seed), seed)


@dataclass(frozen=True)
class Study:
    """The downloads of web clients, and of everyone, of each run; what the page says, the folder of the
    summary."""

    runs: dict[tuple[str, int], pl.DataFrame]
    everyone: dict[tuple[str, int], pl.DataFrame]
    page: str
    summaries: Path

    def over_networks(
        self, number: Callable[[pl.DataFrame, pl.DataFrame], float], everyone: bool = False
    ) -> np.ndarray:
        """``number`` of both sides' downloads, for each network."""
        runs = self.everyone if everyone else self.runs
        return np.array([number(runs[BASELINE, seed], runs[CANDIDATE, seed]) for seed in SEEDS])


@pytest.fixture(scope="module")
def study(plan: PublishedPlan, tmp_path_factory: pytest.TempPathFactory) -> Study:
    folder = tmp_path_factory.mktemp("numbers")
    write_runs(folder / "alike", SEEDS)
    compared(folder / "alike", folder, SEEDS, _spoil)
    runs, everyone = {}, {}
    for seed in SEEDS:
        for level, place in ((BASELINE, "alike"), (CANDIDATE, "runs")):
            key = experiment().variant(f"{KNOB}={level}").key
            table = pl.read_parquet(folder / place / str(seed) / key / "streams.parquet")
            everyone[level, seed] = table
            runs[level, seed] = table.filter(pl.col("kind").cast(pl.String) == "web")
    tables, summaries = PlanTables.open(folder / "tables"), folder / "summaries"
    write_summary(summarize(tables, experiment()), summaries)
    shell = gather(plan.stage("summaries"), plan.stage("figures"), EXPERIMENT, plan.networks)
    of_study = {
        "experiment": experiment(),
        "provenance": tables.provenance,
        "claims": read_claims(summaries),
        "summary": read_shown_summary(summaries),
    }
    return Study(runs, everyone, unescape(render(type(shell)(**vars(shell) | of_study))), summaries)


def waits(downloads: pl.DataFrame, byte: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Seconds from the start to the byte, or as long as a download waited; those of them in the warm-up; and
    whether the byte came. What was over in the warm-up is left out."""
    came = downloads[f"{byte}_byte_us"].to_numpy()
    waited = np.where(np.isnan(came), downloads["observed_us"].to_numpy(), came) / 1e6
    before = np.clip(WARM_UP_US - downloads["start_us"].to_numpy(), 0, None) / 1e6
    counts = waited > before
    return waited[counts], before[counts], ~np.isnan(came)[counts]


def mean(downloads: pl.DataFrame, byte: str) -> float:
    """Seconds of waiting for each download that got as far."""
    waited, before, came = waits(downloads, byte)
    return (waited - before).sum() / came.sum()


def quantile(downloads: pl.DataFrame, byte: str, share: float) -> float:
    """Of all downloads: one that was cut off counts at least as long as it waited (Kaplan and Meier)."""
    waited, before, came = waits(downloads, byte)
    times = np.unique(waited[came])
    left = [
        1 - (came & (waited == time)).sum() / ((before < time) & (waited >= time)).sum() for time in times
    ]
    return times[np.flatnonzero(1 - np.cumprod(left) >= share - 1e-9)[0]]


def same_download(one: pl.DataFrame, other: pl.DataFrame, byte: str) -> float:
    """How much longer the same download takes, in logarithms, the mean over the middle half."""
    begun = [side.filter(pl.col("start_us") >= WARM_UP_US) for side in (one, other)]
    pairs = begun[0].join(begun[1], on=["client", "stream"])
    times = [pairs[f"{byte}_byte_us{side}"].to_numpy() for side in ("", "_right")]
    lacking = [np.isnan(time) for time in times]
    least = [pairs[f"observed_us{side}"].to_numpy() for side in ("", "_right")]
    longer = np.log(times[1] / times[0])
    longer[lacking[1] & ~lacking[0] & (least[1] >= times[0])] = np.inf
    longer[lacking[0] & ~lacking[1] & (least[0] >= times[1])] = -np.inf
    known = np.sort(longer[~np.isnan(longer)])
    return known[len(known) // 4 : len(known) - len(known) // 4].mean()


def without_progress(downloads: pl.DataFrame) -> float:
    """The share of clients that got no byte in the last minute, although they waited for one."""
    since = END_US - MINUTE_US
    of_clients = downloads.group_by("client").agg(
        end=(pl.col("start_us") + pl.col("observed_us")).max(),
        latest=(pl.col("start_us") + pl.col("latest_byte_us")).max(),
    )
    latest = of_clients["latest"].fill_null(-1).to_numpy()
    return ((of_clients["end"].to_numpy() > since) & (latest < since)).mean()


def said(page: str, measure: str) -> float | None:
    """The change beside ``measure`` in the page's table, as a part of 1; None without a row."""
    row = page.partition(f">{measure}</th>")[2].partition("</tr>")[0]
    cell = re.match(r"\s*([+−]?[\d.]+)\s(?:%|points)", re.sub("<[^>]*>", "", row))
    return float(cell[1].replace("−", "-")) / 100 if cell else None


@pytest.mark.parametrize("byte", ["first", "last"])
def test_changes_of_times_are_what_the_page_says_they_are(study: Study, byte: str) -> None:
    worked_out = {
        "same download": lambda one, other: same_download(one, other, byte),
        "mean": lambda one, other: np.log(mean(other, byte) / mean(one, byte)),
        "90th percentile": lambda one, other: np.log(quantile(other, byte, 0.9) / quantile(one, byte, 0.9)),
    }
    shown = 0
    for statistic, number in worked_out.items():
        change = np.expm1(study.over_networks(number).mean())
        assert change > 0.05, "a test of no change says nothing"
        on_page = said(study.page, f"web, {byte} byte, {statistic}")
        if on_page is None:
            assert statistic in study.page.partition("Too little was measured")[2].partition("<")[0]
        else:
            assert on_page == pytest.approx(change, abs=0.00051)
            shown += 1
    assert shown


def test_the_share_of_clients_without_progress_is_what_the_page_says_it_is(study: Study) -> None:
    change = study.over_networks(
        lambda one, other: without_progress(other) - without_progress(one), everyone=True
    ).mean()
    assert change > 0.02
    assert said(study.page, "all, clients without progress") == pytest.approx(change, abs=0.00051)


@pytest.mark.parametrize(("byte", "metric"), [("first", "ttfb"), ("last", "ttlb")])
def test_times_of_each_run_are_what_the_summary_says_they_are(study: Study, byte: str, metric: str) -> None:
    of_runs = pl.read_csv(study.summaries / "medians.csv").filter(metric=metric, kind="web")
    assert of_runs.height == len(study.runs)
    for row in of_runs.iter_rows(named=True):
        downloads = study.runs[row[KNOB], row["seed"]]
        assert row["mean_s"] == pytest.approx(mean(downloads, byte), rel=1e-5)
        assert row["median_s"] == pytest.approx(quantile(downloads, byte, 0.5), rel=1e-5)
        assert row["p90_s"] == pytest.approx(quantile(downloads, byte, 0.9), rel=1e-5)
