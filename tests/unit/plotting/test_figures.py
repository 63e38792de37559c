"""Every figure of an experiment, drawn from a small synthetic sweep."""

from __future__ import annotations

import functools
import json
import re
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path

import matplotlib
import polars as pl
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Annotation, Text

from plotting.drawing.palette import COLUMN_WIDTH_IN, SMALL_PT, TEXT_WIDTH_IN, save, style
from plotting.drawing.source import Source
from tests.stamped import stamp
from tests.synthetic import Size, gathered, summarized, with_perf_clients, write_sweep
from torsweep.config.experiment import load_experiment
from torsweep.errors import InputError
from torsweep.pipeline.figures import draw_figure, figures
from torsweep.runsets.plan_tables import PlanTables
from torsweep.stats.summarize import summarize, write_summary

EXPERIMENTS = Path(__file__).parents[3] / "experiments"
EVERY = figures("refill_sweep")
FIGURES = {name: figure.draw for name, figure in EVERY.items()}
OF_ANY_PLAN = [name for name, figure in EVERY.items() if not figure.needs[0].startswith("perf_")]
"""Those of perf clients are drawn below."""

Change = Callable[[pl.DataFrame], pl.DataFrame]

SMALL = Size(web_clients=10, bulk_clients=3, relays=3, warm_up_s=10, duration_s=70)


@pytest.fixture(scope="module")
def plan_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Source]:
    """Makes the tables and summaries of a plan once: (experiment, plan, number of networks)."""

    @functools.cache
    def make(name: str = "refill_sweep", plan: str = "main", networks: int = 3) -> Source:
        folder = tmp_path_factory.mktemp(plan)
        experiment = load_experiment(EXPERIMENTS / name / "experiment.yaml")
        seeds = range(1, networks + 1)
        runs = write_sweep(folder / "runs", experiment.plan(plan).knobs, seeds, SMALL, name)
        tables = gathered(runs, folder, plan=plan)
        return Source(summarized(tables, experiment, folder))

    return make


@pytest.fixture
def source(plan_of: Callable[..., Source]) -> Source:
    return plan_of()


def _drawn(name: str, source: Source) -> tuple[Figure, pl.DataFrame, str]:
    """The figure ``name``, its points and its caption."""
    with style():
        return FIGURES[name](source)


def _altered(source: Source, folder: Path, name: str, change: Change) -> Source:
    """``source`` in ``folder``, its summary ``name``.csv changed."""
    copy = Path(shutil.copytree(source.summaries, folder / "summaries", dirs_exist_ok=True))
    file = copy / f"{name}.csv"
    change(pl.read_csv(file, infer_schema_length=None)).write_csv(file)
    return Source(stamp(copy))


def _titles(figure: Figure) -> list[str]:
    return [axis.get_title() for axis in figure.axes]


def test_every_figure_says_what_it_is():
    assert len(FIGURES) >= 10
    for figure in EVERY.values():
        assert figure.title and figure.how_to_read.endswith(".")


@pytest.mark.parametrize("name", ["ttfb_cdf", "measure_cdfs", "relay_queues"])
def test_the_same_summaries_give_the_same_bytes(source, tmp_path, name):
    for folder in ("a", "b"):
        draw_figure(name, source.summaries, tmp_path / folder / name)
    for ending in ("pdf", "png", "csv"):
        first = (tmp_path / f"a/{name}.{ending}").read_bytes()
        assert first == (tmp_path / f"b/{name}.{ending}").read_bytes()


def test_nothing_of_the_users_matplotlibrc_shows_through(source, tmp_path, monkeypatch):
    draw_figure("ttfb_cdf", source.summaries, tmp_path / "usual/ttfb_cdf")
    for key, value in {"savefig.facecolor": "grey", "savefig.bbox": "tight", "text.usetex": True}.items():
        monkeypatch.setitem(matplotlib.rcParams, key, value)
    draw_figure("ttfb_cdf", source.summaries, tmp_path / "users/ttfb_cdf")
    assert matplotlib.rcParams["text.usetex"]
    for ending in ("pdf", "png"):
        usual, users = (tmp_path / f"{of}/ttfb_cdf.{ending}" for of in ("usual", "users"))
        assert usual.read_bytes() == users.read_bytes()


