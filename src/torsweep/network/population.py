"""The relay population: the table that relays are sampled from.

In and out: a JSON file of rows (position, consensus weight, capacity, rate, burst) with the
directory's shares of relays and of consensus weight by position. Derived populations stand in
``topologies/relays``; ``torsweep relays import`` makes one from a directory's own documents.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from torsweep.errors import InputError
from torsweep.formats.json_file import read_document
from torsweep.network.model import POSITIONS, Position
from torsweep.ranges import MOST_CONFIGURED_BYTES, MOST_CONSENSUS_WEIGHT, MOST_RATE_BYTES_PER_S
from torsweep.storage import write_text

POPULATION_FILE = "relays.json"
_MOST_RELAYS = 100_000
POPULATION_FORMAT = "torsweep-relay-population"

_MOST = (MOST_CONSENSUS_WEIGHT, MOST_RATE_BYTES_PER_S, MOST_CONFIGURED_BYTES, MOST_CONFIGURED_BYTES)
"""The largest values of the four numbers of a row, in their order."""
_COLUMNS = ["position", "consensus_weight", "capacity_bytes_per_s", "rate_bytes_per_s", "burst_bytes"]


class PopulationRelay(NamedTuple):
    """One relay: weight in the directory's unit, link capacity and bucket rate in bytes/s, burst in bytes."""

    position: Position
    consensus_weight: int
    capacity_bytes_per_s: int
    rate_bytes_per_s: int
    burst_bytes: int


@dataclass(frozen=True)
class Population:
    """Relays to sample from, with the directory's shares by position (each sums to 1)."""

    relays: tuple[PopulationRelay, ...]
    count_share: dict[str, float]
    weight_share: dict[str, float]
    origin: dict[str, Any]

    def of(self, position: str) -> list[PopulationRelay]:
        """The relays in ``position``."""
        return [relay for relay in self.relays if relay.position == position]


def shares(amounts: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Each position's part of the sum of amounts, rounded to six digits."""
    totals: dict[str, float] = dict.fromkeys(POSITIONS, 0.0)
    for position, amount in amounts:
        totals[position] += amount
    whole = sum(totals.values())
    return {position: round(total / whole, 6) for position, total in totals.items()}


def population_text(population: Population) -> str:
    """The file of ``population``: one relay a line."""
    head = {
        "format": POPULATION_FORMAT,
        "format_version": 1,
        "origin": population.origin,
        "count_share": population.count_share,
        "weight_share": population.weight_share,
        "columns": _COLUMNS,
    }
    opening = json.dumps(head, indent=1, ensure_ascii=False)[:-2]
    rows = ",\n".join(json.dumps(relay, separators=(",", ":")) for relay in population.relays)
    return f'{opening},\n "relays": [\n{rows}\n]}}\n'


def write_population(population: Population, path: Path) -> None:
    """Write ``population`` to ``path`` as a whole."""
    write_text(path, population_text(population))


def read_population(path: Path) -> Population:
    """The population in ``path``. Raises InputError naming the row that is wrong."""
    document = read_document(path, POPULATION_FORMAT)
    if document.get("columns") != _COLUMNS:
        raise InputError("other columns", file=path, key="columns", accepted=", ".join(_COLUMNS))
    relays = []
    rows = document.get("relays")
    if not isinstance(rows, list) or not 0 < len(rows) <= _MOST_RELAYS:
        raise InputError("no list of relays", file=path, key="relays", accepted=f"1 to {_MOST_RELAYS} rows")
    for number, row in enumerate(rows):
        sound = (
            isinstance(row, list)
            and len(row) == len(_COLUMNS)
            and isinstance(row[0], str)
            and row[0] in POSITIONS
            and all(
                type(value) is int and 1 <= value <= most for value, most in zip(row[1:], _MOST, strict=True)
            )
        )
        if not sound:
            accepted = f"a position and four whole numbers above 0, at most {', '.join(map(str, _MOST))}"
            raise InputError("bad row", file=path, key=f"relays[{number}]", value=row, accepted=accepted)
        relays.append(PopulationRelay(*row))
    if not any(relay.position in ("guard", "guard_exit") for relay in relays):
        raise InputError("no relay can be a guard", file=path, key="relays")
    if not any(relay.position in ("exit", "guard_exit") for relay in relays):
        raise InputError("no relay can be an exit", file=path, key="relays")
    return Population(
        tuple(relays), _shares(document, "count_share", path), _shares(document, "weight_share", path),
        document.get("origin", {}),
    )  # fmt: skip


def _shares(document: dict[str, Any], key: str, path: Path) -> dict[str, float]:
    found: Any = document.get(key)
    numbers = list(found.values()) if isinstance(found, dict) and set(found) == set(POSITIONS) else []
    sound = len(numbers) == len(POSITIONS) and all(type(number) in (int, float) for number in numbers)
    if not sound or abs(sum(numbers) - 1) > 1e-3 or min(numbers) < 0:
        accepted = f"a share for each of {', '.join(POSITIONS)}, adding up to 1"
        raise InputError("bad shares", file=path, key=key, value=found, accepted=accepted)
    return dict(found)
