"""Conflux: when it is on by itself, and what its legs carried."""

from __future__ import annotations

import polars as pl

from tests.prepared_runs import prepared_run
from tests.small_network import equal_rtts, small_network
from torsweep.config.conflux import counted_conflux
from torsweep.network.model import write_network


def test_conflux_is_on_by_itself_in_a_large_network_of_today_without_common_paths(tmp_path):
    positions = (*["guard_exit"] * 50, *["middle"] * 50)

    for relays in (99, 100):
        sampled = small_network(positions[-relays:], ["web1"])
        write_network(sampled, equal_rtts(sampled), tmp_path / f"{relays}")

    def conflux(relays, engine="shadow", era="today", **changes):
        asked = {"engine": engine, "era": era, **changes}
        return prepared_run(tmp_path / f"{relays}", tmp_path / "run", **asked).tor.conflux

    assert conflux(100)
    assert not conflux(99)
    assert not conflux(100, engine="cellsim")
    assert not conflux(100, era="2012")
    assert not conflux(100, pairing="paths")


def test_bytes_are_counted_by_the_legs_of_sets_that_carried_streams() -> None:
    rows = [
        ("web1", "A", 20, 700, 3),
        ("web1", "A", 30, 300, 0),
        ("web1", "B", None, 90, 1),
        ("web1", "B", 10, 10, 0),
        ("web1", "C", 10, 5, 0),
        ("web1", "C", 11, 5, 0),
        ("web1", None, None, 1_000, 2),
    ]
    names = ["client", "conflux_set", "round_trip_us", "bytes_read", "streams"]
    circuits = pl.DataFrame(rows, schema=names, orient="row")
    assert counted_conflux(circuits)["conflux"] == {
        "sets": 2,
        "legs": 4,
        "bytes": 1_100,
        "bytes_on_the_larger_leg": 790,
        "bytes_with_round_trips": 1_000,
        "bytes_on_the_faster_leg": 700,
    }
    assert counted_conflux(circuits[-1:]) == {}