def _check_fonts_and_origin(drawn: Path) -> None:
    """The PDF has no date and embeds fonts as TrueType, and the PNG names the engine."""
    pdf = drawn.with_suffix(".pdf").read_bytes()
    assert b"CreationDate" not in pdf
    assert b"/FontFile2" in pdf
    assert b"/Type3" not in pdf
    unpacked = b"".join(
        zlib.decompress(part) for part in re.findall(rb"stream\r?\n(x.*?)endstream", pdf, re.DOTALL)
    )
    assert b"/Type3" not in unpacked
    assert b"cellsim 0.1.0 (a model of tor)" in drawn.with_suffix(".png").read_bytes()


def test_files_carry_the_provenance_of_their_numbers(source, tmp_path):
    draw_figure("ttfb_cdf", source.summaries, tmp_path / "ttfb_cdf")
    png = (tmp_path / "ttfb_cdf.png").read_bytes()
    origin = json.loads(re.search(rb"tEXtProvenance\0({.*?\]})", png, re.DOTALL)[1])
    assert (origin["engine_version"], origin["plan"], origin["seeds"]) == ("0.1.0", "main", [1, 2, 3])
    assert (len(origin["run_sha256"]), len(origin["network_sha256"])) == (18, 3)
    pdf = (tmp_path / "ttfb_cdf.pdf").read_bytes()
    assert b"/Keywords" in pdf
    assert origin["run_sha256"][-1].encode() in pdf


@pytest.mark.parametrize("name", OF_ANY_PLAN)
def test_a_figure_is_three_files_in_print_size(source, tmp_path, name):
    with style():
        figure, points, caption = FIGURES[name](source)
        figure.draw_without_rendering()
        assert figure.get_figwidth() in (COLUMN_WIDTH_IN, TEXT_WIDTH_IN)
        assert figure.get_figheight() < 9.5
        texts = [text for text in figure.findobj(Text) if text.get_text().strip()]
        assert all(text.get_fontsize() >= SMALL_PT for text in texts)
        edges = figure.get_tightbbox().extents
        save(figure, points, caption, source.origin(), tmp_path / name, "title", "How to read it.")
    assert edges[0] > -0.02
    assert edges[2] < figure.get_figwidth() + 0.02
    for words in ("cellsim 0.1.0", "era 2012", "network ci", "3 networks (seeds 1–3)", "10 s cut", "web and"):
        assert words in caption
    written = pl.read_csv(tmp_path / f"{name}.csv")
    assert written.height > 10
    assert {"refill_interval", "circuit_policy"} <= set(written.columns)
    _check_fonts_and_origin(tmp_path / name)


@pytest.mark.parametrize(
    ("experiment", "plan", "name"),
    [
        *(("refill_sweep", "loads", name) for name in OF_ANY_PLAN),
        *(("scheduler_choice", "main", name) for name in ("ttfb_cdf", "differences")),
        *(("refill_sweep", plan, "ttfb_cdf") for plan in ("geometry", "aligned_phases")),
    ],
)
def test_the_same_modules_draw_other_knobs(plan_of, experiment, plan, name):
    source = plan_of(experiment, plan, 1)
    figure, points, caption = _drawn(name, source)
    assert points.height
    # Without bands, and the caption says so.
    assert "1 network (seed 1)" in caption
    assert "t-interval" not in caption
    if name not in ("differences", "clients_without_progress"):
        expected = {"loads": "load 0.5", "geometry": "Atlas 2023"}.get(plan, "EWMA")
        assert {expected, f"{expected}, against load 1"} & set(_titles(figure))
    assert ("aligned" in caption) == (plan == "aligned_phases")


def test_curves_end_below_one_where_downloads_fail(source):
    figure, points, _ = _drawn("ttlb_cdf", source)
    assert points["top"].min() < 1
    for line in figure.axes[0].get_lines():
        assert max(line.get_ydata()) <= 1
    assert "failed" in [text.get_text() for text in figure.axes[0].texts]


