"""Looks by name, words for levels, ticks."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from plotting.drawing.axes import plain_log_ticks, signed_percent
from plotting.drawing.facets import Facets
from plotting.drawing.palette import knob_name, level_name, look
from torsweep.config.experiment import load_experiment

USUAL_TORS = ("stock", "plain", "merge_base")
LEVELS = {
    "refill_interval": ["1000ms", "100ms", "10ms"],
    "scheduler": ["kist_2ms", "kist_10ms", "kist_lite", "vanilla"],
    "circuit_policy": ["ewma", "round_robin"],
    "load": ["0.5", "0.8", "1", "1.1"],
}


@pytest.mark.parametrize("knob", LEVELS)
def test_levels_of_a_figure_differ_in_colour_and_without_it(knob: str) -> None:
    levels = LEVELS[knob]
    looks = [look(knob, level) for level in levels]
    assert len({entry.colour for entry in looks}) == len(levels)
    assert len({entry.dashes for entry in looks}) == len(levels)
    assert len({entry.marker for entry in looks}) == len(levels)


@given(st.from_regex(r"[a-z0-9_.]{1,12}", fullmatch=True))
def test_every_level_has_a_look_and_a_name(level: str) -> None:
    assert look("refill_interval", level).colour.startswith("#")
    assert level_name(level)


@given(st.from_regex(r"[a-z][a-z0-9_]{1,12}", fullmatch=True).filter(lambda name: name not in USUAL_TORS))
def test_what_is_compared_looks_other_than_its_baseline(name: str) -> None:
    """Names of an experiment's own have a computed look."""
    for baseline in USUAL_TORS:
        one, other = look("tor", name), look("tor", baseline)
        assert one.colour != other.colour and one.dashes != other.dashes


def test_a_level_looks_the_same_in_every_figure_and_as_its_knob_says() -> None:
    for levels in (["1"], ["0.5", "1", "1.1"]):
        scales = Facets.of({"load": levels}).scales()
        drawn = (scales["color"].values["1"], scales["linestyle"].values["1"], scales["marker"].values["1"])
        assert drawn == (look("load", "1").colour, look("load", "1").dashes, look("load", "1").marker)
    assert look("load", "1") != look("round_robin_quantum", "1")


@pytest.mark.parametrize(
    ("level", "name"),
    [
        ("1000ms", "1000 ms"),
        ("kist_10ms", "KIST 10 ms"),
        ("kist_lite", "KISTLite"),
        ("round_robin", "round-robin"),
        ("coarse_4ms", "coarse 4 ms"),
        ("0.5", "0.5"),
    ],
)
def test_levels_in_words(level: str, name: str) -> None:
    assert level_name(level) == name


def test_knobs_in_words() -> None:
    assert knob_name("refill_interval") == "Refill interval"
    assert knob_name("ewma_half_life") == "EWMA half life"


def test_facets_by_rule() -> None:
    knobs = {"a": ["1"], "b": ["1", "2"], "c": ["x", "y"], "d": ["p", "q", "r"]}
    facets = Facets.of(knobs)
    assert facets.knob == "b"
    assert facets.columns == [{"d": "p"}, {"d": "q"}, {"d": "r"}]
    assert facets.rows == [{"c": "x"}, {"c": "y"}]
    alone = Facets.of({"a": ["1"]})
    assert (alone.knob, alone.columns, alone.rows) == ("a", [{}], [{}])


@given(st.floats(0.001, 100), st.floats(1.05, 1000))
def test_ticks_are_few_and_in_view(low: float, ratio: float) -> None:
    axis = Figure().subplots()
    axis.set_xscale("log")
    axis.set_xlim(low, low * ratio)
    plain_log_ticks(axis)
    ticks = axis.get_xticks()
    assert 1 <= len(ticks) <= 7
    assert ((ticks >= low * 0.999) & (ticks <= low * ratio * 1.001)).all()


def test_percentages_have_signs() -> None:
    assert [signed_percent(share) for share in (0, 0.025, -0.1)] == ["0", "+2.5", "−10"]


@pytest.mark.parametrize(
    "file",
    sorted((Path(__file__).parents[3] / "experiments").glob("*/experiment.yaml")),
    ids=lambda file: file.parent.name,
)
def test_no_two_levels_of_a_plan_look_alike(file: Path) -> None:
    experiment = load_experiment(file)
    for name in experiment.plan_names:
        knobs = experiment.plan(name).knobs
        for knob, levels in knobs.items():
            assert len({look(knob, level) for level in levels}) == len(levels), (name, levels)
        facets = Facets.of(dict(knobs))
        colours = {look(facets.knob, level).colour for level in facets.levels}
        assert len(colours) == len(facets.levels), (name, facets.levels)
