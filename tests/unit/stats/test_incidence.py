"""The Aalen–Johansen curves, against closed forms and against the definition written out; pages of several
objects as downloads."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torsweep.engines.draws import PAGE
from torsweep.engines.table_schema import STREAMS
from torsweep.stats.streams.incidence import (
    CENSORED,
    COMPETING,
    COMPLETE,
    STREAM_COLUMNS,
    cumulative_incidence,
    with_pages,
)

LATE = st.lists(
    st.tuples(st.integers(1, 12), st.sampled_from([CENSORED, COMPLETE, COMPETING]), st.integers(0, 11)),
    min_size=1,
    max_size=60,
)
"""Time, event, and from when it is at risk."""


def by_definition(rows: list[tuple[int, int, int]], until: float) -> float:
    """F(until) = Σ over times t ≤ until of S(t−) · completions at t / at risk at t: slow and readable.

    ``rows`` have time, event and entry; at risk at t is who entered before t and has not ended before.
    """
    share, survival = 0.0, 1.0
    for time in sorted({time for time, _, _ in rows}):
        if time > until:
            break
        at_risk = sum(1 for other, _, entry in rows if entry < time <= other)
        completions = sum(1 for other, event, _ in rows if (other, event) == (time, COMPLETE))
        endings = sum(1 for other, event, _ in rows if other == time and event != CENSORED)
        share += survival * completions / at_risk
        survival *= 1 - endings / at_risk
    return share


def one(times, events):
    return cumulative_incidence(np.array(times), np.array(events), np.zeros(len(times), dtype=int), 1)


@settings(max_examples=150, deadline=None)
@given(LATE, LATE)
def test_the_fast_curve_of_late_entries_is_the_slow_one(first, second):
    """In two groups, so that a group in which all at risk end early does not reach into the next."""
    groups = [[row for row in rows if row[2] < row[0]] for rows in (first, second)]
    times, events, entries = np.array([row for rows in groups for row in rows] or [(1, CENSORED, 0)]).T
    numbers = np.repeat([0, 1], [len(rows) for rows in groups]) if any(groups) else np.zeros(1, int)
    grid = np.arange(0, 14, 0.5)
    shares = cumulative_incidence(times, events, numbers, 2, entries).at(grid)
    for rows, found in zip(groups, shares, strict=True):
        np.testing.assert_allclose(found, [by_definition(rows, until) for until in grid], atol=1e-12)


def test_late_entries_are_those_of_lifelines():
    """What AalenJohansenFitter of lifelines 0.30.3 gave, which has late entries too."""
    generator = np.random.default_rng(4)
    times, cut = generator.exponential(3, 3000), generator.uniform(1, 8, 3000)
    entries = np.where(generator.random(3000) < 0.3, generator.uniform(0, 4, 3000), 0.0)
    seen = np.minimum(times, cut) > entries
    cause = np.where(generator.random(3000) < 0.7, COMPLETE, COMPETING)
    events = np.where(times <= cut, cause, CENSORED)[seen]
    ends, entries = np.minimum(times, cut)[seen], entries[seen]
    grid = np.array([0.5, 1.0, 2.0, 4.0, 6.0])
    expected = [0.10845328108665, 0.19735571413858, 0.34264289261838, 0.52361540213854, 0.59937277836381]
    curve = cumulative_incidence(ends, events, np.zeros(len(ends), int), 1, entries)
    np.testing.assert_allclose(curve.at(grid)[0], expected, atol=1e-9)


def test_who_waits_all_the_time_is_not_missed():
    """Renewals seen through a window: with entry times the curve is that of all downloads, and without those
    under way at its start it is too fast."""
    generator = np.random.default_rng(5)
    lengths = generator.choice([1.0, 30.0], (4000, 60), p=[0.8, 0.2])
    starts = np.cumsum(lengths, axis=1) - lengths - generator.uniform(0, 60, (4000, 1))
    begin, end = 20.0, 40.0
    seen = (starts + lengths > begin) & (starts < end)
    starts, lengths = starts[seen], lengths[seen]
    entries = np.maximum(begin - starts, 0)
    times = np.minimum(lengths, end - starts)
    events = np.where(starts + lengths <= end, COMPLETE, CENSORED)
    grid = np.array([1.0, 15.0])
    curve = cumulative_incidence(times, events, np.zeros(len(times), int), 1, entries)
    np.testing.assert_allclose(curve.at(grid)[0], [0.8, 0.8], atol=0.01)


def test_without_censoring_it_tops_out_at_one_minus_the_failure_rate():
    events = [COMPLETE] * 7 + [COMPETING] * 3
    curve = one(range(1, 11), events)
    assert curve.top()[0] == pytest.approx(0.7)
    np.testing.assert_allclose(curve.at(np.array([3.0, 7.0, 99.0]))[0], [0.3, 0.7, 0.7])


def test_with_all_complete_it_is_the_empirical_distribution():
    times = np.random.default_rng(1).exponential(1, 1001)
    curve = one(times, [COMPLETE] * 1001)
    assert curve.quantiles(np.array([0.5]))[0, 0] == np.sort(times)[500]
    assert curve.at(np.array([1.0]))[0, 0] == pytest.approx((times <= 1).mean())


def test_two_constant_hazards_and_censoring():
    """Rates a and b: F(t) = a / (a + b) · (1 − exp(−(a + b) t)), whatever is censored independently."""
    generator, count, complete, failing = np.random.default_rng(2), 40_000, 1.0, 0.25
    ends = generator.exponential(1 / (complete + failing), count)
    cause = np.where(generator.random(count) < complete / (complete + failing), COMPLETE, COMPETING)
    cut = generator.uniform(0, 4, count)
    curve = one(np.minimum(ends, cut), np.where(ends <= cut, cause, CENSORED))
    grid = np.array([0.2, 0.5, 1.0, 2.0])
    expected = complete / (complete + failing) * (1 - np.exp(-(complete + failing) * grid))
    np.testing.assert_allclose(curve.at(grid)[0], expected, atol=0.01)
    # Dropping what was cut off would call the network faster than it is.
    seen = ends[(ends <= cut) & (cause == COMPLETE)]
    assert (seen <= 1.0).mean() > expected[2] + 0.1


def test_a_quantile_that_is_never_reached_is_nan():
    curve = one([1, 2, 3, 4], [COMPLETE, COMPETING, COMPETING, CENSORED])
    assert np.isnan(curve.quantiles(np.array([0.2, 0.5]))[0]).tolist() == [False, True]


def test_an_empty_group_has_a_flat_curve():
    curve = cumulative_incidence(np.array([1.0]), np.array([COMPLETE]), np.array([1]), 3)
    assert curve.top().tolist() == [0.0, 1.0, 0.0]
    assert np.isnan(curve.quantiles(np.array([0.5]))[[0, 2], 0]).all()


def test_many_groups_stay_exact():
    """Sums over all groups together must not wash out the small shares of the last."""
    groups = np.repeat(np.arange(20_000), 4)
    times = np.tile([1.0, 2.0, 3.0, 4.0], 20_000)
    curve = cumulative_incidence(times, np.full(len(times), COMPLETE), groups, 20_000)
    assert (curve.quantiles(np.array([0.25, 0.5, 1.0])) == [1.0, 2.0, 4.0]).all()


def _streams(*rows: tuple[int, int, int, int | None, str]) -> pl.DataFrame:
    """Rows of number, start, first byte, last byte (after the start) and outcome, of one client."""
    made = [
        {
            "client": "web1",
            "kind": "web",
            "stream": stream,
            "start_us": start,
            "command_us": 1,
            "observed_us": 90 if last is None else last,
            "outcome": outcome,
            "first_byte_us": first,
            "last_byte_us": last,
            "first_byte_after_command_us": first - 1,
            "last_byte_after_command_us": None if last is None else last - 1,
        }
        for stream, start, first, last, outcome in rows
    ]
    return pl.DataFrame(made, {name: STREAMS.polars[name] for name in STREAM_COLUMNS})


def test_a_page_begins_with_its_first_object_and_ends_with_the_one_that_comes_last() -> None:
    objects = _streams(
        (PAGE + 1, 100, 10, 20, "complete"),
        (PAGE + 3, 120, 5, 30, "complete"),
        (PAGE + 2, 120, 5, 500, "complete"),
    )
    page = with_pages(objects, []).row(0, named=True)
    assert (page["start_us"], page["first_byte_us"], page["last_byte_us"]) == (100, 10, 520)
    assert (page["outcome"], page["observed_us"], page["stream"]) == ("complete", 520, 1)
    assert (page["first_byte_after_command_us"], page["last_byte_after_command_us"]) == (9, 519)


@pytest.mark.parametrize("word", ["failed", "timeout", "unfinished"])
def test_a_page_is_as_whole_as_its_worst_object(word: str) -> None:
    objects = _streams((PAGE + 1, 100, 10, 20, "complete"), (PAGE + 2, 120, 5, None, word))
    page = with_pages(objects, []).row(0, named=True)
    assert (page["outcome"], page["last_byte_us"], page["observed_us"]) == (word, None, 110)


def test_a_page_that_began_in_the_warm_up_is_left_out_and_other_downloads_stay() -> None:
    streams = _streams((1, 100, 10, 20, "complete"), (2 * PAGE + 5, 120, 5, 30, "complete"))
    assert with_pages(streams, [])["stream"].to_list() == [1]
    downloads = streams.head(1)
    assert with_pages(downloads, []).equals(downloads)