@pytest.mark.parametrize(("highest", "corner"), [(0.9, (1, 0)), (0.6, (0, 1))])
def test_failures_stand_where_no_curve_ends(source, tmp_path, highest, corner):
    short = _altered(source, tmp_path, "curves", lambda curves: curves.filter(pl.col("share") < highest))
    figure, _, _ = _drawn("ttlb_cdf", short)
    (failed,) = (text for text in figure.axes[0].texts if text.get_text() == "failed")
    assert isinstance(failed, Annotation)
    assert failed.xy == corner


def test_a_kind_without_downloads_is_named_and_has_no_panels(source, tmp_path):
    of_web, with_ewma = pl.col("kind") == "web", pl.col("circuit_policy") == "ewma"
    figure, _, _ = _drawn("ttfb_cdf", _altered(source, tmp_path, "curves", lambda rows: rows.filter(of_web)))
    assert len(figure.axes) == 2
    assert "no bulk download got its first byte" in " ".join(figure.texts[0].get_text().split())
    at_one_level = _altered(source, tmp_path, "curves", lambda rows: rows.filter(of_web | with_ewma))
    figure, _, _ = _drawn("ttfb_cdf", at_one_level)
    said = [any("in the measured" in text.get_text() for text in axis.texts) for axis in figure.axes]
    assert said == [False, False, False, True]


def test_a_median_that_is_not_reached_is_named_and_has_no_panel(source, tmp_path):
    no_bulk_ttlb = (pl.col("kind") == "bulk") & (pl.col("metric") == "ttlb")
    unknown = pl.when(~no_bulk_ttlb).then(pl.col(pl.Float64))
    without = _altered(source, tmp_path, "differences", lambda rows: rows.with_columns(unknown))
    figure, _, caption = _drawn("differences", without)
    assert _titles(figure) == ["Web, first byte", "Web, last byte", "Bulk, first byte"]
    assert "Median not reached: Bulk, last byte." in caption


def test_differences_have_their_numbers_beside_them_and_one_axis(source):
    with style():
        figure, points, _ = FIGURES["differences"](source)
        figure.draw_without_rendering()
    first = points.filter(kind="web", metric="ttfb").row(0, named=True)
    assert f"{100 * first['relative']:+.0f}".replace("-", "−") in figure.axes[0].texts[0].get_text()
    assert len({axis.get_xlim() for axis in figure.axes}) == 1
    low, high = figure.axes[-1].get_xlim()
    assert sum(low <= tick <= high for tick in figure.axes[-1].get_xticks()) >= 3


@pytest.mark.parametrize("name", ["ttfb_cdf", "ttlb_cdf"])
def test_panels_of_curves_share_their_axes(source, name):
    figure, _, _ = _drawn(name, source)
    assert len({(axis.get_xlim(), axis.get_ylim()) for axis in figure.axes}) == 1


@pytest.mark.parametrize("column", ["networks", "fewest"])
def test_a_spread_of_one_network_or_of_one_download_is_named_and_not_drawn(source, tmp_path, column):
    of_bulk = (pl.col("distribution") == "goodput") & (pl.col("group") == "bulk")
    one = pl.when(of_bulk).then(1).otherwise(column).alias(column)
    whole, _, _ = _drawn("measure_cdfs", source)
    alone = _altered(source, tmp_path, "distributions", lambda rows: rows.with_columns(one))
    figure, _, caption = _drawn("measure_cdfs", alone)
    assert len(whole.axes) - len(figure.axes) == 2
    assert "Too few for a curve: bulk downloads." in caption


@pytest.mark.parametrize("name", ["ttfb_cdf", "measure_cdfs"])
def test_bands_have_the_dashes_of_their_level(source, name):
    """So they are told apart in grey."""
    figure, _, _ = _drawn(name, source)
    bands = [collection for axis in figure.axes for collection in axis.collections + axis.patches]
    assert len({str(band.get_linestyle()) for band in bands}) > 1


def test_queues_that_no_engine_saw_are_said_to_be_missing(source, tmp_path):
    copy = Path(shutil.copytree(source.summaries, tmp_path / "summaries"))
    (copy / "queues.csv").unlink()
    figure, points, caption = _drawn("relay_queues", Source(stamp(copy)))
    assert "not observed" in figure.texts[-1].get_text() + figure.texts[0].get_text()
    assert "not observed" in caption and points.is_empty()


