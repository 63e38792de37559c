"""The text of a variant, as it stands in paths, and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torsweep.config.knobs import KNOBS
from torsweep.config.variant import Variant
from torsweep.errors import InputError

LEVELS = {
    "refill_interval": st.integers(1, 1000).map(lambda ms: f"{ms}ms"),
    "refill_mode": st.sampled_from(["burst", "lazy"]),
    "refill_phase": st.sampled_from(["per_relay", "aligned"]),
    "refill_remainder": st.sampled_from(["dropped", "kept"]),
    "refill_burst": st.sampled_from(["descriptor", "rate"]),
    "circuit_policy": st.sampled_from(["ewma", "round_robin"]),
    "round_robin_quantum": st.integers(1, 9999).map(str),
    "ewma_half_life": st.integers(1, 3600).map(lambda s: f"{s}s"),
    "scheduler": st.one_of(st.just("vanilla"), st.integers(2, 100).map(lambda ms: f"kist_{ms}ms")),
    "activation_order": st.sampled_from(["list", "reversed", "random", "least_recently_served"]),
    "packaging": st.sampled_from(["even", "greedy"]),
    "congestion": st.sampled_from(["fixed", "vegas"]),
    "conflux": st.sampled_from(["auto", "on", "off"]),
    "nagle": st.sampled_from(["on", "off"]),
    "clock": st.integers(1, 100).map(lambda ms: f"coarse_{ms}ms"),
    "guards": st.integers(1, 99).map(str),
    "pauses": st.sampled_from(["any", "whole_seconds"]),
    "tcp": st.sampled_from(["linux", "linux_6_18"]),
    "link_queue": st.one_of(st.just("codel"), st.integers(2, 99_999).map(lambda kb: f"droptail_{kb}KB")),
    "load": st.decimals("0.01", "20", places=2).map(str),
    "scale": st.decimals("0.003", "1", places=3).map(str),
    "latency": st.sampled_from(["king", "planetlab", "atlas-2023"]),
    "loss": st.sampled_from(["0", "0.0001", "0.01", "0.2"]),
    "streams": st.integers(1, 99).map(str),
    "cells": st.integers(1, 9_999_999).map(str),
    "middle_bandwidth": st.integers(20, 9999).map(lambda kib: f"{kib}KiBps"),
    "tor": st.from_regex(r"[a-z][a-z0-9_]{0,9}", fullmatch=True),
    "options": st.from_regex(r"[a-z][a-z0-9_]{0,9}", fullmatch=True),
}


@st.composite
def variants(draw: st.DrawFn) -> Variant:
    """Variants over any knobs in any order."""
    knobs = draw(st.lists(st.sampled_from(sorted(KNOBS)), min_size=1, unique=True))
    return Variant(tuple((knob, draw(LEVELS[knob])) for knob in knobs))


@given(variants())
def test_a_key_reads_back_as_the_same_variant(variant):
    assert Variant.parse(variant.key) == variant
    assert "/" not in variant.key
    assert " " not in variant.key


@given(variants())
def test_network_levels_are_those_of_network_knobs(variant):
    levels = variant.network_levels
    settings = {
        "load": "load",
        "scale": "scale",
        "latency": "latency",
        "middle_bandwidth": "chain.middle",
        "loss": "loss.share",
    }
    assert set(levels) == settings.keys() & dict(variant.levels).keys()
    assert set(variant.network_overrides) == {settings[knob] for knob in levels}
    if "load" in levels:
        assert variant.network_overrides["load"] == float(levels["load"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is no variant"),
        ("refill_interval", "is no variant"),
        ("refill_interval=10ms+", "is no variant"),
        ("refil_interval=10ms", "no such knob (did you mean 'refill_interval'?)"),
        ("refill_interval=10ms+refill_interval=1ms", "names refill_interval twice"),
        ("refill_interval=10ms circuit_policy=ewma", "is no level of this knob"),
        ("refill_interval=../x", "is no level of this knob"),
    ],
)
def test_what_is_no_variant_is_refused(text, said):
    with pytest.raises(InputError) as refusal:
        Variant.parse(text)
    assert said in str(refusal.value)
