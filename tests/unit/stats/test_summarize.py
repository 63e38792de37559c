"""The whole summary of a plan, as files, which are read while all of them are as they were made."""

from __future__ import annotations

import json

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from plotting.drawing.source import Source
from tests.synthetic import Size, gathered, record_tables, with_perf_clients, write_sweep
from torsweep.errors import InputError
from torsweep.stats.claims import claims_of
from torsweep.stats.claims.judging import verdicts
from torsweep.stats.inference.interim import FIRST_SHARE, FIXED
from torsweep.stats.statistic import statistics
from torsweep.stats.summarize import analyse, make_summary, read_shown_summary, summarize, write_summary
from torsweep.stats.verdicts import read_claims

SMALL = Size(web_clients=8, bulk_clients=2, relays=2, warm_up_s=10, duration_s=70)


def test_the_synthetic_sweep_comes_out_as_it_was_made(summary):
    judged = {verdict.claim: verdict.verdict for verdict in summary.verdicts}
    assert judged["web_best_at_10ms"] == "holds"
    assert judged["bulk_round_robin_worst_at_100ms"] == "contradicted"
    assert summary["stairs"].filter(refill_interval="1000ms", period="1000ms")["depth"].min() > 0.5


def test_claims_about_round_robin_are_judged_at_another_quantum(experiment, tmp_path):
    plan = experiment.plan("quantum_1")
    runs = write_sweep(tmp_path / "runs", plan.knobs, (1, 2), SMALL)
    judged = analyse(gathered(runs, tmp_path, plan=plan.name), experiment).once(verdicts)
    parts = [words for claim in claims_of(experiment) for words, _ in claim.aspects()]
    assert [verdict.setting for verdict in judged] == [f"round_robin_quantum=1, {words}" for words in parts]
    assert "not tested" not in {verdict.verdict for verdict in judged}


def test_files_are_whole_and_the_same_each_time(summary, tmp_path):
    for name in ("a", "b"):
        write_summary(summary, tmp_path / name)
    written = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert {"claims.json", "summary.md", "plan.json", "stairs.csv", "closeup.csv"} < set(written)
    assert not [name for name in written if name.startswith(("cell_", "breakdown", "shares", "clients"))]
    for name in written:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_the_same_tables_give_the_same_summary(tables, experiment, summary):
    again = analyse(tables, experiment)
    for name in ("medians", "stairs", "claims"):
        assert_frame_equal(statistics("refill_sweep")[name].frame(again), summary[name])


OF_ALL_KINDS = {f"{name}.csv" for name in ("measures", "measure_differences", "distributions")}
OF_ALL_KINDS |= {"plan.json", "summary.json", "summary.md"}
"""What has perf clients beside the others."""


def test_perf_clients_have_statistics_of_their_own(tables, experiment, summary, tmp_path):
    with_perf = summarize(with_perf_clients(tables, tmp_path), experiment)
    own = {f"perf_{name}" for name in ("curves", "medians", "differences", "outcomes")} | {"public"}
    assert with_perf.frames.keys() - summary.frames.keys() == own
    # The perf clients are bulk clients under another name.
    for name in ("medians", "differences", "curves"):
        bulk = summary[name].filter(kind="bulk").with_columns(kind=pl.lit("perf_5mib"))
        perf = with_perf[f"perf_{name}"]
        # Curves of perf clients have the request's clock too, as public Tor's have.
        perf = perf.filter(pl.col("metric").is_in(bulk["metric"].unique().to_list()))
        assert_frame_equal(bulk, perf)
    assert set(with_perf["perf_outcomes"]["kind"]) == {"perf_5mib"}
    write_summary(summary, tmp_path / "without")
    write_summary(with_perf, tmp_path / "with")
    for written in (tmp_path / "without").iterdir():
        if written.name not in OF_ALL_KINDS:
            assert written.read_text() == (tmp_path / "with" / written.name).read_text(), written.name
    shown = read_shown_summary(tmp_path / "with").tables["perf_medians"]
    assert "Perf clients: medians over downloads, seconds" in [table.title for table in shown]
    assert "5 MiB, first byte" in shown[0].header


def test_the_text_says_where_it_comes_from(summary, tmp_path):
    write_summary(summary, tmp_path)
    text = (tmp_path / "summary.md").read_text()
    for fact in ("cellsim 0.1.0 (a model of tor)", "era 2012", "seeds 1–4", "30 s cut", "100ms, ewma"):
        assert fact in text
    assert len(text.splitlines()) <= 60
    content = json.loads((tmp_path / "claims.json").read_text())
    assert content["engine_version"] == "0.1.0"
    assert len({claim["claim"] for claim in content["claims"]}) == 6


