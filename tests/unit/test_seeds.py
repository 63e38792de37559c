"""Random streams: fixed for ever by seed and name, and independent of one another."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from torsweep.seeds import stream

NAMES = st.lists(st.one_of(st.text(max_size=8), st.integers(0, 99)), min_size=1, max_size=3)


def test_the_first_draws_are_these_on_every_machine():
    assert stream(1, "relays").integers(0, 2**32, 4).tolist() == [238197981, 2094766782, 628606187, 264554682]


@given(st.integers(0, 2**31), NAMES)
def test_another_seed_is_another_stream(seed, names):
    assert stream(seed, *names).random() != stream(seed + 1, *names).random()


def test_another_name_is_another_stream():
    draws = {stream(1, *names).random() for names in [("a",), ("b",), ("a", "b"), ("ab",), ("a", 1), ()]}
    assert len(draws) == 6
