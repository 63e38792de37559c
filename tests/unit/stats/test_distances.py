"""The greatest gap between two curves is what it is by hand, and nothing is read where nothing is known."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from torsweep.engines.table_schema import STREAMS
from torsweep.stats.streams.distances import Curve, all_curves, distance

Row = tuple[float, str]


def _curve(rows: list[Row]) -> Curve:
    """Downloads with a time in seconds: ``complete`` took it, ``failed`` and ``unfinished`` ended then."""
    table = []
    for number, (seconds, outcome) in enumerate(rows):
        time_us = round(seconds * 1e6)
        row: dict[str, object] = dict.fromkeys(STREAMS.polars)
        row |= {"client": f"web{number}", "kind": "web", "start_us": 0, "observed_us": time_us}
        row |= {"outcome": outcome, "command_us": 0}
        if outcome == "complete":
            row |= {"first_byte_us": time_us, "last_byte_us": time_us}
        table.append(row)
    streams = pl.DataFrame(table, schema=STREAMS.polars)
    streams = streams.with_columns(source=pl.lit("cellsim"), seed=pl.lit(1))
    return all_curves(streams, ["source"])["web", "ttlb", "cellsim", (), 1]


def _complete(*seconds: float) -> Curve:
    return _curve([(second, "complete") for second in seconds])


def test_a_curve_is_no_distance_from_itself():
    one = _complete(1, 2, 3, 4)
    assert distance(one, one).ks == 0


def test_a_slower_curve_has_a_gap_below_zero_where_it_is_widest():
    found = distance(_complete(1, 2, 3, 4), _complete(1, 2, 30, 40))
    assert (found.ks, found.gap, found.at_s) == (0.5, -0.5, 4.0)


def test_curves_that_do_not_overlap_are_as_far_apart_as_can_be():
    assert distance(_complete(1, 2), _complete(3, 4)).ks == 1


@given(
    st.lists(st.integers(1, 50), min_size=1, max_size=30),
    st.lists(st.integers(1, 50), min_size=1, max_size=30),
)
def test_without_censoring_it_is_the_statistic_of_kolmogorov_and_smirnov(one, other):
    share = [[np.mean(np.array(side) <= time) for time in range(1, 51)] for side in (one, other)]
    expected = np.max(np.abs(np.subtract(*share)))
    assert distance(_complete(*one), _complete(*other)).ks == pytest.approx(expected, abs=1e-9)


def test_failed_downloads_lower_a_curve():
    failing = _curve([(1, "complete"), (2, "failed"), (3, "complete"), (4, "failed")])
    assert distance(_complete(1, 2, 3, 4), failing).ks == pytest.approx(0.5)


def test_nothing_is_compared_beyond_what_was_seen_of_either():
    cut = _curve([(1, "complete"), (2, "complete"), (2.5, "unfinished"), (2.5, "unfinished")])
    assert cut.known_until_s == 2.5
    assert distance(_complete(1, 2, 3, 4), cut).ks == pytest.approx(0)


def test_where_nothing_is_complete_while_both_are_known_there_is_no_distance():
    cut = _curve([(0.5, "unfinished"), (0.5, "unfinished")])
    assert np.isnan(distance(_complete(1, 2), cut).ks)


def test_an_unfinished_download_among_longer_ones_hides_nothing():
    assert _curve([(1, "unfinished"), (2, "complete")]).known_until_s == np.inf
