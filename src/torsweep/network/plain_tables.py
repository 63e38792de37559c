"""Tables that a user writes by hand: other weights or rates of a population's relays, and round trips by host
or group.

In: CSV files. Out: the population with these columns; a matrix of round trips whose places are hosts and
groups of hosts, and the place of each host. :mod:`torsweep.network.clients` reads that of bandwidths.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError

from torsweep.errors import InputError
from torsweep.formats.frames import read_csv
from torsweep.network.latency import PlacesOf
from torsweep.network.model import LATENCY_FLOOR_US
from torsweep.network.relays import Population, PopulationRelay, shares
from torsweep.units import MOST_RTT_US

RELAY_VALUES = PopulationRelay._fields[1:]
"""The columns of a relay that a table may give: its weight and rates."""


def with_values(population: Population, path: Path) -> Population:
    """``population`` with the columns of the table in ``path``, which has a row for each of its relays, in
    order. Where it has weights, positions share weight as these do. InputError for other columns, another
    number of rows, and a value that is out of range."""
    table = read_csv(path, None)
    if not table.columns or set(table.columns) - set(RELAY_VALUES):
        accepted = f"some of {', '.join(RELAY_VALUES)}"
        raise InputError("other columns", file=path, value=", ".join(table.columns), accepted=accepted)
    if table.height != len(population.relays):
        problem, accepted = "is not of these relays: it has other rows", f"{len(population.relays)} rows"
        raise InputError(problem, file=path, value=table.height, accepted=accepted)
    relays = []
    kind = TypeAdapter(PopulationRelay)
    for number, (relay, row) in enumerate(
        zip(population.relays, table.iter_rows(named=True), strict=True), 1
    ):
        values = {name: _number(value) for name, value in row.items()}
        try:
            relays.append(kind.validate_python(tuple({**relay._asdict(), **values}.values())))
        except ValidationError as error:
            name = PopulationRelay._fields[int(error.errors()[0]["loc"][0])]
            problem, key = "is no number in range", f"row {number}, {name}"
            raise InputError(problem, file=path, key=key, value=row[name], accepted="1 or more") from None
    told = replace(population, relays=tuple(relays))
    if "consensus_weight" not in table.columns:
        return told
    return replace(told, weight_share=shares((one.position, one.consensus_weight) for one in relays))


def _number(text: object) -> object:
    return int(str(text)) if re.fullmatch(r"[0-9]{1,20}", str(text)) else text


@dataclass(frozen=True)
class RoundTripTable:
    """Round trips between hosts and groups of hosts: ``matrix_us`` (names, names), int32."""

    names: tuple[str, ...]
    matrix_us: NDArray[np.int32]
    path: Path

    def places_of(self, others: PlacesOf) -> PlacesOf:
        """Where hosts are: at their own names, else at their groups'; what else ``others`` say of them."""
        place_of = {name: place for place, name in enumerate(self.names)}

        def of_kind(kind: str, count: int) -> Iterator[dict[str, Any]]:
            for number, other in enumerate(others(kind, count), start=1):
                place = place_of.get(f"{kind}{number}", place_of.get(kind))
                if place is None:
                    accepted = ", ".join(self.names)
                    raise InputError(
                        "has no row of this group", file=self.path, value=kind, accepted=accepted
                    )
                yield {**other, "place": place}

        return of_kind


def read_round_trips(path: Path) -> RoundTripTable:
    """The table in ``path``: a line for each two hosts or groups, ``from,to,rtt_ms``.

    A host is named as in network.json (``web1``), a group as its hosts without their numbers. What a host has
    with another is its own line's, else that of one's group, else that of both groups. Raises InputError
    where that is missing or out of range, and for a line that contradicts another.
    """
    table = read_csv(path, ("from", "to"), ("rtt_ms",))
    if table.columns != ["from", "to", "rtt_ms"] or not table.height:
        accepted = "from, to, rtt_ms, and a line for each two groups"
        raise InputError("other columns", file=path, value=", ".join(table.columns), accepted=accepted)
    given: dict[tuple[str, str], int] = {}
    for number, (one, other, rtt_ms) in enumerate(table.iter_rows(), start=1):
        rtt_us = None if rtt_ms is None else round(1000 * rtt_ms)
        known = given.get((one, other), rtt_us)
        if rtt_us is None or not LATENCY_FLOOR_US <= rtt_us <= MOST_RTT_US or known != rtt_us:
            problem = "is no round trip" if known == rtt_us else "contradicts another line"
            accepted = f"{LATENCY_FLOOR_US // 1000} to {MOST_RTT_US // 1000} ms, the same both ways"
            raise InputError(problem, file=path, key=f"row {number}", value=rtt_ms, accepted=accepted)
        given[one, other] = given[other, one] = rtt_us
    names = tuple(sorted({name for pair in given for name in pair}))
    matrix = np.array([[_between(given, one, other, path) for other in names] for one in names], np.int32)
    return RoundTripTable(names, matrix, path)


def _between(given: dict[tuple[str, str], int], one: str, other: str, path: Path) -> int:
    """The round trip of hosts or groups ``one`` and ``other``."""
    of_one, of_other = (re.sub(r"[0-9]+$", "", name) for name in (one, other))
    for pair in ((one, other), (one, of_other), (of_one, other), (of_one, of_other)):
        if pair in given:
            return given[pair]
    raise InputError(
        "lacks a round trip", file=path, key=f"{one},{other}", accepted="a line for each two groups"
    )
