"""Import of relay populations from a directory's own documents.

In: a network consensus with the server descriptors of its relays, or what ``tornettools stage``
writes. Out: a folder with ``relays.json``, a population for the sampler, and ``import.json``. Neither
holds an address or a fingerprint.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from stem.descriptor import parse_file
from stem.descriptor.networkstatus import NetworkStatusDocumentV3

from torsweep.errors import InputError
from torsweep.network.derived import file_sha256
from torsweep.network.destination import replaced_directory
from torsweep.network.model import POSITIONS, Position
from torsweep.network.population import (
    POPULATION_FILE,
    Population,
    PopulationRelay,
    population_text,
    shares,
)
from torsweep.network.text_files import whole_text

FORMATS = ("consensus", "relayinfo")

_WEIGHT_UNITS = 1e9
"""tornettools' weights are fractions of the whole; the sampler's are whole numbers."""


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
    with replaced_directory(out, POPULATION_FILE) as temporary:
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
    accepted = "a relayinfo_staging file of tornettools"
    try:
        document = json.loads(whole_text(file))
        entries = list(document["relays"].values())
        found = [_staged_relay(entry) for entry in entries]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        problem = f"is not what tornettools stages ({type(error).__name__}: {error})"
        raise InputError(problem, file=file, accepted=accepted) from None
    relays = tuple(sorted(relay for relay in found if min(relay[1:]) > 0))
    if not relays:
        raise InputError("no relay with a weight and rates in it", file=file, accepted=accepted)
    running = [
        (relay.position, float(entry["running_frequency"]))
        for relay, entry in zip(found, entries, strict=True)
    ]
    return _population(relays, file, "relayinfo", shares(running)), len(found) - len(relays)


def _staged_relay(entry: dict[str, Any]) -> PopulationRelay:
    position = position_of(entry["guard_frequency"] >= 0.5, entry["exit_frequency"] >= 0.5)
    weight = entry["weight"] * entry["running_frequency"] * _WEIGHT_UNITS
    rate = int(entry["bandwidth_rate"])
    burst = max(int(entry["bandwidth_burst"]), rate)
    return PopulationRelay(position, round(weight), int(entry["bandwidth_capacity"]), rate, burst)


def _population(
    relays: tuple[PopulationRelay, ...], file: Path, file_format: str, count_share: dict[str, float]
) -> Population:
    origin = {"file": file.name, "sha256": file_sha256(file), "format": file_format}
    weight_share = shares((relay.position, float(relay.consensus_weight)) for relay in relays)
    return Population(relays, count_share, weight_share, origin)


def _consensus(file: Path, descriptors: Path) -> tuple[Population, int]:
    """Positions and weights of the consensus with the rates of each relay's latest descriptor."""
    entries = list(_consensus_entries(file))
    rates = _descriptor_rates(descriptors, {entry.fingerprint for entry in entries})
    relays = tuple(
        sorted(
            PopulationRelay(_flags_position(entry), entry.bandwidth, *rates[entry.fingerprint])
            for entry in entries
            if entry.fingerprint in rates and entry.bandwidth
        )
    )
    if not relays:
        raise InputError("no descriptor is of a relay of the consensus", file=descriptors)
    count_share = shares((_flags_position(entry), 1.0) for entry in entries)
    return _population(relays, file, "consensus", count_share), len(entries) - len(relays)


def _flags_position(entry: Any) -> Position:
    is_exit = "Exit" in entry.flags and "BadExit" not in entry.flags
    return position_of("Guard" in entry.flags, is_exit)


def _consensus_entries(file: Path) -> Iterator[Any]:
    """The running relays. A consensus ends with signatures: one without has been cut off."""
    text = whole_text(file) + "\n"
    start = text.find("network-status-version")
    if start < 0:
        raise InputError("is not a network consensus", file=file, accepted="network-status-version 3 …")
    if "\ndirectory-signature " not in text or not text.rstrip().endswith("-----END SIGNATURE-----"):
        raise InputError("is cut off: a consensus ends with its signatures", file=file)
    try:
        document = NetworkStatusDocumentV3(text[start:].encode(), validate=False)
    except ValueError as error:
        raise InputError(f"is not a network consensus ({error})", file=file) from None
    for entry in document.routers.values():
        if entry.fingerprint is None or entry.flags is None:
            raise InputError(
                "is damaged: a relay lacks its identity or its flags",
                file=file,
                key=entry.nickname,
                accepted="an `r` and an `s` line for each relay",
            )
    entries = [entry for entry in document.routers.values() if "Running" in entry.flags]
    if not entries:
        raise InputError("no running relay in it", file=file)
    yield from entries


def _descriptor_rates(path: Path, wanted: set[str]) -> dict[str, tuple[int, int, int]]:
    """(observed, rate, burst) of each wanted relay's latest descriptor, bytes/s and bytes."""
    files = sorted(part for part in path.rglob("*") if part.is_file()) if path.is_dir() else [path]
    latest: dict[str, tuple[Any, tuple[int, int, int]]] = {}
    for file in files:
        try:
            found = list(parse_file(str(file), "server-descriptor 1.0", validate=False))
        except (ValueError, OSError) as error:
            raise InputError(f"is not a file of server descriptors ({error})", file=file) from None
        for descriptor in found:
            own = cast(Any, descriptor)
            if own.fingerprint in wanted and own.observed_bandwidth and own.average_bandwidth:
                burst = max(own.burst_bandwidth or 0, own.average_bandwidth)
                rates = (own.observed_bandwidth, own.average_bandwidth, burst)
                known = latest.get(own.fingerprint)
                if known is None or own.published > known[0]:
                    latest[own.fingerprint] = (own.published, rates)
    return {fingerprint: rates for fingerprint, (_, rates) in latest.items()}
