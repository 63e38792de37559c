"""Conflux: when it is on by itself, and what its legs carried."""

from __future__ import annotations

import polars as pl

from tests.small_network import equal_rtts, small_network
from torsweep.config.conflux import counted_conflux
from torsweep.config.experiment import load_experiment
from torsweep.engines.emulation.control import CircuitSeen
from torsweep.engines.emulation.read import circuits_frame
from torsweep.engines.prepare import build_run
from torsweep.engines.run_settings import run_settings
from torsweep.network.model import write_network


def test_conflux_is_on_by_itself_in_a_large_network_of_today_without_common_paths(tmp_path):
    positions = (*["guard_exit"] * 50, *["middle"] * 50)

    def conflux(relays, engine="shadow", era="today", **changes):
        folder = tmp_path / f"{relays}"
        if not folder.is_dir():
            sampled = small_network(positions[-relays:], ["web1"])
            write_network(sampled, equal_rtts(sampled), folder)
        experiment = load_experiment("refill_sweep", changes)
        asked = experiment.variant("")
        run = build_run(run_settings(experiment, engine, era, asked), asked, folder, tmp_path / "run")
        return run.tor.conflux

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


def test_what_tor_says_of_a_leg_has_the_types_of_its_columns() -> None:
    leg = CircuitSeen(5, conflux={"conflux_set": "AB", "round_trip_us": "81234"})
    frame = circuits_frame({"web1": [leg, CircuitSeen(6)]}, [], 0)
    assert frame.select("conflux_set", "round_trip_us").rows() == [("AB", 81234), (None, None)]
