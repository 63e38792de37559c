"""The table of knobs: what each level sets, and what is no level."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docs.generate.schema import schema_text
from plotting.drawing.palette import marks
from torsweep.config.eras import ERAS, tor_settings, usual_levels
from torsweep.config.knob import THIRD, Knob, TorOption, number
from torsweep.config.knobs import KNOBS, find_knob
from torsweep.config.variant import Variant
from torsweep.errors import InputError
from torsweep.tor.torrc import consensus_parameters


def test_every_era_gives_a_level_to_every_knob_of_tor():
    tor_knobs = {knob.name for knob in KNOBS.values() if knob.of_tor}
    for era in ERAS:
        assert tor_knobs <= set(usual_levels(era))
        assert all(find_knob(name).read(level) for name, level in usual_levels(era).items())


@pytest.mark.parametrize(
    ("knob", "level", "path", "value"),
    [
        ("refill_interval", "10ms", "refill.interval_ns", 10_000_000),
        ("refill_remainder", "kept", "refill.keeps_remainder", True),
        ("circuit_policy", "round_robin", "circuit_policy.quantum_cells", 32),
        ("ewma_half_life", "5s", "circuit_policy.half_life_ns", 5_000_000_000),
        ("scheduler", "kist_10ms", "channel_scheduler.interval_ns", 10_000_000),
        ("scheduler", "kist_lite", "channel_scheduler.kind", "kist_lite"),
        ("scheduler", "kist_lite_5ms", "channel_scheduler.interval_ns", 5_000_000),
        ("activation_order", "least_recently_served", "edge.activation_order", "least_recently_served"),
        ("nagle", "off", "nagle", False),
        ("clock", "coarse_4ms", "clock_quantum_ns", 4_000_000),
        ("guards", "2", "guards", 2),
    ],
)
def test_a_level_sets_its_setting_and_nothing_else(knob, level, path, value):
    baseline = tor_settings("2012", {}).model_dump()
    turned = tor_settings("2012", {knob: level}).model_dump()
    found = turned
    for key in path.split("."):
        found = found[key]
    assert found == value
    section = path.split(".")[0]
    assert {k: v for k, v in turned.items() if k != section} == {
        k: v for k, v in baseline.items() if k != section
    }


@pytest.mark.parametrize(
    ("knob", "level", "settings"),
    [
        ("streams", "9", {"parallel_streams": 9}),
        ("cells", "10000", {"response_bytes": 4_980_000}),
        ("middle_bandwidth", "550KiBps", {"chain.middle": "550 KiB/s"}),
        ("middle_bandwidth", "21KBps", {"chain.middle": "21 KB/s"}),
        ("scale", "0.01", {"scale": 0.01}),
        ("latency", "atlas-2023", {"latency": "atlas-2023"}),
        ("loss", "0.2", {"loss.share": 0.2}),
    ],
)
def test_a_level_of_traffic_or_network_sets_its_key(knob, level, settings):
    assert find_knob(knob).read(level) == settings


@pytest.mark.parametrize(
    ("knob", "level"),
    [
        ("scale", "1%"),
        ("loss", "0.0"),
        ("loss", "0.00001"),
        ("middle_bandwidth", "550Kibps"),
        ("refill_interval", "10 ms"),
        ("refill_interval", "1.5ms"),
        ("refill_mode", "Burst"),
        ("clock", "coarse"),
        ("load", "../etc"),
    ],
)
def test_what_is_no_level_is_refused_with_the_levels_there_are(knob, level):
    with pytest.raises(InputError) as refusal:
        find_knob(knob).read(level)
    assert str(refusal.value).startswith(f"{knob}: is no level of this knob, got {level!r}; accepted: ")


@given(st.sampled_from(sorted(KNOBS)), st.text(max_size=20))
def test_any_text_is_a_level_or_is_refused(knob, text):
    try:
        settings = KNOBS[knob].read(text)
    except InputError:
        return
    assert settings
    assert not set(text) & set(", =/\n")


def test_a_knob_without_effect_is_refused_and_an_unknown_era_too():
    with pytest.raises(InputError, match="ewma_half_life: has no effect under this circuit_policy"):
        tor_settings("2012", {"circuit_policy": "round_robin", "ewma_half_life": "3s"})
    with pytest.raises(InputError, match=r"era: no such era, got '1999'; accepted: 2012, 2019, today"):
        tor_settings("1999", {})


def test_a_quantum_is_applied_under_round_robin_only():
    turned = tor_settings("2012", {"circuit_policy": "round_robin", "round_robin_quantum": "1"})
    assert turned.circuit_policy.model_dump() == {"kind": "round_robin", "quantum_cells": 1}
    assert tor_settings("2012", {"round_robin_quantum": "1"}) == tor_settings("2012", {})


def test_a_knob_is_one_row(monkeypatch):
    """Its level in each era, what the model and tor are told, its mark, and what the schema says of it."""
    row = Knob(
        "circuit_window",
        "How many cells of a circuit may be under way.",
        number(100, 1000, of="cells"),
        "congestion.circuit_window_cells",
        "1000",
        tor=(TorOption("circwindow", where="consensus"),),
        under={"congestion": "fixed"},
        marks={"500": THIRD},
        words={"500": "half"},
    )
    monkeypatch.setitem(KNOBS, row.name, row)
    usual, turned = tor_settings("2012", {}), tor_settings("2012", {"circuit_window": "500"})
    assert (usual.congestion.circuit_window_cells, turned.congestion.circuit_window_cells) == (1000, 500)
    assert consensus_parameters(turned)["circwindow"] == 500
    assert Variant.parse("guards=2+circuit_window=500").key == "guards=2+circuit_window=500"
    assert json.loads(schema_text())["knobs"]["circuit_window"]["x-most"] == 1000
    assert marks("circuit_window", ["500"]) == {"500": THIRD}
    with pytest.raises(InputError, match="circuit_window: has no effect under this congestion, got 'vegas'"):
        tor_settings("today", {"circuit_window": "500"})
    with pytest.raises(InputError, match="accepted: a whole number of cells from 100 to 1000"):
        tor_settings("2012", {"circuit_window": "1001"})
