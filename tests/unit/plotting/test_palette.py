"""Looks by name, words for levels, ticks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from plotting.drawing.axes import plain_log_ticks, signed_percent
from plotting.drawing.facets import Facets
from plotting.drawing.palette import knob_name, level_name, marks, named
from torsweep.config.knobs import KNOBS


@given(st.lists(st.from_regex(r"[a-z0-9_.]{1,12}", fullmatch=True), min_size=1, max_size=20, unique=True))
def test_no_two_of_many_levels_look_alike(levels: list[str]) -> None:
    drawn = marks("refill_interval", levels).values()
    assert len({(one.colour, one.dashes) for one in drawn}) == len(levels), "lines without markers"
    assert list(marks("options", levels)) == levels


def test_a_level_has_the_look_that_its_knob_states() -> None:
    stated = KNOBS["refill_interval"].marks
    drawn = Facets.of({"refill_interval": ["5ms", "100ms", "10ms"]}).scales()["color"].values
    assert (drawn["100ms"], drawn["10ms"]) == (stated["100ms"].colour, stated["10ms"].colour)


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


def test_a_level_is_called_by_the_name_that_it_was_given() -> None:
    with named({"a_1": "A_1 on role=relay"}):
        assert level_name("a_1") == "A_1 on role=relay"
    assert level_name("a_1") == "a 1"


@pytest.mark.parametrize(
    ("knob", "name"),
    [
        ("refill_interval", "Refill interval"),
        ("network.relay_values", "Relay values"),
        ("consensus.cc_alg", "cc_alg"),
        ("ewma_halflife", "EWMA halflife"),
    ],
)
def test_a_knob_is_named_as_a_reader_would_write_it(knob, name):
    assert knob_name(knob) == name
