"""Measures: what each is worked out from, and that a plan without a table has none of its measures."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.analyses import analysis_of
from tests.synthetic import RELAY_BYTES_PER_S, Size, gathered, record_tables, write_sweep
from tests.synthetic_measures import RECEIVED_BYTES, RELAY_CPU_S, WIRE_PACKET_BYTES, WIRE_PACKETS
from torsweep.engines.table_schema import CIRCUITS, COSTS, RECEIVED, ROUND_TRIPS, WIRE
from torsweep.runsets.plan_tables import METADATA_KEY, PlanTables, at_levels
from torsweep.stats.measures.circuits import ended_circuits, failed_circuits
from torsweep.stats.measures.downloads import clients, downloads, errors, errors_by_reason, errors_by_stage
from torsweep.stats.measures.summary import measures_of, numbers_of_runs
from torsweep.stats.statistic import Analysis
from torsweep.stats.streams.incidence import measured_downloads
from torsweep.stats.streams.medians import run_quantiles
from torsweep.stats.summarize import Summary, analyse, summarize

SMALL = Size(web_clients=8, bulk_clients=2, relays=4, warm_up_s=10, duration_s=60)
KNOBS = {"k": ["a", "b"]}
BASELINE = {"refill_interval": "100ms", "circuit_policy": "ewma"}


def _altered(tables: PlanTables, folder: Path, name: str, rows: pl.DataFrame) -> PlanTables:
    """``tables`` in ``folder``, with ``rows`` in place of those of the table ``name``."""
    for table in tables.directory.iterdir():
        shutil.copy(table, folder)
    rows.write_parquet(folder / f"{name}.parquet", metadata={METADATA_KEY: tables.provenance.to_json()})
    record_tables(folder)
    return PlanTables.open(folder)


def _mean(summary: Summary, measure: str, group: str = "all", **levels: str) -> float:
    chosen = {**BASELINE, **levels, "measure": measure, "group": group}
    return float(summary["measures"].filter(**chosen)["mean"].item())


def test_relays_together_are_used_as_their_rates_weigh():
    used = pl.DataFrame({"bytes_out": [100, 150], "most_bytes": [100, 300]})
    assert used.select(measures_of()["utilisation_total"].number).item() == pytest.approx(250 / 400)


def test_who_got_nothing_for_how_long(tables, experiment, tmp_path):
    """Second implementation, client by client; the run ends at 150 s after 30 s of warm-up."""
    clients = {
        # End of the last download and latest byte, seconds; whether that is known.
        "flowing": (150.0, 149.0, True),
        "stalled": (150.0, 89.0, True),
        "in_time": (150.0, 91.0, True),
        "starved": (150.0, 29.0, True),
        "never_any": (150.0, None, True),
        "absent": (None, None, True),
        "done": (80.0, 80.0, True),
        "done_early": (20.0, 20.0, True),
    }
    expected = {"clients_stalled": 4 / 8, "clients_without_progress": 3 / 8}
    listed = pl.read_parquet(tables.directory / "clients.parquet")
    head = listed.filter(kind="web").unique(["seed", *tables.knobs])
    rows = pl.DataFrame(
        [
            (name, *(None if s is None else int(s * 1e6) for s in row[:2]), row[2])
            for name, row in clients.items()
        ],
        {"client": pl.String, "last_us": pl.Int64, "latest_byte_us": pl.Int64, "latest_known": pl.Boolean},
        orient="row",
    )
    made = head.drop(rows.columns).join(rows, how="cross").select(listed.columns)
    unknown = (pl.col("seed") == 1) & (pl.col("client") == "flowing")
    made = made.with_columns(latest_known=pl.when(unknown).then(False).otherwise("latest_known"))
    numbers = numbers_of_runs(analyse(_altered(tables, tmp_path, "clients", made), experiment))
    for measure, share in expected.items():
        runs = numbers[measure, "web"]
        assert runs["value"].to_list() == [share] * runs.height
        # A run of which one client's is not known has no number.
        assert set(runs["seed"]) == {2, 3, 4}


def test_times_by_continent_are_those_of_the_clients_there(tables, experiment, tmp_path):
    assert not any(name.endswith("continent") for name, _ in numbers_of_runs(analyse(tables, experiment)))
    here = pl.col("client").is_in([f"web{number}" for number in range(1, 13)])
    continent = pl.when(here).then(pl.lit("Asia")).otherwise(pl.lit("Europe"))
    rows = pl.read_parquet(tables.directory / "clients.parquet").with_columns(continent=continent)
    analysis = analyse(_altered(tables, tmp_path, "clients", rows), experiment)
    numbers = numbers_of_runs(analysis)
    streams = analysis.once(measured_downloads)
    for group, chosen in (("Asia", here), ("Europe", ~here)):
        alone = run_quantiles(streams.filter(pl.col("kind") == "web", chosen), analysis.knobs)
        for measure, metric in (("first_byte_by_continent", "ttfb"), ("last_byte_by_continent", "ttlb")):
            by_hand = alone.filter(metric=metric).select("seed", *analysis.knobs, "median_s")
            found = numbers[measure, group].join(by_hand, on=["seed", *analysis.knobs])
            assert found.height == 4 * 6
            assert found["value"].to_list() == found["median_s"].to_list()


def test_what_a_run_does_not_say_is_not_0(tables, experiment, tmp_path):
    silent, without_bulk = pl.col("seed") == 1, (pl.col("seed") == 2) & (pl.col("kind") == "bulk")
    rows = pl.read_parquet(tables.directory / "received.parquet").filter(~silent, ~without_bulk)
    numbers = numbers_of_runs(analyse(_altered(tables, tmp_path, "received", rows), experiment))
    assert set(numbers["goodput_total", "all"]["seed"]) == {2, 3, 4}
    bulk = numbers["goodput_total", "bulk"]
    assert set(bulk["seed"]) == {2, 3, 4} and set(bulk.filter(value=0.0)["seed"]) == {2}


def test_numbers_are_those_of_the_tables(summary, tables):
    whole_mib = sum(RECEIVED_BYTES.values()) / 2**20
    assert _mean(summary, "goodput_total") == pytest.approx(whole_mib)
    assert _mean(summary, "goodput_total", "bulk") == pytest.approx(RECEIVED_BYTES["bulk"] / 2**20)
    assert _mean(summary, "processor_time_mean", "relay") == pytest.approx(RELAY_CPU_S * 1.9)
    assert _mean(summary, "peak_memory_total", "client") == pytest.approx(40 * 30)
    assert _mean(summary, "least_round_trip_median") == pytest.approx(0.1)
    assert _mean(summary, "start_median") == pytest.approx(2.5)
    relays = at_levels(tables.relays(["relay", "bytes_out"]), BASELINE)
    by_relay = relays.group_by("seed", "relay").agg(pl.col("bytes_out").sum() / 120 / RELAY_BYTES_PER_S)
    shares = by_relay.group_by("seed").agg(
        pl.col("bytes_out").mean().alias("mean"), pl.col("bytes_out").quantile(0.9, "linear").alias("p90")
    )
    # A full bucket at first is a few hundred bytes here.
    assert _mean(summary, "utilisation_mean") == pytest.approx(shares["mean"].mean(), rel=1e-4)
    assert _mean(summary, "utilisation_p90") == pytest.approx(shares["p90"].mean(), rel=1e-4)
    exits = by_relay.filter(relay="relay2")["bytes_out"].mean()
    assert _mean(summary, "utilisation_mean", "exit") == pytest.approx(exits, rel=1e-4)
    got = RECEIVED_BYTES["web"] + RECEIVED_BYTES["bulk"]
    carried = [run["bytes_out"].sum() / 120 / got for _, run in relays.group_by("seed")]
    assert _mean(summary, "relay_bytes_per_client_byte") == pytest.approx(np.mean(carried))
    assert _mean(summary, "wire_packets_per_client_kib") == pytest.approx(WIRE_PACKETS / (got / 1024))
    assert _mean(summary, "wire_bytes_per_client_byte") == pytest.approx(
        WIRE_PACKETS * WIRE_PACKET_BYTES / got
    )


def test_build_times_leave_failed_circuits_out_and_shares_count_them(summary, tables):
    circuits = at_levels(tables.circuits(["launched_us", "built_us", "close_reason"]), BASELINE)
    built = circuits.with_columns(s=(pl.col("built_us") - pl.col("launched_us")) / 1e6)
    medians = np.array([run["s"].drop_nulls().median() for _, run in built.group_by("seed")])
    failed = [run["built_us"].is_null().mean() for _, run in circuits.group_by("seed")]
    assert _mean(summary, "build_time_median") == pytest.approx(np.exp(np.mean(np.log(medians))))
    assert _mean(summary, "circuit_failures") == pytest.approx(np.mean(failed))
    assert _mean(summary, "circuit_failures_by_reason", "TIMEOUT") == pytest.approx(np.mean(failed))
    slower = _mean(summary, "build_time_median", refill_interval="1000ms")
    assert slower == pytest.approx(np.exp(np.mean(np.log(medians + 0.9))))


def test_goodput_counts_from_each_share_to_the_last_byte(summary, tables):
    columns = ["kind", "outcome", "first_byte_us", "half_us", "most_us", "last_byte_us", "bytes_wanted"]
    bulk = at_levels(tables.streams(columns), {**BASELINE, "outcome": "complete", "kind": "bulk"})
    for measure, since, share in (
        ("goodput_median", "first_byte_us", 1.0),
        ("goodput_last_half_median", "half_us", 0.5),
        ("goodput_last_fifth_median", "most_us", 0.2),
    ):
        rates = bulk.with_columns(
            r=pl.col("bytes_wanted") * share / 1024 / ((pl.col("last_byte_us") - pl.col(since)) / 1e6)
        )
        medians = [run["r"].median() for _, run in rates.group_by("seed")]
        assert _mean(summary, measure, "bulk") == pytest.approx(np.mean(medians)), measure


def test_changes_are_paired_relative_of_quantities_and_points_of_shares(summary):
    found = summary["measure_differences"].filter(refill_interval="1000ms", circuit_policy="ewma")
    (costs,) = found.filter(measure="processor_time_mean", group="relay").iter_rows(named=True)
    assert costs["change_in"] == "parts"
    assert costs["change"] == pytest.approx(1 / 1.9 - 1)
    assert costs["networks"] == 4
    (failures,) = found.filter(measure="download_errors", group="web").iter_rows(named=True)
    assert failures["change_in"] == "points"
    assert failures["change"] == pytest.approx(100 * (failures["variant"] - failures["baseline"]))
    assert failures["change_low"] < failures["change"] < failures["change_high"]
    assert found.filter(circuit_policy="round_robin").is_empty()
    assert summary["measure_differences"].filter(**BASELINE).is_empty()


def _downloads(*rows: dict[str, Any]) -> Analysis:
    schema = {name: pl.Int64 for name in ("seed", "socks_reply_us", "observed_us", "bytes_got")}
    schema |= {name: pl.String for name in ("k", "group", "client", "outcome", "error")}
    complete = {"seed": 1, "k": "a", "group": "web", "client": "web1", "outcome": "complete"}
    frame = pl.DataFrame([complete | row for row in rows], schema)
    return analysis_of(KNOBS, {"k": "a"}, {downloads: frame})


def test_errors_are_told_apart_by_where_they_came():
    analysis = _downloads(
        {},
        {"outcome": "unfinished"},
        {"outcome": "failed", "error": "no circuit"},
        {"outcome": "failed", "error": "stream closed", "socks_reply_us": 5},
        {"outcome": "timeout", "socks_reply_us": 5},
    )
    assert set(errors_by_stage(analysis)["group"]) == {"circuit", "stream", "timeout"}
    reasons = ["circuit: no circuit", "stream: stream closed", "timeout: time limit"]
    assert sorted(errors_by_reason(analysis)["group"]) == reasons
    assert errors(analysis)["of"].unique().to_list() == [5]
    share = analysis.once(downloads).select(measures_of()["download_errors"].number)
    assert share.item() == pytest.approx(3 / 5)


def test_fairness_is_between_clients_and_not_between_downloads():
    rows = [{"client": "web1", "bytes_got": 10, "observed_us": 10}] * 5
    rows += [{"client": "web2", "bytes_got": 30, "observed_us": 10}]
    rows += [{"client": "web3", "bytes_got": None, "observed_us": 10}]
    goodputs = clients(_downloads(*rows))
    assert sorted(goodputs["goodput"]) == [1.0, 3.0]
    assert goodputs.select(measures_of()["jain_index"].number).item() == pytest.approx(16 / 20)
    assert goodputs.select(measures_of()["decile_ratio"].number).item() == pytest.approx(2.8 / 1.2)


def test_circuits_of_one_relay_and_those_that_are_being_built_do_not_count():
    rows = [
        {"built_us": 20, "path": "relay1,relay2,relay3"},
        {"built_us": 30, "path": None},
        {"built_us": 20, "path": "relay1"},
        {"closed_us": 20, "close_reason": "TIMEOUT", "path": "relay1"},
        {"closed_us": 20, "path": "relay1"},
        {"path": "relay1,relay2"},
    ]
    schema = {"seed": pl.Int64, "k": pl.String, "launched_us": pl.Int64, "built_us": pl.Int64}
    schema |= {"closed_us": pl.Int64, "close_reason": pl.String, "path": pl.String}
    frame = pl.DataFrame([{"seed": 1, "k": "a", "launched_us": 10} | row for row in rows], schema)
    provenance = SimpleNamespace(knobs=KNOBS)
    tables: Any = SimpleNamespace(circuits=lambda columns: frame, provenance=provenance)
    analysis = Analysis(tables, {"k": "a"}, 0.05)
    assert ended_circuits(analysis).height == 4
    assert failed_circuits(analysis).select("group", "of").rows() == [("TIMEOUT", 4), ("no reason", 4)]


def test_what_runs_do_not_record_is_left_out(experiment, tmp_path):
    runs = write_sweep(tmp_path / "runs", run_seeds=(1, 2), size=SMALL)
    for run in runs:
        for schema in (CIRCUITS, RECEIVED, WIRE, ROUND_TRIPS, COSTS):
            (run / schema.file).unlink()
        relays = pl.read_parquet(run / "relays.parquet")
        unknown = [pl.lit(None, pl.Int64).alias(name) for name in ("outbuf_bytes", "queued_cells_max")]
        relays.with_columns(unknown).write_parquet(run / "relays.parquet")
        streams = pl.read_parquet(run / "streams.parquet")
        perf = pl.when(pl.col("client") == "web1").then(pl.lit("perf_50kib")).otherwise("kind").alias("kind")
        streams.with_columns(perf).write_parquet(run / "streams.parquet")
        record_tables(run)
    summary = summarize(gathered(runs, tmp_path), experiment)
    recorded = {"downloads", "progress_of_clients", "clients", "utilisations", "relay_seconds"}
    left = {
        name
        for name, measure in measures_of().items()
        if measure.rows.__name__ in recorded and "outbuf_bytes" not in measure.number.meta.root_names()
    }
    assert {"goodput_median", "jain_index", "queued_cells_p90"} < left
    of_errors = {"download_errors_by_stage", "download_errors_by_reason"}
    assert set(summary["measures"]["measure"]) - of_errors == left
    assert set(summary["measures"].filter(measure="goodput_median")["group"]) == {"web", "bulk", "perf_50kib"}
    assert set(summary["distributions"]["distribution"]) == {"goodput", "utilisation"}
    assert summary["windows"].is_empty() and summary["queues"].is_empty()


def test_windows_over_time_are_means_over_networks(summary):
    windows = summary["windows"].filter(**BASELINE)
    assert windows["second"].to_list() == list(range(30, 150, 10))
    assert set(windows["window_median"]) == {203.0}
    assert (windows["round_trip_p90"] > windows["round_trip_median"]).all()


def test_curves_rise_and_end_where_the_values_do(summary):
    curve = summary["distributions"].filter(**BASELINE, distribution="build_time")
    assert curve["networks"].unique().to_list() == [4]
    assert curve["value"].is_sorted()
    assert 0.3 <= curve["value"].min() < curve["value"].max() <= 1.3
