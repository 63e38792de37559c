"""Tor's bandwidth-weights: how much of a relay's consensus weight counts in each position.

In: the total consensus weight of guards, middles, exits and guard-exits. Out: the ``W**`` values of
a consensus footer, in 1/10000. The cases are those of Tor's directory specification, version 3,
section 3.8.3 ("Computing Bandwidth Weights").
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from torsweep.config.option_bundle import Position

WEIGHT_SCALE = 10_000
"""The directory's default ``bwweightscale``."""

HOP_WEIGHTS: Mapping[str, Mapping[Position, str]] = {
    "guard": {"guard": "Wgg", "guard_exit": "Wgd"},
    "middle": {"guard": "Wmg", "exit": "Wme", "guard_exit": "Wmd", "middle": "Wmm"},
    "exit": {"exit": "Wee", "guard_exit": "Wed"},
}
"""For each hop of a circuit the positions of the relays that may be it, and the bandwidth-weight of each."""

WEIGHTS_OF_HOPS = tuple(weight for positions in HOP_WEIGHTS.values() for weight in positions.values())
"""The weights that path selection uses; the others are for directory and bridge connections."""


class PositionTotals(NamedTuple):
    """Consensus weight that is guard only, neither, exit only, and both, in any common unit."""

    guard: int
    middle: int
    exit: int
    guard_exit: int


class _Weights(NamedTuple):
    """The values the specification solves for; the rest of the footer follows from them."""

    wgg: int
    wgd: int
    wmg: int
    wme: int
    wmd: int
    wee: int
    wed: int

    @property
    def are_fractions(self) -> bool:
        return all(0 <= weight <= WEIGHT_SCALE for weight in self)


def bandwidth_weights(totals: PositionTotals) -> dict[str, int]:
    """The footer's weights by name (``Wgg`` …), each 0..10000.

    A directory in which one of the four classes has no weight publishes no weights, and a client
    then selects by consensus weight alone: all weights are 10000 in that case.
    """
    solved = _solve(*totals) if min(totals) > 0 else _Weights(*[WEIGHT_SCALE] * 7)
    full = WEIGHT_SCALE
    return {
        "Wbd": solved.wmd, "Wbe": solved.wme, "Wbg": solved.wmg, "Wbm": full,
        "Wdb": full,
        "Web": full, "Wed": solved.wed, "Wee": solved.wee, "Weg": solved.wed, "Wem": solved.wee,
        "Wgb": full, "Wgd": solved.wgd, "Wgg": solved.wgg, "Wgm": solved.wgg,
        "Wmb": full, "Wmd": solved.wmd, "Wme": solved.wme, "Wmg": solved.wmg, "Wmm": full,
    }  # fmt: skip


def _solve(g: int, m: int, e: int, d: int) -> _Weights:
    total = g + m + e + d
    if 3 * e >= total and 3 * g >= total:
        return _neither_scarce(g, m, e)
    if 3 * e < total and 3 * g < total:
        return _both_scarce(g, m, e, d)
    return _one_scarce(g, m, e, d)


def _neither_scarce(g: int, m: int, e: int) -> _Weights:
    """Case 1: guards and exits each hold a third or more."""
    third = WEIGHT_SCALE // 3
    wee = _share(e + g + m, 3 * e)
    wmg = _share(2 * g - e - m, 3 * g)
    return _Weights(
        wgg=WEIGHT_SCALE - wmg, wgd=third, wmg=wmg, wme=WEIGHT_SCALE - wee, wmd=third, wee=wee, wed=third
    )


def _both_scarce(g: int, m: int, e: int, d: int) -> _Weights:
    """Case 2: guards and exits each hold less than a third."""
    full = WEIGHT_SCALE
    if min(e, g) + d < max(e, g):
        to_exit = full if e < g else 0
        return _Weights(wgg=full, wgd=full - to_exit, wmg=0, wme=0, wmd=0, wee=full, wed=to_exit)
    wed = _share(d - 2 * e + 4 * g - 2 * m, 3 * d)
    rest = (full - wed) // 2
    balanced = _Weights(
        wgg=full, wgd=rest, wmg=0, wme=_share(g - m, e), wmd=rest, wee=_share(e - g + m, e), wed=wed
    )
    if balanced.are_fractions:
        return balanced
    # With very much middle weight the solution leaves 0..1, and only the nearest end makes sense.
    wed = min(full, _share(d - 2 * e + g + m, 3 * d))
    wmd = min(full - wed, max(0, _share(d - 2 * m + g + e, 3 * d)))
    return _Weights(wgg=full, wgd=full - wed - wmd, wmg=0, wme=0, wmd=wmd, wee=full, wed=wed)


def _one_scarce(g: int, m: int, e: int, d: int) -> _Weights:
    """Case 3: one of guards and exits holds less than a third."""
    full = WEIGHT_SCALE
    if 3 * (min(e, g) + d) < g + m + e + d:
        if g < e:
            wme = 0 if e < m else _share(e - m, 2 * e)
            return _Weights(wgg=full, wgd=full, wmg=0, wme=wme, wmd=0, wee=full - wme, wed=0)
        wmg = 0 if g < m else _share(g - m, 2 * g)
        return _Weights(wgg=full - wmg, wgd=0, wmg=wmg, wme=0, wmd=0, wee=full, wed=full)
    if g < e:
        wgd = _share(d - 2 * g + e + m, 3 * d)
        wee = _share(e + m, 2 * e)
        rest = (full - wgd) // 2
        return _Weights(wgg=full, wgd=wgd, wmg=0, wme=full - wee, wmd=rest, wee=wee, wed=rest)
    wed = _share(d - 2 * e + g + m, 3 * d)
    wgg = _share(g + m, 2 * g)
    rest = (full - wed) // 2
    return _Weights(wgg=wgg, wgd=rest, wmg=full - wgg, wme=0, wmd=rest, wee=full, wed=wed)


def _share(part: int, whole: int) -> int:
    """``part / whole`` in units of the scale, truncated towards zero as C divides."""
    scaled = WEIGHT_SCALE * part
    return scaled // whole if scaled >= 0 else -(-scaled // whole)