def test_one_network_is_said_and_nothing_fails(experiment, tmp_path):
    summary = summarize(
        gathered(write_sweep(tmp_path / "runs", run_seeds=(5,), size=SMALL), tmp_path), experiment
    )
    write_summary(summary, tmp_path / "out")
    assert {verdict.verdict for verdict in summary.verdicts} == {"inconclusive"}
    text = (tmp_path / "out/summary.md").read_text()
    assert "One network: there are no intervals" in text
    assert "nan" not in text
    assert "NaN" not in (tmp_path / "out/claims.json").read_text()
    for name in summary.frames:
        assert "NaN" not in (tmp_path / f"out/{name}.csv").read_text()


def test_a_sensitivity_is_judged_at_each_level_it_adds(experiment, tmp_path):
    knobs = {**experiment.knobs, "load": ["0.5", "0.8", "1", "1.1"]}
    runs = write_sweep(tmp_path / "runs", knobs, run_seeds=(1,), size=SMALL)
    analysis = analyse(gathered(runs, tmp_path, plan="loads"), experiment)
    settings = {verdict.setting.partition(",")[0] for verdict in analysis.once(verdicts)}
    assert settings == {"load=0.5", "load=0.8", "load=1", "load=1.1"}
    assert analysis.baseline["load"] == "1"


def test_runs_without_downloads_leave_claims_open(experiment, tmp_path):
    runs = write_sweep(tmp_path / "runs", run_seeds=(1, 2), size=SMALL)
    for run in runs[:2]:
        file = run / "streams.parquet"
        pl.read_parquet(file).head(0).write_parquet(file)
        record_tables(run)
    summary = summarize(gathered(runs, tmp_path), experiment)
    write_summary(summary, tmp_path / "out")
    judged = {verdict.claim: verdict.verdict for verdict in summary.verdicts}
    assert judged["stair_step_at_1000ms"] == "inconclusive"
    assert set(summary["stairs"]["seed"]) == {1, 2}


def test_tables_of_another_plan_are_refused(experiment, tmp_path):
    runs = write_sweep(tmp_path / "runs", run_seeds=(1,), size=SMALL)
    with pytest.raises(InputError, match="other knobs than plan aligned_phases"):
        summarize(gathered(runs, tmp_path / "other", plan="aligned_phases"), experiment)
    with pytest.raises(InputError, match="another experiment"):
        summarize(gathered(runs, tmp_path / "all"), experiment.model_copy(update={"name": "other"}))
    others = [run for run in runs if "100ms+circuit_policy=ewma" not in run.name]
    with pytest.raises(InputError, match="lacks the baseline"):
        summarize(gathered(others, tmp_path / "no"), experiment)


def test_a_sweep_that_grows_allows_for_the_summary_of_fewer_networks(experiment, tmp_path):
    """The first is that of a fixed number; made again, it is the same, and counts as one look."""
    plans = [
        gathered(write_sweep(tmp_path / name / "runs", run_seeds=seeds, size=SMALL), tmp_path / name)
        for name, seeds in (("few", (1, 2, 3)), ("more", (1, 2, 3, 4)))
    ]
    out = tmp_path / "summary"
    for _ in range(2):
        assert make_summary(plans[0], experiment, out).analysis.design == FIXED
    assert json.loads((out / "looks.json").read_text()) == {"3": FIRST_SHARE}
    (out / "looks.json").unlink()  # The summary says with how many networks its verdicts were seen.
    grown = make_summary(plans[1], experiment, out)
    assert read_claims(out).interim == (3, 4)
    bounds = [
        next(each for verdict in summary.verdicts for each in verdict.comparisons if each.interval.known)
        for summary in (grown, summarize(plans[1], experiment))
    ]
    width, fixed = (each.simultaneous.high - each.simultaneous.low for each in bounds)
    assert width != fixed


@pytest.mark.parametrize("name", ["claims.csv", "claims.json", "queues.csv", "summary.md"])
def test_one_flipped_bit_in_any_file_is_seen_by_whoever_reads_another(summary, tmp_path, name):
    folder = tmp_path / "summaries"
    write_summary(summary, folder)
    assert read_claims(folder).experiment == "refill_sweep" and Source(folder).summary("medians").height
    content = bytearray((folder / name).read_bytes())
    content[len(content) // 2] ^= 1
    (folder / name).write_bytes(content)
    for read in (read_claims, lambda folder: Source(folder).provenance):
        with pytest.raises(InputError, match=f"{name}: has changed: its SHA-256 is not the one in plan.json"):
            read(folder)