def test_an_interval_beyond_the_panel_has_an_arrow(source, tmp_path):
    def arrows(high: float) -> int:
        of_web, first = (pl.col("metric") == "ttfb") & (pl.col("kind") == "web"), pl.int_range(pl.len()) == 0

        def bounded(rows: pl.DataFrame) -> pl.DataFrame:
            own = rows.filter(of_web, estimand="median").with_columns(
                relative=0.1,
                relative_low=0.0,
                relative_high=0.2,
                relative_simultaneous_low=-0.1,
                relative_simultaneous_high=pl.when(first).then(high).otherwise(0.3),
            )
            return pl.concat([own, rows.filter(~of_web)], how="vertical_relaxed")

        altered = _altered(source, tmp_path, "differences", bounded)
        figure, _, _ = _drawn("differences", Source(stamp(altered.summaries, seeds=[1, 2, 3, 4])))
        web = next(axis for axis in figure.axes if axis.get_title() == "Web, first byte")
        # Of the layers of marks, the arrows to the right are the last but one.
        return len(web.collections[-2].get_offsets()) if len(web.collections) > 3 else 0

    assert arrows(0.4) == 0
    assert arrows(40.0) == 1


@pytest.mark.parametrize("name", [name for name in FIGURES if name.startswith("perf_")])
def test_perf_clients_are_drawn_by_size(source, tmp_path, name):
    tables = PlanTables.open(source.summaries.parent / "tables")
    experiment = load_experiment(EXPERIMENTS / "refill_sweep/experiment.yaml")
    (tmp_path / "tables").mkdir()
    write_summary(summarize(with_perf_clients(tables, tmp_path / "tables"), experiment), tmp_path / "with")
    figure, points, caption = _drawn(name, Source(tmp_path / "with"))
    without, _, none = _drawn(name, source)
    assert set(points["kind"]) == {"perf_5mib"}
    assert "of 5 MiB" in caption and "web" not in caption
    titles = " ".join(axis.get_title() + axis.get_ylabel() for axis in figure.axes)
    assert "5 MiB" in titles
    assert not without.axes and "no perf clients" in none
    draw_figure(name, source.summaries, tmp_path / "figures" / name)


def test_a_folder_without_summaries_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"plan\.json"):
        draw_figure("ttfb_cdf", tmp_path, tmp_path / "x")


def test_a_plan_of_one_variant_has_nothing_to_compare(tmp_path):
    experiment = load_experiment(EXPERIMENTS / "refill_sweep/experiment.yaml")
    knobs = {knob: [level] for knob, level in experiment.baseline.items()}
    runs = write_sweep(tmp_path / "runs", knobs, (1, 2), SMALL)
    source = Source(summarized(gathered(runs, tmp_path), experiment, tmp_path))
    points = {name: _drawn(name, source)[1] for name in OF_ANY_PLAN}
    assert points["differences"].is_empty()


def test_long_names_of_levels_are_whole_in_legends_and_beside_lines(source, tmp_path):
    copy = Path(shutil.copytree(source.summaries, tmp_path / "summaries"))
    long_name = "guards_are_kept_for_twice_as_long_and_circuits_are_built_earlier"
    for file in (copy / "curves.csv", copy / "differences.csv", copy / "outcomes.csv", copy / "plan.json"):
        file.write_text(re.sub("(?<![0-9])1000ms", long_name, file.read_text()))
    for name in ("ttfb_cdf", "differences"):
        with style():
            figure, _, _ = FIGURES[name](Source(stamp(copy)))
            figure.draw_without_rendering()
            edges = figure.get_tightbbox().extents
        assert edges[0] > -0.02 and edges[2] < figure.get_figwidth() + 0.02
        shown = [text.get_text() for text in figure.findobj(Text)]
        assert any(long_name.replace("_", " ") in text.replace("\n", " ") for text in shown)


def test_a_few_networks_are_shown_themselves_in_differences(source):
    _, points, caption = _drawn("differences", source)
    assert "Thin: the lowest and the highest of 3 networks" in caption and "t-interval" not in caption
    assert points["relative_simultaneous_low"].null_count() == points.height
    within = points.drop_nulls("relative").select(
        pl.col("relative").is_between("relative_low", "relative_high")
    )
    assert within.to_series().all()
