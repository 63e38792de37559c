"""Figures of streams that share a circuit, drawn from made-up runs."""

from __future__ import annotations

import functools
from collections.abc import Callable

import matplotlib.colors
import polars as pl
import pytest
from matplotlib.text import Text

from experiments.starvation.figures import amount
from plotting.drawing.palette import SMALL_PT, TEXT_WIDTH_IN, save, style
from plotting.drawing.source import Source
from tests.stamped import stamp
from tests.synthetic import gathered, summarized
from tests.synthetic_streams import write_runs
from torsweep.config.experiment import load_experiment
from torsweep.pipeline.figures import draw_figure, figures

BOTH = {name: figures("starvation")[name].draw for name in ("stream_progress", "stream_fairness")}


@pytest.fixture(scope="module")
def plan_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Source]:
    """Makes the tables and summaries of a plan of ``starvation`` once: (plan, number of networks)."""

    @functools.cache
    def make(plan: str = "main", networks: int = 2) -> Source:
        folder = tmp_path_factory.mktemp(plan)
        experiment = load_experiment("starvation")
        runs = write_runs(folder / "runs", experiment.plan(plan).knobs, range(1, networks + 1))
        tables = gathered(runs, folder, "starvation", plan)
        return Source(summarized(tables, experiment, folder))

    return make


def test_a_figure_says_what_made_it_and_its_caption_stands_beside_it(plan_of, tmp_path, monkeypatch):
    figures, out = [], tmp_path / "figures/x"

    def kept(figure, *more):
        figures.append(figure)
        save(figure, *more)

    monkeypatch.setattr("plotting.drawing.source.save", kept)
    draw_figure("stream_fairness", plan_of().summaries, out)
    assert "2 networks (seeds 1–2); " in out.with_suffix(".txt").read_text()
    (footer,) = (text.get_text() for text in figures[0].texts)
    assert "(a model of tor); era 2012; 2\u00a0networks" in footer.replace("\n", " ")


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("plan", ["main", "packaging", "streams", "middle_scaled"])
def test_every_plan_is_drawn_in_print_size(plan_of, name, plan):
    with style():
        figure, points, caption = BOTH[name](plan_of(plan))
        figure.draw_without_rendering()
        assert figure.get_figwidth() <= TEXT_WIDTH_IN
        assert figure.get_figheight() < 9
        texts = [text for text in figure.findobj(Text) if text.get_text().strip()]
        assert all(text.get_fontsize() >= SMALL_PT for text in texts)
        edges = figure.get_tightbbox().extents
    assert edges[0] > -0.02
    assert edges[2] < figure.get_figwidth() + 0.02
    assert points.height
    for words in ("cellsim 0.1.0", "era 2012", "2 networks (seeds 1–2)", "Round trips: those of the network"):
        assert words in caption
    assert ("Scaled down from 10,000 cells" in caption) == (plan == "middle_scaled")


def test_a_line_a_stream_in_the_colour_of_its_opening(plan_of):
    with style():
        figure, points, caption = BOTH["stream_progress"](plan_of())
    titles = [axis.get_title() for axis in figure.axes]
    assert titles[:3] == ["list\n6 of 9 starved", "reversed\n6 of 9 starved", "random\n0 of 9 starved"]
    assert "Middle bandwidth: 550 KiB/s" in caption
    assert "seed 1" in caption
    lines = figure.axes[0].get_lines()[:9]
    brightness = [sum(matplotlib.colors.to_rgb(line.get_color())) for line in lines]
    assert brightness == sorted(brightness)
    last, first = lines[8].get_ydata(), lines[0].get_ydata()
    assert last[-1] == first[-1] == pytest.approx(10)
    assert last[len(last) // 3] > 9 > 1 > first[len(first) // 3]
    assert points["opened"].unique().sort().to_list() == list(range(1, 10))
    assert points["cells_received"].max() == 10_000


def test_streams_that_never_complete_are_drawn_beside_those_that_do(plan_of, tmp_path):
    source = plan_of()
    for file in source.summaries.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    for name in ("shares.csv", "progress.csv"):
        frame = pl.read_csv(tmp_path / name)
        completed = pl.when(pl.col("opened") > 1).then(pl.col("completed_s"))
        frame.with_columns(completed.alias("completed_s")).write_csv(tmp_path / name)
    with style():
        _, points, _ = BOTH["stream_progress"](Source(stamp(tmp_path)))
    of_one = (
        points.filter(pl.col("activation_order") == "list")
        .group_by("opened")
        .agg(pl.col("completed_s").null_count())
    )
    assert set(of_one.filter(pl.col("completed_s") > 0)["opened"]) == {1}


def test_fairness_is_drawn_against_what_varies(plan_of):
    with style():
        against_middle, points, _ = BOTH["stream_fairness"](plan_of())
        against_streams, _, _ = BOTH["stream_fairness"](plan_of("streams"))
    jain, starved = against_middle.axes[:2]
    assert jain.get_ylabel() == "Jain's index"
    assert starved.get_xlabel() == "Middle (KiB/s)"
    assert [line.get_xdata().tolist() for line in starved.get_lines()[:1]] == [[450, 550, 600, 720]]
    assert starved.get_lines()[0].get_ydata().tolist() == [6, 6, 0, 0]
    assert against_streams.axes[1].get_xlabel() == "Streams on the circuit"
    assert points.filter(pl.col("activation_order") == "random")["starved"].to_list() == [0.0] * 4


def test_one_network_has_no_bands_and_says_so(plan_of):
    with style():
        _, _, caption = BOTH["stream_fairness"](plan_of("packaging", 1))
    assert "One network: no intervals" in caption


def test_engines_of_real_tor_say_what_made_the_round_trips(plan_of, tmp_path):
    for file in plan_of("packaging", 1).summaries.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    with style():
        _, _, caption = BOTH["stream_fairness"](Source(stamp(tmp_path, engine="emulation")))
    assert "Round trips: those of the network, emulated" in caption


def test_amounts_are_in_kib_per_second():
    assert [amount(level) for level in ("550KiBps", "1MiBps", "1024KBps", "9")] == [550, 1024, 1000, 9]
    with pytest.raises(ValueError, match="no amount"):
        amount("fast")
