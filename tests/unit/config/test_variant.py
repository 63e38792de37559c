"""The text of a variant, as it stands in paths, and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torsweep.config.eras import ERAS
from torsweep.config.knobs import KNOBS
from torsweep.config.variant import Variant
from torsweep.errors import InputError

NETWORKS = {"load": ["0.5", "20"], "scale": ["0.003"], "latency": ["king"], "loss": ["0", "0.01"]}
LEVELS = {
    **{name: sorted({*knob.marks, *filter(None, map(knob.usual_in, ERAS))}) for name, knob in KNOBS.items()},
    **NETWORKS,
    "middle_bandwidth": ["550KiBps"],
    "tor": ["stock", "my_branch"],
}
"""Some levels of each knob."""


@st.composite
def variants(draw: st.DrawFn) -> Variant:
    """Variants over any knobs in any order."""
    knobs = draw(
        st.lists(st.sampled_from([name for name in LEVELS if LEVELS[name]]), min_size=1, unique=True)
    )
    return Variant(tuple((knob, draw(st.sampled_from(LEVELS[knob]))) for knob in knobs))


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
    assert set(variant.overrides("network")) == {settings[knob] for knob in levels}
    if "load" in levels:
        assert variant.overrides("network")["load"] == float(levels["load"])


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
