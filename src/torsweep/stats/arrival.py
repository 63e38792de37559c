"""Did the change arrive? Which settings of tors a variant changes, and what the tors really have.

In: the table ``settings`` of a plan. Out: the statistic ``arrived``, a row for each variant, role and name;
and :func:`change_arrived`, without which there can be no talk of no difference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from torsweep.engines.table_schema import DEFAULT, NOT_KNOWN
from torsweep.stats.statistic import KNOB_COLUMNS, NETWORKS_COLUMN, Analysis, Levels, Statistic, texts
from torsweep.stats.text import TextTable, variant_words
from torsweep.units import counted

PROGRAM = "program"

_Key = tuple[str, str, str]
"""Role, kind of setting and name."""


@dataclass(frozen=True)
class _Had:
    """One setting of tors of a role: as configured (None: not at all), as the tors have it, and how many."""

    wanted: str | None
    found: str
    hosts: int


_Side = Mapping[_Key, Sequence[_Had]]


def what_arrived(analysis: Analysis) -> list[dict[str, Any]]:
    """The columns of :data:`ARRIVED`: a row for each role and setting of tors that a variant changes from the
    baseline; none for runs of the model, imports, and tables of earlier versions, whose settings are not
    known."""
    sides = analysis.once(_sides)
    rows = []
    for reference, variants in analysis.compared():
        for variant in variants:
            pairs = [
                (sides[one], sides[other])
                for seed in analysis.provenance.seeds
                if (one := _place(variant, seed)) in sides and (other := _place(reference, seed)) in sides
            ]
            keys = dict.fromkeys(key for pair in pairs for side in pair for key in side)
            rows += [{**variant, **row} for key in keys if (row := _arrival(key, pairs)) is not None]
    return rows


def change_arrived(analysis: Analysis, variant: Levels) -> bool | None:
    """Whether what ``variant`` tells its tors has reached them; None where it cannot be told."""
    rows = [row for row in analysis.once(what_arrived) if variant.items() <= row.items()]
    # What tors have as they were told, the baseline may have as well.
    if any(
        row["arrived"] is False and row["setting"] != PROGRAM and row["found"] != row["wanted"]
        for row in rows
    ):
        return False
    if not rows or any(row["arrived"] is None for row in rows):
        return None
    return any(row["arrived"] for row in rows)


def _place(levels: Levels, seed: int) -> tuple[str, ...]:
    return (str(seed), *levels.values())


def _sides(analysis: Analysis) -> dict[tuple[str, ...], dict[_Key, list[_Had]]]:
    """The settings of each run's tors, by its seed and levels."""
    sides: dict[tuple[str, ...], dict[_Key, list[_Had]]] = {}
    frame = analysis.tables.settings(["role", "setting", "name", "wanted", "found", "hosts"])
    for row in frame.iter_rows(named=True):
        side = sides.setdefault((str(row["seed"]), *(row[knob] for knob in analysis.knobs)), {})
        had = _Had(row["wanted"], row["found"], row["hosts"])
        side.setdefault((row["role"], row["setting"], row["name"]), []).append(had)
    return sides


def _arrival(key: _Key, pairs: Sequence[tuple[_Side, _Side]]) -> dict[str, Any] | None:
    """The row of ``key`` over the networks of ``pairs``; None where both sides are configured alike."""
    changes = [change for pair in pairs if (change := _told_otherwise(key, *pair)) is not None]
    if not changes:
        return None
    had, had_before = ([each for change in changes for each in change[side]] for side in (0, 1))
    arrived: bool | None = all(
        {one.found for one in change} != {one.found for one in before}
        and all(one.wanted in (None, one.found) or key[1] == PROGRAM for one in change)
        for change, before in changes
    )
    if any(one.found == NOT_KNOWN for one in had):
        arrived = None
    wanted = ", ".join(dict.fromkeys(one.wanted or DEFAULT for one in had))
    role, setting, name = key
    return {
        **{"role": role, "setting": setting, "name": name, "wanted": wanted},
        **{"found": _found(had), "baseline": _found(had_before), "networks": len(changes)},
        "arrived": arrived,
    }


def _told_otherwise(key: _Key, side: _Side, reference: _Side) -> tuple[Sequence[_Had], Sequence[_Had]] | None:
    """The values of tors that differ from the ``reference``'s, and the reference's values; None if all
    agree."""
    if not all(any(each[:2] == key[:2] for each in one) for one in (side, reference)):
        return None  # Arti, of which only the program is known.
    nothing = [_Had(None, DEFAULT, 0)]
    had, before = side.get(key, nothing), reference.get(key, nothing)
    told_before = {one.wanted for one in before}
    if {one.wanted for one in had} == told_before:
        return None
    return [one for one in had if one.wanted not in told_before] or had, before


def _found(had: Sequence[_Had]) -> str:
    """The value of the tors, or each value with the number of tors over all networks."""
    hosts: dict[str, int] = {}
    for one in had:
        hosts[one.found] = hosts.get(one.found, 0) + one.hosts
    if len(hosts) == 1:
        return next(iter(hosts))
    return ", ".join(f"{found} ({counted(many, 'host')})" for found, many in hosts.items())


def _in_summary(analysis: Analysis, frame: pl.DataFrame) -> Sequence[TextTable]:
    shown = ("role", "name", "wanted", "found", "baseline")
    cells = [
        [
            variant_words({knob: row[knob] for knob in analysis.knobs}),
            *(row[name] for name in shown),
            {True: "yes", False: "no", None: NOT_KNOWN}[row["arrived"]],
        ]
        for row in frame.iter_rows(named=True)
    ]
    header = ("variant", "hosts", "name", "told", "have", "in the baseline", "arrived")
    return [TextTable("Did the change arrive?", header, cells)]


ARRIVED = Statistic(
    "arrived",
    "what the tors of a role were told in a variant, and not in the baseline",
    KNOB_COLUMNS
    | texts("authority, relay or client", "role")
    | texts("option of a torrc, parameter of the consensus that the host keeps, or program", "setting")
    | texts("the option's or parameter's name; of a program: tor", "name")
    | texts("what the tors were told, as tor writes it; of a program its build", "wanted")
    | texts("what they have; of a program digits that stand for its code", "found")
    | texts("what those of the baseline have", "baseline")
    | NETWORKS_COLUMN
    | {
        "arrived": (
            pl.Boolean,
            "in every network they have what they were told, and the baseline has not; null: not known",
        )
    },
    lambda analysis: analysis.once(what_arrived) or None,
    in_summary=_in_summary,
    rank=11,
)
