"""The greatest gap between two curves is what it is by hand, and nothing is read where nothing is known."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from torsweep.engines.table_schema import STREAMS
from torsweep.stats.streams.distances import distance
from torsweep.stats.streams.incidence import METRICS

Row = tuple[float, str]


def _apart(one: list[Row | float], other: list[Row | float]) -> tuple[float, float, float]:
    """KS, gap and its time of ``other`` against ``one``: downloads with a time in seconds, ``complete`` took
    it, ``failed`` and ``unfinished`` ended then; a time alone is of one that is complete."""
    table = []
    for source, rows in (("one", one), ("other", other)):
        for number, each in enumerate(rows):
            seconds, outcome = each if isinstance(each, tuple) else (each, "complete")
            row: dict[str, object] = dict.fromkeys(STREAMS.polars)
            row |= {"client": f"web{number}", "kind": "web", "start_us": 0, "outcome": outcome}
            row |= {"command_us": 0, "observed_us": round(seconds * 1e6)}
            if outcome == "complete":
                row |= dict.fromkeys(("first_byte_us", "last_byte_us"), row["observed_us"])
            table.append({**row, "source": source})
    streams = pl.DataFrame(table, schema={**STREAMS.polars, "source": pl.String})
    found = distance(streams, METRICS["ttlb"], "other", "one")
    assert found is not None
    return found["ks"], found["gap"], found["at_s"]  # type: ignore[return-value]


ENDLESS = 2.5, "unfinished"


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ([1, 2, 3, 4], [1, 2, 3, 4], (0, 0, 1)),
        ([1, 2, 3, 4], [1, 2, 30, 40], (0.5, -0.5, 4)),
        ([1, 2], [3, 4], (1, -1, 2)),
        # Failed downloads lower a curve.
        ([1, 2, 3, 4], [1, (2, "failed"), 3, (4, "failed")], (0.5, -0.5, 4)),
        # Nothing is compared beyond what was seen of either.
        ([1, 2, 3, 4], [1, 2, ENDLESS, ENDLESS], (0, 0, 1)),
        # An unfinished download among longer ones hides nothing.
        ([2, 2], [(1, "unfinished"), 4], (1, -1, 2)),
    ],
)
def test_the_greatest_gap(one, other, expected):
    assert _apart(one, other) == pytest.approx(expected)


def test_where_nothing_is_complete_while_both_are_known_there_is_no_distance():
    assert np.isnan(_apart([1, 2], [(0.5, "unfinished")])).all()


@given(
    st.lists(st.integers(1, 50), min_size=1, max_size=30),
    st.lists(st.integers(1, 50), min_size=1, max_size=30),
)
def test_without_censoring_it_is_the_statistic_of_kolmogorov_and_smirnov(one, other):
    share = [[np.mean(np.array(side) <= time) for time in range(1, 51)] for side in (one, other)]
    expected = np.max(np.abs(np.subtract(*share)))
    assert _apart(one, other)[0] == pytest.approx(expected, abs=1e-9)
