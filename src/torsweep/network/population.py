"""The relay population: the table that relays are sampled from.

In and out: a JSON file of rows (position, consensus weight, capacity, rate, burst) with the
directory's shares of relays and of consensus weight by position. Derived populations are in
``topologies/relays``; ``torsweep relays import`` makes one from a directory's own documents.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator, Field

from torsweep.config.reading import validate
from torsweep.errors import InputError
from torsweep.formats.files import read_document
from torsweep.network.model import POSITIONS, Position
from torsweep.storage import write_text
from torsweep.units import MOST_CONFIGURED_BYTES, MOST_CONSENSUS_WEIGHT, MOST_RATE_BYTES_PER_S

POPULATION_FILE = "relays.json"
_MOST_RELAYS = 100_000
POPULATION_FORMAT = "torsweep-relay-population"

_RELAY_COLUMNS = ["position", "consensus_weight", "capacity_bytes_per_s", "rate_bytes_per_s", "burst_bytes"]


class PopulationRelay(NamedTuple):
    """One relay: weight in the directory's unit, link capacity and bucket rate in bytes/s, burst in bytes."""

    position: Position
    consensus_weight: Annotated[int, Field(strict=True, ge=1, le=MOST_CONSENSUS_WEIGHT)]
    capacity_bytes_per_s: Annotated[int, Field(strict=True, ge=1, le=MOST_RATE_BYTES_PER_S)]
    rate_bytes_per_s: Annotated[int, Field(strict=True, ge=1, le=MOST_CONFIGURED_BYTES)]
    burst_bytes: Annotated[int, Field(strict=True, ge=1, le=MOST_CONFIGURED_BYTES)]


def _whole(shares: dict[Position, float]) -> dict[Position, float]:
    if set(shares) != set(POSITIONS) or abs(sum(shares.values()) - 1) > 1e-3:
        raise ValueError(f"expected a share for each of {', '.join(POSITIONS)}, adding up to 1")
    return shares


Shares = Annotated[dict[Position, Annotated[float, Field(strict=True, ge=0)]], AfterValidator(_whole)]


@dataclass(frozen=True)
class Population:
    """Relays to sample from, with the directory's shares by position (each sums to 1)."""

    relays: Annotated[tuple[PopulationRelay, ...], Field(min_length=1, max_length=_MOST_RELAYS)]
    count_share: Shares
    weight_share: Shares
    origin: dict[str, Any] = field(default_factory=dict)

    def of(self, position: str) -> list[PopulationRelay]:
        """The relays in ``position``."""
        return [relay for relay in self.relays if relay.position == position]


def shares(amounts: Iterable[tuple[Position, float]]) -> dict[Position, float]:
    """Each position's part of the sum of amounts, rounded to six digits."""
    totals: dict[Position, float] = dict.fromkeys(POSITIONS, 0.0)
    for position, amount in amounts:
        totals[position] += amount
    whole = sum(totals.values())
    return {position: round(total / whole, 6) for position, total in totals.items()}


def write_population(population: Population, path: Path) -> None:
    """Write ``population`` to ``path`` as a whole, one relay a line."""
    head = {
        "format": POPULATION_FORMAT,
        "format_version": 1,
        "origin": population.origin,
        "count_share": population.count_share,
        "weight_share": population.weight_share,
        "columns": _RELAY_COLUMNS,
    }
    opening = json.dumps(head, indent=1, ensure_ascii=False)[:-2]
    rows = ",\n".join(json.dumps(relay, separators=(",", ":")) for relay in population.relays)
    write_text(path, f'{opening},\n "relays": [\n{rows}\n]}}\n')


def read_population(path: Path) -> Population:
    """The population in ``path``. Raises InputError naming the row that is wrong."""
    document = read_document(path, POPULATION_FORMAT)
    if document.get("columns") != _RELAY_COLUMNS:
        raise InputError("other columns", file=path, key="columns", accepted=", ".join(_RELAY_COLUMNS))
    population = validate(Population, document, path)
    require_guard_and_exit(population, path)
    return population


def require_guard_and_exit(population: Population, file: Path) -> None:
    """InputError unless ``population``, which ``file`` holds, has relays for both ends of a circuit."""
    for name in ("guard", "exit"):
        if not any(name in relay.position for relay in population.relays):
            raise InputError(f"no relay of it can be a{'n' * (name == 'exit')} {name}", file=file)
