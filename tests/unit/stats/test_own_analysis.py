"""Modules beside an experiment.yaml give it measures, statistics, tests of claims and figures."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tests.own_analysis import write_own_analysis
from tests.synthetic import Size, gathered, write_sweep
from torsweep.bundle import write_study_of
from torsweep.config.experiment import load_experiment
from torsweep.errors import InputError
from torsweep.home import CHECKOUT
from torsweep.pipeline.checks import require_answerable
from torsweep.pipeline.figures import draw_figure, figures
from torsweep.pipeline.made_with import MADE_WITH, other_torsweep
from torsweep.stats.claims import claim_tests, claims_of
from torsweep.stats.measures.summary import measures_of
from torsweep.stats.statistic import statistics
from torsweep.stats.summarize import analysis_modules, make_summary, read_shown_summary, write_summary

SMALL = Size(web_clients=10, bulk_clients=3, relays=3, warm_up_s=10, duration_s=40)
LEVELS = {"refill_interval": ["1000ms", "10ms"], "circuit_policy": ["ewma"]}
KEYS = {"knobs": LEVELS, "baseline": {"refill_interval": "1000ms", "circuit_policy": "ewma"}}


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory: a study with the experiment ``mine``; its folder."""
    monkeypatch.chdir(tmp_path)
    return write_own_analysis(tmp_path, **KEYS)


def test_they_are_summarized_judged_and_drawn_in_that_experiment_alone(study, tmp_path):
    experiment = load_experiment("mine")
    require_answerable(experiment)
    runs = write_sweep(tmp_path / "runs", LEVELS, [1, 2, 3, 4], SMALL, "mine")
    summary = make_summary(gathered(runs, tmp_path), experiment, tmp_path / "out")
    assert statistics("mine")["twice"].read(tmp_path / "out").rows() == [(1, 2), (2, 4), (3, 6), (4, 8)]
    assert [table.title for table in read_shown_summary(tmp_path / "out").tables["twice"]] == ["Twice"]
    assert "slow_downloads" in summary["measures"]["measure"]
    found = {verdict.claim: verdict.verdict for verdict in summary.verdicts}
    assert found["lucky"] == "holds" and set(found) == {"lucky", "fewest_at_10ms"}
    for name in experiment.figures:
        draw_figure(name, tmp_path / "out", tmp_path / "figures" / name)
    assert (tmp_path / "figures/twice_bars.csv").read_text() == "seed,twice\n1,2\n2,4\n3,6\n4,8\n"
    for listed in (statistics, claim_tests, figures, measures_of):
        assert not {"twice", "lucky", "twice_bars", "slow_downloads"} & set(listed("refill_sweep"))


def test_a_module_of_figures_alone_changes_no_summary(study):
    assert analysis_modules("mine") == ["experiments/mine/analysis.py"]


@pytest.mark.parametrize(
    ("name", "wrong", "right", "said"),
    [
        ("a", "(source)", "(source):", r"mine_a/figures.py: line 7: SyntaxError: expected ':'"),
        ("b", "PlanFigur(", "PlanFigure(", r"mine_b/figures.py: line 14: NameError: name 'PlanFigur'"),
        ("c", "summery", "summary", r"mine_c/figures.py: line 8: AttributeError: 'Source' object has no"),
    ],
)
def test_a_mistake_is_told_with_its_place(study, tmp_path, summary, name, wrong, right, said):
    own = write_own_analysis(tmp_path, f"mine_{name}", **KEYS) / "figures.py"
    own.write_text(own.read_text().replace(right, wrong))
    runs = write_sweep(tmp_path / "runs", LEVELS, [1], SMALL, f"mine_{name}")
    with pytest.raises(InputError, match=said):
        make_summary(gathered(runs, tmp_path), load_experiment(f"mine_{name}"), tmp_path / "out")
        draw_figure("twice_bars", tmp_path / "out", tmp_path / "figures/twice_bars")


def test_two_of_one_name_are_refused(study, tmp_path):
    own = write_own_analysis(tmp_path, "mine_twice", **KEYS) / "analysis.py"
    own.write_text(own.read_text().replace('"twice",', '"medians",', 1))
    with pytest.raises(InputError, match="two statistics have this name, got 'medians'"):
        statistics("mine_twice")


def test_the_folder_is_published_whole_and_opened_elsewhere(study, tmp_path, monkeypatch):
    write_own_analysis(tmp_path, "other")
    (study / "more.py").write_text("from experiments.other import analysis\n")
    there = tmp_path / "there"
    assert write_study_of(study / "experiment.yaml", "mine", "ci", None, there) == []
    names = {str(file.relative_to(there)) for file in (there / "experiments").rglob("*") if file.is_file()}
    own = ("README.md", "analysis.py", "experiment.yaml", "figures.py", "more.py")
    assert names == {*(f"experiments/mine/{name}" for name in own), "experiments/other/analysis.py"}
    monkeypatch.chdir(there)
    claims = claims_of(load_experiment("mine"))
    assert [type(claim).__name__ for claim in claims] == ["Lucky", "ExtremeMeasure"]
    assert other_torsweep() is None
    MADE_WITH.write_text('{"torsweep": "0.0.9", "analysis": "0123456789ab"}')
    assert "published with torsweep 0.0.9 (analysis 0123456789ab); this is " in other_torsweep()


def test_what_is_written_is_read_back_as_it_was(summary, tmp_path):
    write_summary(summary, tmp_path)
    known = statistics("refill_sweep")
    empty = {name for name, frame in summary.frames.items() if frame.is_empty()}
    assert empty == {name for name in summary.frames if not (tmp_path / known[name].file).exists()}
    for name, frame in summary.frames.items():
        if name in empty:
            continue
        found = known[name].read(tmp_path, summary.provenance.knobs)
        assert found.schema == frame.schema, name
        assert found.null_count().rows() == frame.null_count().rows(), name


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda frame: frame.drop("ninth_decile"), "ninth_decile"),
        (lambda frame: frame.with_columns(ninth_decile=pl.lit("x")), "conversion from `str` to `f64` failed"),
        (lambda frame: frame.clear(), "has no rows; accepted: one or more"),
    ],
)
def test_a_summary_that_somebody_edited_is_refused_in_one_line(summary, tmp_path, change, said):
    """Whoever edits a file may also put its new checksum into the manifest."""
    write_summary(summary, tmp_path)
    file = tmp_path / "queues.csv"
    change(pl.read_csv(file, infer_schema=False)).write_csv(file)
    with pytest.raises(InputError, match=rf"^{file}: .*{said}.*$") as refused:
        statistics("refill_sweep")["queues"].read(tmp_path, summary.provenance.knobs)
    assert "\n" not in str(refused.value)


def test_experiments_that_ship_bring_their_own(monkeypatch):
    monkeypatch.chdir(CHECKOUT)
    assert "fairness" in statistics("starvation") and "fairness" not in statistics()
    assert "stair_step" in claim_tests("refill_sweep") and "stair_step" not in claim_tests()
    assert "cell_density" in figures("cell_trace") and "cell_density" not in figures()
