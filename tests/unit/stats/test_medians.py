"""Quantiles of runs, curves over networks, counts of outcomes."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from torsweep.runsets.plan_tables import PlanTables
from torsweep.stats.inference.intervals import t_interval
from torsweep.stats.streams.curves import curves
from torsweep.stats.streams.incidence import ENTRY, METRICS, STREAM_COLUMNS, downloads, metric_at
from torsweep.stats.streams.medians import downloads_by_kind, outcome_counts, run_quantiles
from torsweep.stats.summarize import Summary

KNOB = "refill_interval"


def _streams(rows: list[dict[str, object]]) -> pl.DataFrame:
    usual = {"seed": 1, KNOB: "10ms", "client": "web1", "kind": "web", "start_us": 0, "command_us": 0}
    times = dict.fromkeys((metric.column for metric in METRICS.values()), pl.Int64)
    whole = [{**usual, "outcome": "complete", **dict.fromkeys(times), **row} for row in rows]
    return pl.DataFrame(whole, schema_overrides=times)


def _at(first_s: float | None, client: str = "web1", **more: object) -> dict[str, object]:
    time_us = None if first_s is None else int(first_s * 1e6)
    return {"first_byte_us": time_us, "observed_us": time_us, "client": client} | more


def _ttfb(rows: list[dict[str, object]], clients: pl.DataFrame | None = None) -> dict[str, object]:
    return run_quantiles(_streams(rows), [KNOB], clients).filter(metric="ttfb").row(0, named=True)


def test_the_median_counts_failures_and_what_was_cut_off() -> None:
    complete = [_at(s) for s in (1.0, 2.0, 3.0)]
    assert _ttfb(complete)["median_s"] == 2.0
    failed = [_at(None, observed_us=1, outcome="failed")] * 2
    row = _ttfb(complete + failed)
    assert row["median_s"] == 3.0
    assert row["top"] == pytest.approx(0.6)
    cut = [_at(None, observed_us=2_500_000, outcome="unfinished")]
    assert _ttfb(complete + cut)["median_s"] == 2.0
    assert _ttfb(complete[:1] + failed)["median_s"] is None
    after_its_first_byte = _ttfb([_at(1.0, observed_us=9_000_000, outcome="failed"), _at(2.0)])
    assert (after_its_first_byte["median_s"], after_its_first_byte["top"]) == (1.0, 1.0)


def test_a_fast_client_counts_once_among_clients() -> None:
    fast = [_at(0.1, "web1")] * 20
    slow = [_at(1.0, "web2"), _at(1.2, "web2"), _at(1.4, "web2"), _at(2.0, "web3")]
    row = _ttfb(fast + slow)
    assert row["median_s"] == pytest.approx(0.1)
    assert row["client_median_s"] == pytest.approx(1.2)
    assert (row["downloads"], row["clients"]) == (24, 3)


def test_a_client_that_completes_nothing_is_slower_than_any() -> None:
    complete = [_at(1.0, "web1"), _at(2.0, "web2")]
    never = [_at(None, f"web{n}", observed_us=5, outcome="timeout") for n in (3, 4, 5)]
    assert _ttfb(complete + never[:2])["client_median_s"] == 2.0
    assert _ttfb(complete + never)["client_median_s"] is None


def test_a_client_without_any_download_is_slower_than_any() -> None:
    rows = [_at(float(number), f"web{number}") for number in (1, 2, 3)]
    one = _streams(rows).head(1).select("seed", KNOB, "kind")
    names = pl.DataFrame({"client": [f"web{number}" for number in range(1, 8)]})
    three, six, seven = (_ttfb(rows, one.join(names.head(many), how="cross")) for many in (3, 6, 7))
    assert three["client_median_s"] == 2.0
    assert (six["client_median_s"], six["clients"], six["median_s"]) == (3.0, 6, 2.0)
    assert seven["client_median_s"] is None


def test_the_mean_is_waiting_time_over_completions() -> None:
    """Against the number of waiting clients, added up instant by instant over the measured time."""
    generator = np.random.default_rng(1)
    begin, end = 10.0, 40.0
    starts = generator.uniform(0, end, 300)
    firsts = starts + generator.exponential(8, 300)
    fails = generator.random(300) < 0.1
    rows = [
        _at(
            None if fail or first > end else first - start,
            observed_us=int((min(first, end) - start) * 1e6),
            start_us=int(start * 1e6),
            outcome="failed" if fail and first <= end else "complete" if first <= end else "unfinished",
            **{ENTRY: int(max(begin - start, 0) * 1e6)},
        )
        for start, first, fail in zip(starts, firsts, fails, strict=True)
        if first > begin
    ]
    step = 0.001
    moments = np.arange(begin, end, step) + step / 2
    waiting = sum(((starts <= moment) & (firsts > moment)).sum() for moment in moments) * step
    complete = ((firsts > begin) & (firsts <= end) & ~fails).sum()
    assert _ttfb(rows)["mean_s"] == pytest.approx(waiting / complete, rel=1e-3)


def test_the_weight_of_the_fastest_quarter() -> None:
    rows = [_at(1.0, f"web{n}") for n in (1, 1, 1, 1, 1, 2, 3, 4)]
    assert _ttfb(rows)["fastest_quarter"] == pytest.approx(5 / 8)


def test_what_came_before_the_measured_time_is_no_time_of_it() -> None:
    """Under way when the warm-up ended: with its first byte by then, or still waiting for it."""
    early = _at(1.0, observed_us=9_000_000, outcome="unfinished", **{ENTRY: 5_000_000})
    late = _at(7.0, observed_us=9_000_000, outcome="unfinished", **{ENTRY: 5_000_000})
    rows = downloads(_streams([early, late, _at(2.0, **{ENTRY: 0})]), metric_at("ttfb", "opening"), ["seed"])
    assert sorted(zip(rows.times_s, rows.entries_s, strict=True)) == [(2.0, 0.0), (7.0, 5.0)]
    from_request = {"command_us": 4_000_000, "first_byte_after_command_us": 3_000_000}
    rows = downloads(_streams([late | from_request]), metric_at("ttfb", "request"), ["seed"])
    assert (rows.times_s.tolist(), rows.entries_s.tolist()) == ([3.0], [1.0])


def test_a_band_of_the_difference_shows_what_is_paired() -> None:
    """Networks tenfold apart, in each of which the variant takes 1.2 times as long."""
    frames = []
    for seed, factor in ((1, 1.0), (2, 10.0), (3, 3.0), (4, 5.0)):
        for level, ratio in (("100ms", 1.0), ("10ms", 1.2 + seed / 1000)):
            rows = [_at(factor * ratio * second) for second in (1.0, 2.0, 3.0)]
            frames.append(_streams(rows).with_columns(pl.lit(seed).alias("seed"), pl.lit(level).alias(KNOB)))
    found = curves(pl.concat(frames), [KNOB], ["ttfb"], {KNOB: "100ms"})
    baseline, variant = (found.filter(pl.col(KNOB) == level) for level in ("100ms", "10ms"))
    assert baseline["paired_low_s"].is_nan().all()
    assert (variant["paired_low_s"] > baseline["time_s"]).all()
    assert (variant["low_s"] < baseline["time_s"]).all()
    logs = np.log([1.201, 1.202, 1.203, 1.204])
    interval = t_interval(logs)
    expected = baseline["time_s"][0] * np.exp([interval.low, interval.high])
    assert [variant[f"paired_{end}_s"][0] for end in ("low", "high")] == pytest.approx(expected, rel=1e-4)


def test_after_command_leaves_out_what_had_no_command() -> None:
    with_command = _at(3.0, command_us=1_000_000, first_byte_after_command_us=2_000_000)
    without = _at(None, command_us=None, observed_us=7, outcome="failed")
    rows = downloads(_streams([with_command, without]), METRICS["ttfb_after_command"], ["seed"])
    assert rows.times_s.tolist() == [2.0]


def test_curves_are_means_over_networks(summary: Summary, tables: PlanTables) -> None:
    of_one = {"metric": "ttlb", "kind": "web", KNOB: "100ms", "circuit_policy": "ewma"}
    curve = summary["curves"].filter(**of_one).sort("share")
    runs = summary["medians"].filter(**of_one)
    (middle,) = curve["median_s"].unique().to_list()
    around = curve.filter((pl.col("share") - 0.5).abs() < 0.001)["time_s"]
    assert len(around) == 2 and around[0] <= middle <= around[1]
    of_logarithms = t_interval(np.log(runs["median_s"].to_numpy()))
    assert middle == pytest.approx(np.exp(of_logarithms.mean), rel=0.01)
    band = [curve.filter(pl.col("share") == 0.4995)[name][0] for name in ("low_s", "high_s")]
    assert band == pytest.approx(np.exp([of_logarithms.low, of_logarithms.high]), rel=0.03)
    assert (curve["low_s"] <= curve["time_s"]).all()
    assert (curve["high_s"] >= curve["time_s"]).all()
    assert curve["time_s"].is_sorted()
    assert curve["share"].max() <= curve["top"][0] < 1
    assert curve["networks"].unique().to_list() == [4]


def test_a_band_stays_on_a_logarithmic_axis_and_ends_where_a_network_ends() -> None:
    """In seconds, the interval of networks that differ tenfold would reach zero: a bar across the panel."""
    fast, slow = [_at(1.0)] * 9, [_at(10.0)] * 8 + [_at(None, observed_us=1, outcome="failed")]
    frames = [_streams(rows).with_columns(seed=pl.lit(seed)) for seed, rows in ((1, fast), (2, slow))]
    curve = curves(pl.concat(frames), [KNOB]).filter(pl.col("metric") == "ttfb")
    assert curve["time_s"].to_list() == pytest.approx([np.sqrt(10)] * curve.height)
    assert curve["low_s"].min() > 0 and curve["share"].max() == pytest.approx(8 / 9, abs=0.001)
    assert (curve["high_s"] / curve["time_s"]).to_list() == pytest.approx(curve["time_s"] / curve["low_s"])


def test_a_single_network_has_no_band_and_a_curve_that_ends_below_one_half_no_median(tables) -> None:
    streams = tables.streams(STREAM_COLUMNS).filter(pl.col("seed") == 1)
    curve = curves(streams, tables.knobs)
    assert curve["time_s"].null_count() == 0
    assert curve["low_s"].is_nan().all()
    failed = [_at(None, observed_us=1, outcome="failed")] * 2
    curve = curves(_streams([_at(1.0), *failed]), [KNOB]).filter(pl.col("metric") == "ttfb")
    assert curve.height > 300
    assert curve["median_s"].is_nan().all()


def test_every_download_has_one_outcome(tables: PlanTables) -> None:
    streams = tables.streams(STREAM_COLUMNS)
    counts = outcome_counts(streams, tables.knobs)
    assert counts["downloads"].sum() == streams.height
    by_kind = downloads_by_kind(counts)
    assert by_kind == {kind: streams.filter(pl.col("kind") == kind).height for kind in ("web", "bulk")}
    assert list(by_kind) == ["web", "bulk"]
    outcomes = pl.sum_horizontal("complete", "failed", "timeout", "unfinished")
    assert counts.select((pl.col("downloads") == outcomes).all()).item()
    slow = counts.filter(pl.col(KNOB) == "1000ms", pl.col("kind") == "web")["failure_share"]
    assert slow.mean() == pytest.approx(0.04, abs=0.02)
