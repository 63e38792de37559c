"""What followed downloads waited for: planted shares are found, means add up, claims are judged."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from experiments.latency_breakdown.breakdown import ALL_DOWNLOADS, SLICES, waits_of_runs
from experiments.latency_breakdown.claims import LatencyShare
from plotting.drawing.palette import style
from plotting.drawing.source import Source
from tests.analyses import analysis_of
from tests.synthetic import Size, gathered, write_sweep
from tests.synthetic_waits import SHARES
from torsweep.config.experiment import Experiment, load_experiment
from torsweep.config.tracing import GROUP_OF, GROUPS
from torsweep.engines.table_schema import BREAKDOWN, validate
from torsweep.errors import InputError
from torsweep.pipeline.checks import require_answerable
from torsweep.pipeline.figures import figures
from torsweep.runsets.plan_tables import PlanTables
from torsweep.stats.claims.judging import CONTRADICTED, HOLDS, judge
from torsweep.stats.summarize import Summary, analyse, shown_summary, summarize, write_summary

SMALL = Size(web_clients=40, bulk_clients=20, relays=2, warm_up_s=10, duration_s=200)
EXPERIMENT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def followed() -> Experiment:
    return load_experiment(EXPERIMENT)


@pytest.fixture(scope="module")
def followed_tables(followed: Experiment, tmp_path_factory: pytest.TempPathFactory) -> PlanTables:
    folder = tmp_path_factory.mktemp("followed")
    runs = write_sweep(folder / "runs", followed.plan("main").knobs, [1, 2, 3], SMALL, "latency_breakdown")
    return gathered(runs, folder)


@pytest.fixture(scope="module")
def followed_summary(followed: Experiment, followed_tables: PlanTables) -> Summary:
    return summarize(followed_tables, followed)


def test_means_add_up_to_the_mean_time_of_the_followed(followed_tables, followed_summary):
    columns = ("client", "stream", "kind", "first_byte_us")
    keys = ["seed", *followed_tables.knobs]
    ways = followed_tables.breakdown(("client", "stream", "byte")).filter(pl.col("byte") == "first").unique()
    seen = followed_tables.streams(columns).join(ways, on=[*keys, "client", "stream"], how="semi")
    of_runs = seen.group_by([*keys, "kind"]).agg(pl.col("first_byte_us").mean() / 1e3)
    expected = of_runs.group_by([*followed_tables.knobs, "kind"]).agg(pl.col("first_byte_us").mean())
    means = followed_summary["breakdown"].filter(pl.col("byte") == "first", pl.col("slice") == ALL_DOWNLOADS)
    found = means.group_by([*followed_tables.knobs, "kind"]).agg(pl.col("mean_ms").sum())
    both = expected.cast(dict.fromkeys([*followed_tables.knobs, "kind"], pl.String)).join(
        found, on=[*followed_tables.knobs, "kind"]
    )
    assert len(both) == 6
    assert (both["first_byte_us"] - both["mean_ms"]).abs().max() < 1e-6


def test_planted_shares_are_found_in_every_slice(followed_summary):
    means = followed_summary["breakdown"].filter(pl.col("kind") == "web", pl.col("byte") == "first")
    # With about fifty downloads a run, none or one lies in the last hundredth.
    assert set(means["slice"]) >= set(SLICES[:-1])
    for (_,), own in means.group_by("slice"):
        shares = dict(own.group_by("part").agg(pl.col("mean_ms").sum() / own["mean_ms"].sum()).iter_rows())
        for _, _, part, share in SHARES:
            assert shares[part] == pytest.approx(share, abs=1e-4)
    runs = followed_summary["breakdown_runs"]
    sums = runs.group_by("seed", "scheduler", "kind", "byte").agg(pl.col("share").sum())
    assert (sums["share"] - 1).abs().max() < 1e-9


def test_groups_are_the_sums_of_their_parts(followed_tables, followed_summary):
    means, groups = followed_summary["breakdown"], followed_summary["breakdown_groups"]
    keys = [*followed_tables.knobs, "kind", "byte", "slice"]
    assert groups.group_by(keys).len()["len"].unique().to_list() == [len(GROUPS)]
    parts = means.with_columns(pl.col("part").replace_strict(GROUP_OF).alias("group"))
    sums = parts.group_by(*keys, "group").agg(pl.col("mean_ms").sum().alias("sum_ms"))
    both = groups.join(sums, on=[*keys, "group"], how="left").with_columns(pl.col("sum_ms").fill_null(0.0))
    assert (both["mean_ms"] - both["sum_ms"]).abs().max() < 1e-9
    wholes = groups.group_by(keys).agg(
        pl.col("mean_ms", "share").sum(), pl.col("whole_ms").first(), pl.col("downloads").n_unique()
    )
    assert (wholes["mean_ms"] - wholes["whole_ms"]).abs().max() < 1e-9
    assert (wholes["share"] - 1).abs().max() < 1e-9
    assert wholes["downloads"].unique().to_list() == [1]
    of_time = (
        followed_summary["breakdown_time"].group_by("seed", *keys[:-1], "second").agg(pl.col("share").sum())
    )
    assert (of_time["share"] - 1).abs().max() < 1e-9


def test_the_way_drawn_is_whole_and_of_the_median_download(followed_tables, followed_summary):
    way = followed_summary["breakdown_path"]
    assert set(way["kind"]) == {"web"} and way["seed"].unique().to_list() == [1]
    for _, own in way.group_by("scheduler", maintain_order=True):
        assert own["step"].to_list() == list(range(1, len(SHARES) + 2))
        ends = (own["start_ms"] + own["duration_ms"]).to_list()
        assert own["start_ms"].to_list() == pytest.approx([0.0, *ends[:-1]])


def test_claims_about_shares_are_judged(followed, followed_tables):
    analysis = analyse(followed_tables, followed)
    # Shares that are all alike say nothing of their spread.
    spread = pl.col("share") * (1 + pl.col("seed") / 100)
    analysis.known[waits_of_runs] = waits_of_runs(analysis).with_columns(spread)
    for least, verdict in ((0.1, HOLDS), (0.3, CONTRADICTED)):
        claim = LatencyShare.model_validate(
            {
                "id": "bucket",
                "text": "The first byte waits for tokens.",
                "test": "latency_share",
                "knob": "scheduler",
                "level": "kist_2ms",
                "kind": "web",
                "metric": "ttfb",
                "group": "bucket",
                "least": least,
            }
        )
        assert judge(claim, analysis, {}).verdict == verdict


def test_a_share_is_of_the_networks_of_its_level():
    wanted = {"kind": "web", "byte": "first", "group": "bucket"}
    rows = [
        {"seed": seed, "scale": scale, **wanted, "share": 0.3}
        for scale, seeds in (("0.01", (1, 2, 3)), ("0.1", (1, 2)))
        for seed in seeds
    ]
    levels = {"scale": "0.1"}
    analysis = analysis_of({"scale": ["0.01", "0.1"]}, levels, {waits_of_runs: pl.DataFrame(rows)}, (1, 2, 3))
    keys = {"id": "bucket", "text": "It waits.", "test": "latency_share", "kind": "web", "metric": "ttfb"}
    claim = LatencyShare.model_validate(
        {**keys, "knob": "scale", "level": "0.1", "group": "bucket", "least": 0.1}
    )
    assert [list(question.values) for question in claim.questions(analysis, levels)] == [[0.3, 0.3]]


def test_what_a_run_says_of_its_joins_comes_to_the_summary(tmp_path):
    size = Size(web_clients=20, bulk_clients=10, relays=2, warm_up_s=10, duration_s=60)
    followed = load_experiment(EXPERIMENT)
    runs = write_sweep(tmp_path / "runs", followed.plan("main").knobs, [1], size, "latency_breakdown")
    for run in runs:
        document = json.loads((run / "provenance.json").read_text())
        document["followed_downloads"] = {"followed": 9, "first_bytes": 8, "whole": 7, "no_record": 1}
        (run / "provenance.json").write_text(json.dumps(document))
    tables = gathered(runs, tmp_path)
    summary = summarize(tables, followed)
    counts = summary["breakdown_counts"]
    assert len(counts) == 4 * len(runs)
    assert dict(counts.group_by("outcome").agg(pl.col("downloads").min()).iter_rows()) == {
        "followed": 9,
        "first_bytes": 8,
        "whole": 7,
        "no_record": 1,
    }
    text, many = str(shown_summary(summary).tables), len(runs)
    assert f"Of {9 * many} followed downloads, {8 * many} with a first byte and {7 * many}" in text


def test_figures_that_need_followed_downloads_say_so():
    with pytest.raises(
        InputError, match=r"figures\[.\].*followed downloads.*accepted: tracing, with downloads"
    ):
        require_answerable(load_experiment(EXPERIMENT, {"tracing": None}))
    with pytest.raises(InputError, match="traces nothing"):
        load_experiment(EXPERIMENT, {"tracing": {"downloads": 0}})


def test_a_word_that_nobody_knows_is_refused(followed_tables, tmp_path):
    frame = pl.read_parquet(followed_tables.directory / "breakdown.parquet").select(list(BREAKDOWN.polars))
    validate(frame, BREAKDOWN, tmp_path)
    with pytest.raises(InputError, match=r"unknown word.*somewhere"):
        validate(frame.with_columns(pl.lit("somewhere").alias("place")), BREAKDOWN, tmp_path)


@pytest.mark.parametrize("what", ["breakdown", "percentiles", "over_time", "waterfall"])
def test_figures_are_drawn_from_the_files(followed_summary, tmp_path, what):
    write_summary(followed_summary, tmp_path / "summaries")
    with style():
        figure, points, caption = figures("latency_breakdown")[f"latency_{what}"].draw(
            Source(tmp_path / "summaries")
        )
        figure.savefig(tmp_path / "figure.png")
    assert len(points) and "first byte" in caption
    drawn = {part for part in points["part"]} if "part" in points.columns else set()
    assert drawn <= set(GROUP_OF)
