"""Import of relay populations from a directory's own documents.

In: a network consensus with the server descriptors of its relays, or what ``tornettools stage``
writes. Out: a folder with ``relays.json``, a population for the sampler, and ``import.json``. Neither
holds an address or a fingerprint.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field

from torsweep.config.reading import validate
from torsweep.errors import InputError
from torsweep.formats.directory import ConsensusRelay, read_consensus, read_rates
from torsweep.formats.json_file import parse_json
from torsweep.formats.text import whole_text
from torsweep.network.derived import file_sha256
from torsweep.network.model import POSITIONS, Position
from torsweep.network.population import (
    POPULATION_FILE,
    Population,
    PopulationRelay,
    population_text,
    shares,
)
from torsweep.ranges import MOST_CONFIGURED_BYTES, MOST_RATE_BYTES_PER_S
from torsweep.storage import whole_directory
from torsweep.storage.folders import RELAYS

FORMATS = ("consensus", "relayinfo")

_WEIGHT_UNITS = 1e9
"""tornettools' weights are fractions of the whole; the sampler's are whole numbers."""


Share = Annotated[float, Field(strict=True, ge=0, le=1)]
Capacity = Annotated[float, Field(strict=True, ge=0, le=MOST_RATE_BYTES_PER_S)]
Configured = Annotated[float, Field(strict=True, ge=0, le=MOST_CONFIGURED_BYTES)]


class StagedRelay(BaseModel):
    """A relay as ``tornettools stage`` sums up a month: shares, bytes per second, and bytes of burst."""

    weight: Share
    running_frequency: Share
    guard_frequency: Share
    exit_frequency: Share
    bandwidth_capacity: Capacity
    bandwidth_rate: Configured
    bandwidth_burst: Configured


class StagedRelays(BaseModel):
    """What ``tornettools stage`` writes, of which only the relays count."""

    relays: Annotated[dict[str, StagedRelay], Field(min_length=1)]


def import_relays(file: Path, file_format: str, out: Path, descriptors: Path | None = None) -> list[str]:
    """Write ``out`` and return the lines to print. Raises InputError naming what is wrong.

    ``descriptors`` is a file of server descriptors, or a folder of such files, for ``consensus``.
    """
    if file_format not in FORMATS:
        raise InputError("no such format", key="--format", value=file_format, accepted=", ".join(FORMATS))
    if file_format == "relayinfo":
        population, left_out = _relayinfo(file)
    elif descriptors is None:
        raise InputError("a consensus needs its server descriptors", key="--descriptors", accepted="a path")
    else:
        population, left_out = _consensus(file, descriptors)
    _check_usable(population, file)
    with whole_directory(out, RELAYS) as temporary:
        (temporary / POPULATION_FILE).write_text(population_text(population), encoding="utf-8")
    return [
        f"relays: {len(population.relays)}; without a weight, a rate or a descriptor: {left_out}",
        *(
            f"{position}: {len(population.of(position))} relays, "
            f"{100 * population.weight_share[position]:.1f} % of consensus weight"
            for position in POSITIONS
        ),
        f"written: {out / POPULATION_FILE}",
    ]


def position_of(is_guard: bool, is_exit: bool) -> Position:
    """The position that a relay's flags give it."""
    if is_exit:
        return "guard_exit" if is_guard else "exit"
    return "guard" if is_guard else "middle"


def _check_usable(population: Population, file: Path) -> None:
    for name in ("guard", "exit"):
        if not any(name in relay.position for relay in population.relays):
            raise InputError(f"no relay of it can be a{'n' * (name == 'exit')} {name}", file=file)


def _relayinfo(file: Path) -> tuple[Population, int]:
    document = parse_json(whole_text(file), file)
    if not isinstance(document.get("relays"), dict):
        accepted = "a relayinfo_staging file of tornettools"
        raise InputError("is not what tornettools stages", file=file, key="relays", accepted=accepted)
    entries = list(validate(StagedRelays, document, file).relays.values())
    found = [_staged_relay(entry) for entry in entries]
    relays = tuple(sorted(relay for relay in found if min(relay[1:]) > 0))
    if not relays:
        raise InputError("no relay with a weight and rates in it", file=file, key="relays")
    running = [(relay.position, entry.running_frequency) for relay, entry in zip(found, entries, strict=True)]
    return _population(relays, file, "relayinfo", shares(running)), len(found) - len(relays)


def _staged_relay(entry: StagedRelay) -> PopulationRelay:
    position = position_of(entry.guard_frequency >= 0.5, entry.exit_frequency >= 0.5)
    weight = entry.weight * entry.running_frequency * _WEIGHT_UNITS
    rate = int(entry.bandwidth_rate)
    burst = max(int(entry.bandwidth_burst), rate)
    return PopulationRelay(position, round(weight), int(entry.bandwidth_capacity), rate, burst)


def _population(
    relays: tuple[PopulationRelay, ...], file: Path, file_format: str, count_share: dict[str, float]
) -> Population:
    origin = {"file": file.name, "sha256": file_sha256(file), "format": file_format}
    weight_share = shares((relay.position, float(relay.consensus_weight)) for relay in relays)
    return Population(relays, count_share, weight_share, origin)


def _consensus(file: Path, descriptors: Path) -> tuple[Population, int]:
    """Positions and weights of the consensus with the rates of each relay's latest descriptor."""
    entries = read_consensus(file)
    rates = read_rates(descriptors, {entry.fingerprint for entry in entries})
    relays = tuple(
        sorted(
            PopulationRelay(_flags_position(entry), entry.weight, *rates[entry.fingerprint])
            for entry in entries
            if entry.fingerprint in rates and entry.weight
        )
    )
    if not relays:
        raise InputError("no descriptor is of a relay of the consensus", file=descriptors)
    count_share = shares((_flags_position(entry), 1.0) for entry in entries)
    return _population(relays, file, "consensus", count_share), len(entries) - len(relays)


def _flags_position(entry: ConsensusRelay) -> Position:
    is_exit = "Exit" in entry.flags and "BadExit" not in entry.flags
    return position_of("Guard" in entry.flags, is_exit)
