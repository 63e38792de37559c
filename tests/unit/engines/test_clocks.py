"""Hosts with clocks of their own: one clock is left alone, planted skews are taken out, and what nobody can
take out is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.synthetic_traces import ADDRESSES, Made, channels, made, one_way_ns, the_time
from torsweep import seeds
from torsweep.engines.breakdown.clocks import MESSAGES, compare
from torsweep.engines.breakdown.join import join
from torsweep.engines.breakdown.write import Recorded, Seen, by_one_clock

MS, SECOND = 1_000_000, 1_000_000_000
WAY_NS = 40 * MS
PAIRS = (("client1", "relay1"), ("relay1", "relay2"), ("relay2", "relay3"))

Clock = Callable[..., Any]
"""Of a host and a time, or times."""


def messages(shown: Clock, count: int = 2_000) -> pl.DataFrame:
    """Messages of five minutes between neighbours of a chain, by what the clock of each host shows."""
    generator = seeds.stream(1, "messages")
    frames = []
    for pair in PAIRS:
        for sender, receiver in (pair, pair[::-1]):
            left = np.sort(generator.integers(0, 300 * SECOND, count))
            came = left + WAY_NS + np.rint(generator.exponential(8 * MS, count)).astype(np.int64)
            hosts = {"from_host": [sender] * count, "to_host": [receiver] * count}
            times = {"left_ns": shown(sender, left), "came_ns": shown(receiver, came)}
            frames.append(pl.DataFrame(hosts | times, schema=MESSAGES))
    return pl.concat(frames)


def skewed(**clocks: tuple[int, float]) -> Clock:
    """Clocks that are ahead by so many ns and run faster by such a share; all others show the time."""

    def shown(host: str, time_ns: Any) -> Any:
        offset_ns, drift = clocks.get(host, (0, 0.0))
        found = np.rint(offset_ns + drift * time_ns).astype(np.int64) + time_ns
        return found if isinstance(time_ns, np.ndarray) else int(found)

    return shown


def test_one_clock_is_found_to_be_one_and_left_alone() -> None:
    clocks = compare(messages(skewed()))
    assert clocks.one and clocks.whole
    assert {clock.verdict for clock in clocks.hosts} == {"shared"}
    assert len(clocks.hosts) == 3
    for clock in clocks.hosts:
        assert clock.skew is not None
        assert abs(clock.skew.offset_ns) < clock.skew.uncertainty_ns == pytest.approx(WAY_NS, rel=0.05)
    frame = pl.DataFrame({"host": ["relay3"], "time_ns": [5]})
    assert clocks.by_one(frame, "host", "time_ns").equals(frame)


def test_planted_skews_are_taken_out_along_the_chain() -> None:
    shown = skewed(relay2=(-7 * SECOND, 5e-5), relay3=(86_400 * SECOND, -2e-5), client1=(3 * SECOND, 0.0))
    clocks = compare(messages(shown))
    assert [clock.verdict for clock in clocks.hosts].count("corrected") == 3
    moments = np.arange(0, 300 * SECOND, SECOND)
    errors = []
    for host in ("client1", "relay1", "relay2", "relay3"):
        frame = pl.DataFrame({"host": [host] * len(moments), "time_ns": shown(host, moments)})
        errors.append(clocks.by_one(frame, "host", "time_ns")["time_ns"].to_numpy())
    # Any clock may be the reference, as long as all hosts have the same.
    assert max(np.abs(own - errors[0]).max() for own in errors) < WAY_NS / 10


def test_clocks_that_cannot_be_corrected_are_refused() -> None:
    clocks = compare(messages(skewed(relay2=(SECOND, 0.0)))).uncorrected()
    assert not clocks.whole and not clocks.one
    document = next(clock.document() for clock in clocks.hosts if clock.verdict == "refused")
    assert abs(document["offset_us"]) == pytest.approx(1e6, rel=0.05)


def recorded(trace: Made, shown: Clock) -> Recorded:
    """What the hosts of ``trace`` wrote down, each by its own clock."""
    starts = [shown(row["client"], row["start_us"] * 1000) // 1000 for row in trace.streams]
    streams = trace.streams_frame().with_columns(start_us=pl.Series(starts))
    return Recorded(trace.cells_frame(shown), channels(), ADDRESSES, streams)


def test_a_trace_of_hosts_with_clocks_of_their_own_is_joined() -> None:
    trace = made(40, lost=True)
    clock = skewed(relay2=(5 * SECOND, 2e-6), client1=(-2 * SECOND, 0.0), server1=(SECOND, 0.0))
    told, streams, unused = by_one_clock(recorded(trace, clock), Seen(trace.captures(clock)), one_way_ns)
    assert told.clocks.whole and not told.clocks.one
    assert {unused[reason] for reason in ("unknown_host", "no_opening", "reused", "gap")} == {0}
    assert unused["sent_again"] > 0 == unused["came_again"]
    frame, counts = join(told, streams, 1)
    assert counts == dict.fromkeys(counts, 0) | {"followed": 40, "first_bytes": 40, "whole": 40}
    sums = frame.group_by("stream", "byte").agg(pl.col("duration_ns").sum() // 1000)
    for stream, byte, duration_us in sums.iter_rows():
        assert duration_us == trace.streams[stream - 1][f"{byte}_byte_us"]


def test_captures_of_one_clock_say_the_same_as_links_that_saw_the_packets() -> None:
    trace = made(3, lost=True)
    by_captures = by_one_clock(recorded(trace, the_time), Seen(trace.captures()), one_way_ns)
    packets = pl.DataFrame(trace.packets, infer_schema_length=None)
    by_links = by_one_clock(recorded(trace, the_time), Seen(packets), one_way_ns)
    first, second = (join(told, streams, 1) for told, streams, _ in (by_captures, by_links))
    assert first[0].equals(second[0])
    assert first[1] == second[1] and first[1]["whole"] == 3


def test_downloads_between_clocks_that_are_refused_are_counted() -> None:
    trace = made(40)
    packets = pl.DataFrame(trace.packets, infer_schema_length=None)
    # linkem's packets have a clock of their own: relays' times cannot be taken to it.
    told, streams, _ = by_one_clock(recorded(trace, skewed(relay2=(SECOND, 0.0))), Seen(packets), one_way_ns)
    frame, counts = join(told, streams, 1)
    assert frame.is_empty()
    assert counts == dict.fromkeys(counts, 0) | {"followed": 40, "no_clock": 40}
