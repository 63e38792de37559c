"""Quantities: every amount survives being written and read; what has no clear unit is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from torsweep.units import (
    BYTES_PER,
    BYTES_PER_SECOND_PER,
    NANOSECONDS_PER,
    DurationNs,
    RateBytesPerSecond,
    SizeBytes,
    format_quantity,
    parse_quantity,
    rounded_duration,
)

TABLES = [NANOSECONDS_PER, BYTES_PER, BYTES_PER_SECOND_PER]


class Quantities(BaseModel):
    pause: DurationNs
    response: SizeBytes
    rate: RateBytesPerSecond


@pytest.mark.parametrize("table", TABLES, ids=["durations", "sizes", "rates"])
@given(amount=st.integers(min_value=0, max_value=2**63 - 1))
def test_reading_what_was_written_gives_the_amount(table, amount):
    assert parse_quantity(format_quantity(amount, table), table, "") == amount


@given(st.sampled_from([(table, unit) for table in TABLES for unit in table]), st.integers(0, 10**9))
def test_every_unit_multiplies(table_and_unit, count):
    table, unit = table_and_unit
    amount = count * table[unit]
    if amount == int(amount):
        assert parse_quantity(f"{count} {unit}", table, "") == amount


@pytest.mark.parametrize(
    ("text", "table", "amount"),
    [
        ("100 ms", NANOSECONDS_PER, 100_000_000),
        ("100ms", NANOSECONDS_PER, 100_000_000),
        ("0.5 s", NANOSECONDS_PER, 500_000_000),
        ("300 KiB", BYTES_PER, 307_200),
        ("5 MiB", BYTES_PER, 5_242_880),
        ("10 Mbit/s", BYTES_PER_SECOND_PER, 1_250_000),
        ("8 bit/s", BYTES_PER_SECOND_PER, 1),
    ],
)
def test_examples(text, table, amount):
    assert parse_quantity(text, table, "") == amount


@pytest.mark.parametrize(
    "text", ["", "100", "ms", "-1 ms", "1e3 ms", "1 fortnight", "1 MS", "nan s", "1 2 s"]
)
def test_what_is_no_duration_is_refused_with_the_units_accepted(text):
    with pytest.raises(ValueError, match="ns, us, µs, ms, s, min, h"):
        parse_quantity(text, NANOSECONDS_PER, "100 ms")


@pytest.mark.parametrize(("text", "table"), [("0.5 ns", NANOSECONDS_PER), ("1 bit/s", BYTES_PER_SECOND_PER)])
def test_nothing_is_rounded(text, table):
    with pytest.raises(ValueError, match="whole number"):
        parse_quantity(text, table, "")


def test_a_model_gives_back_what_it_read():
    texts = {"pause": "100 ms", "response": "5 MiB", "rate": "10 Mbit/s"}
    quantities = Quantities(**texts)
    assert quantities.pause == 100_000_000
    assert Quantities(**quantities.model_dump()) == quantities


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "1 s"), (42.4, "42 s"), (60, "1 min"), (170, "3 min"), (3600, "1 h 0 min"), (7500, "2 h 5 min")],
)
def test_durations_are_told_in_one_or_two_units(seconds, text):
    assert rounded_duration(seconds) == text
