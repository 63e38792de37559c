"""Whether a Shadow measures round trips: what the probe reads, what is made of it, and what is kept."""

from __future__ import annotations

import threading

import pytest

from tests.stand_ins import tells_round_trip
from torsweep.engines.shadow import round_trip_probe
from torsweep.engines.shadow.tools import TRIALS_FOLDER, RoundTrips, measure, round_trips
from torsweep.errors import TorsweepError


@pytest.mark.parametrize(
    ("tcpi_rtt", "text"),
    [
        (0, "round trips not measured"),
        (100, "round trips measured"),  # Shadow's milliseconds
        (100_312, "round trips measured"),  # Linux's microseconds
    ],
)
def test_a_shadow_is_judged_by_what_tcp_says(program, tcpi_rtt, text):
    found = measure(program(tells_round_trip(tcpi_rtt)))
    assert found == RoundTrips(100, tcpi_rtt)
    assert found.text == text


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (tells_round_trip(7), "TCP_INFO says 7 of a round trip of 100 ms"),
        (tells_round_trip("Killed"), "the connection said 'Killed'"),
        (tells_round_trip(""), "no connection came about"),
        ("echo '** no such graph' >&2; exit 1", "simulation: no such graph"),
    ],
)
def test_a_shadow_of_which_it_cannot_be_told_is_refused_in_one_line(program, script, reason):
    shadow = program(script)
    with pytest.raises(TorsweepError) as refusal:
        measure(shadow)
    assert str(refusal.value) == f"{shadow}: whether it measures round trips is not known: {reason}"


def test_what_was_measured_is_kept_by_the_content_of_the_program(program, tmp_path):
    results = tmp_path / "results"
    round_trips.cache_clear()
    assert not round_trips(program(tells_round_trip(0)), results).measured
    assert not results.exists()  # a doctor's visit leaves no folder behind
    results.mkdir()
    for tcpi_rtt in (0, 100, 0):
        round_trips.cache_clear()
        assert round_trips(program(tells_round_trip(tcpi_rtt)), results).tcpi_rtt == tcpi_rtt
    assert len(list((results / TRIALS_FOLDER).glob("round-trips-*.json"))) == 2


def test_what_was_kept_is_not_measured_again(program, tmp_path):
    results = tmp_path / "results"
    results.mkdir()
    shadow = program(f"{tells_round_trip(100)}; echo >>{tmp_path}/calls")
    for _ in range(2):
        round_trips.cache_clear()
        assert round_trips(shadow, results).measured
    assert (tmp_path / "calls").read_text().count("\n") == 1


def test_the_probe_reads_the_round_trip_that_this_kernel_measures():
    port = 18_380
    answering = threading.Thread(target=round_trip_probe.answer, args=("127.0.0.1", port), daemon=True)
    answering.start()
    told_us = _ask_when_it_listens(port)
    answering.join(timeout=60)
    assert not answering.is_alive()
    # A loopback's round trip: not nothing, and not the second that another field of the structure would be.
    assert 0 < told_us < 1_000_000


def _ask_when_it_listens(port: int) -> int:
    for _ in range(10_000):
        try:
            return round_trip_probe.ask("127.0.0.1", port)
        except ConnectionRefusedError:
            threading.Event().wait(0.01)
    raise AssertionError("nobody listens")
