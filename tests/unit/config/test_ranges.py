"""Numbers in files have ends, and nothing is taken for a number or a switch that is none."""

from __future__ import annotations

from typing import Annotated

import pytest
from pydantic import TypeAdapter, ValidationError

from torsweep.config.knobs import KNOBS
from torsweep.config.network import load_network_config
from torsweep.errors import InputError
from torsweep.units import (
    Between,
    DurationNs,
    RateBytesPerSecond,
    SizeBytes,
)


@pytest.mark.parametrize("wrong", ["ten", '"10"', "true", "10.5", ".nan", ".inf", "1" + "0" * 400, "null"])
@pytest.mark.parametrize("key", ["relays", "loss.share"])
def test_what_is_no_number_is_not_guessed_to_be_one(key: str, wrong: str):
    with pytest.raises(InputError, match=key):
        load_network_config("ci", {key: wrong})


@pytest.mark.parametrize(
    ("kind", "least", "most", "below", "above"),
    [
        (DurationNs, "1 s", "1 h", "999999999 ns", "3600000000001 ns"),
        (SizeBytes, "1 KiB", "1 GiB", "1023 B", "1073741825 B"),
        (RateBytesPerSecond, "0 B/s", "1 Gbit/s", "-1 B/s", "125000001 B/s"),
    ],
)
def test_both_ends_of_a_quantity_are_accepted_and_what_is_beyond_is_not(kind, least, most, below, above):
    adapter = TypeAdapter(Annotated[kind, Between(least, most)])
    for value in (least, most):
        adapter.validate_python(value)
    for wrong in (below, above, 5, 5.0, "nan s", "", True, None, f"{'9' * 400} s"):
        with pytest.raises(ValidationError):
            adapter.validate_python(wrong)


@pytest.mark.parametrize(
    ("name", "least", "most", "below", "above"),
    [
        ("refill_interval", "1ms", "1000ms", "0.999ms", "1001ms"),
        ("round_robin_quantum", "1", "9999", "0", "10000"),
        ("scheduler", "kist_2ms", "kist_lite_100ms", "kist_1ms", "kist_101ms"),
        ("link_queue", "droptail_2KB", "droptail_99999KB", "droptail_1KB", "droptail_100000KB"),
        ("load", "0.0001", "20", "0", "20.0001"),
        ("middle_bandwidth", "20KiBps", "12500MBps", "19.9KiBps", "12501MBps"),
    ],
)
def test_both_ends_of_a_knob_are_levels_and_what_is_beyond_is_none(name, least, most, below, above):
    """One knob for each form of numbers in levels."""
    for level in (least, most):
        assert KNOBS[name].read(level)
    for level in (below, above, "nan", "-1", "1e400", "010"):
        with pytest.raises(InputError):
            KNOBS[name].read(level)
