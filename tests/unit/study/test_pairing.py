"""Common paths are the usual, unless the change would hide behind them, or a tor cannot take them."""

from __future__ import annotations

import re

import pytest

from torsweep.errors import InputError
from torsweep.study.effect import choose_pairing
from torsweep.study.tor_change import Sides, TorChange, read_change


def _with(tors: dict[str, dict[str, str]]) -> TorChange:
    return TorChange({"tor": ("stock", "mine")}, tors, {}, "mine", "Debian's tor", ())


def test_both_sides_take_the_same_paths_where_the_change_allows_it() -> None:
    policy, window = Sides(torrc=("CircuitPolicy roundrobin",)), Sides(consensus=("circwindow=500",))
    for sides in (Sides("same"), policy, window):
        assert choose_pairing(None, read_change(sides), 14, None) == ("paths", [])
    assert choose_pairing("free", read_change(Sides("same")), 14, None) == ("free", [])


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (read_change(Sides(torrc=("NumEntryGuards 2",))), "NumEntryGuards is about the choice of paths"),
        (read_change(Sides(consensus=("cfx_enabled=0",))), "cfx_enabled is about the choice of paths"),
        (_with({"mine": {"program": "/bin/tor"}}), "a tor without the project's patches has no"),
        (_with({"mine": {"git": "/tor", "series": "none"}}), "a tor without the project's patches has no"),
    ],
)
def test_where_they_cannot_the_paths_are_free_and_it_is_said(change: TorChange, why: str) -> None:
    pairing, notes = choose_pairing(None, change, 14, None)
    assert pairing == "free"
    assert notes[-1].startswith(f"no common paths: {why}")
    with pytest.raises(InputError, match=re.escape(f"--pairing: cannot be had: {why}")):
        choose_pairing("paths", change, 14, None)


def test_where_conflux_is_on_by_itself_paths_are_free() -> None:
    change = read_change(Sides("same"))
    pairing, notes = choose_pairing(None, change, 100, None)
    assert (pairing, notes[0].partition(",")[0]) == ("free", "no common paths: Conflux")
    for text, relays, era in ((None, 100, "2012"), ("paths", 100, None), (None, 99, None)):
        assert choose_pairing(text, change, relays, era)[0] == "paths"
