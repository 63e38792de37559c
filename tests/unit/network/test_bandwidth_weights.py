"""Tor's bandwidth-weights by the cases of its directory specification."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from torsweep.network.bandwidth_weights import WEIGHT_SCALE, PositionTotals, bandwidth_weights

weights = st.integers(1, 10_000_000)


def test_the_weights_of_a_real_consensus_come_out_of_its_totals() -> None:
    # Shares of weight and footer of the network consensus of 24 October 2011, 20:00 UTC.
    found = bandwidth_weights(PositionTotals(guard=306072, middle=116368, exit=181155, guard_exit=396404))
    footer = (
        "Wbd=5473 Wbe=0 Wbg=0 Wbm=10000 Wdb=10000 Web=10000 Wed=3838 Wee=10000 Weg=3838 Wem=10000 "
        "Wgb=10000 Wgd=689 Wgg=10000 Wgm=10000 Wmb=10000 Wmd=5473 Wme=0 Wmg=0 Wmm=10000"
    )
    assert found == {name: int(value) for name, value in (pair.split("=") for pair in footer.split())}


@given(st.builds(PositionTotals, weights, weights, weights, weights))
def test_every_directory_gets_fractions_that_add_up(totals: PositionTotals) -> None:
    found = bandwidth_weights(totals)
    assert all(0 <= weight <= WEIGHT_SCALE for weight in found.values())
    assert abs(found["Wgg"] + found["Wmg"] - WEIGHT_SCALE) <= 1
    assert abs(found["Wee"] + found["Wme"] - WEIGHT_SCALE) <= 1
    assert abs(found["Wgd"] + found["Wmd"] + found["Wed"] - WEIGHT_SCALE) <= 2


@given(st.builds(PositionTotals, weights, weights, weights, weights))
def test_plenty_in_both_ends_balances_the_three_hops(totals: PositionTotals) -> None:
    whole = sum(totals)
    if 3 * totals.guard < whole or 3 * totals.exit < whole:
        return
    found = bandwidth_weights(totals)
    third = WEIGHT_SCALE * whole / 3
    for hop in (
        totals.guard * found["Wgg"] + totals.guard_exit * found["Wgd"],
        totals.exit * found["Wee"] + totals.guard_exit * found["Wed"],
    ):
        assert abs(hop - third) <= 2 * whole


def test_a_directory_without_a_class_selects_by_weight_alone() -> None:
    found = bandwidth_weights(PositionTotals(guard=5, middle=5, exit=5, guard_exit=0))
    assert set(found.values()) == {WEIGHT_SCALE}
