"""Import of relay populations from a directory's own documents.

In: a network consensus with the server descriptors of its relays (plain text, gzip or xz), or what
``tornettools stage`` writes. Out: a folder with ``relays.json``, a population for the sampler, without an
address or a fingerprint.
"""

from __future__ import annotations

import datetime
import io
import re
from collections.abc import Set
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field
from stem.descriptor import parse_file
from stem.descriptor.networkstatus import NetworkStatusDocumentV3

from torsweep.config.reading import validate
from torsweep.errors import InputError
from torsweep.formats.files import reason
from torsweep.formats.json_file import parse_json
from torsweep.formats.text import whole_text
from torsweep.network.model import POSITIONS, Position
from torsweep.network.population import (
    POPULATION_FILE,
    Population,
    PopulationRelay,
    Shares,
    require_guard_and_exit,
    shares,
    write_population,
)
from torsweep.provenance import sha256_of_file
from torsweep.ranges import MOST_CONFIGURED_BYTES, MOST_CONSENSUS_WEIGHT, MOST_RATE_BYTES_PER_S
from torsweep.storage import whole_directory
from torsweep.storage.folders import RELAYS

FORMATS = ("consensus", "relayinfo")

_MOST_FILES = 100_000
_HEAD = "network-status-version "
_WEIGHT = re.compile(r"^w (?:.* )?(Bandwidth)=(\S*)", re.MULTILINE)
_RATES = re.compile(r"^(bandwidth) (.*)$", re.MULTILINE)
_NO_DOCUMENT = (ValueError, TypeError, LookupError, AttributeError, OSError)
"""What stem raises for a document that it cannot read."""

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
    require_guard_and_exit(population, file)
    with whole_directory(out, RELAYS) as temporary:
        write_population(population, temporary / POPULATION_FILE)
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
    relays: tuple[PopulationRelay, ...], file: Path, file_format: str, count_share: Shares
) -> Population:
    origin = {"file": file.name, "sha256": sha256_of_file(file), "format": file_format}
    weight_share = shares((relay.position, float(relay.consensus_weight)) for relay in relays)
    return Population(relays, count_share, weight_share, origin)


def _consensus(file: Path, descriptors: Path) -> tuple[Population, int]:
    """Positions and weights of the consensus with the rates of each relay's latest descriptor."""
    entries = _running_relays(file)
    rates = _rates(descriptors, {entry.fingerprint for entry in entries})
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


def _running_relays(file: Path) -> list[Any]:
    """stem's entries of the running relays of the consensus ``file``; InputError when it is none.

    A consensus ends with signatures: one without has been cut off.
    """
    text = whole_text(file) + "\n"
    heads = re.findall(rf"^{_HEAD}(.*)$", text, re.MULTILINE)
    if len(heads) != 1 or "microdesc" in heads[0] or re.search(r"^vote-status vote\b", text, re.MULTILINE):
        accepted = "the consensus of a directory authority, one and without a flavour"
        raise InputError("is not a network consensus", file=file, accepted=accepted)
    if "\ndirectory-signature " not in text or not text.rstrip().endswith("-----END SIGNATURE-----"):
        raise InputError("is cut off: a consensus ends with its signatures", file=file)
    _require_numbers(_WEIGHT, text, file)
    try:
        document = NetworkStatusDocumentV3(text[text.find(_HEAD) :].encode(), validate=False)
        entries, dated = list(document.routers.values()), document.valid_after is not None
    except _NO_DOCUMENT as error:
        raise InputError(f"is no network consensus: {reason(error)}", file=file) from None
    if not dated:
        raise InputError("lacks its dates", file=file, key="valid-after", accepted="2024-01-31 12:00:00")
    for entry in entries:
        if entry.fingerprint is None or entry.flags is None:
            raise InputError("a relay lacks its `r` or its `s` line", file=file, key=entry.nickname)
        _require_most(entry.bandwidth or 0, MOST_CONSENSUS_WEIGHT, entry.nickname, file)
    return [entry for entry in entries if "Running" in entry.flags]


def _rates(path: Path, wanted: Set[str]) -> dict[str, tuple[int, int, int]]:
    """Observed and configured bytes/s and the burst in the latest descriptor of each relay of ``wanted``.

    ``path`` is a file of server descriptors, or a folder of such files; relays that state no rate are left
    out. Raises InputError when a file holds no descriptor, or a rate is out of range.
    """
    files = sorted(part for part in path.rglob("*") if part.is_file()) if path.is_dir() else [path]
    if len(files) > _MOST_FILES:
        raise InputError("too many files", file=path, value=len(files), accepted=f"at most {_MOST_FILES}")
    latest: dict[str, tuple[datetime.datetime, tuple[int, int, int]]] = {}
    for file in files:
        for one in _descriptors(file):
            observed, rate = one.observed_bandwidth, one.average_bandwidth
            if one.fingerprint not in wanted or not observed or not rate or one.published is None:
                continue
            burst = max(one.burst_bandwidth or 0, rate)
            _require_most(observed, MOST_RATE_BYTES_PER_S, one.nickname, file)
            _require_most(burst, MOST_CONFIGURED_BYTES, one.nickname, file)
            if one.fingerprint not in latest or one.published > latest[one.fingerprint][0]:
                latest[one.fingerprint] = (one.published, (observed, rate, burst))
    return {fingerprint: rates for fingerprint, (_, rates) in latest.items()}


def _descriptors(file: Path) -> list[Any]:
    text = whole_text(file) + "\n"
    if not re.search(r"^router ", text, re.MULTILINE):
        accepted = "router …, bandwidth …; microdescriptors state no rates"
        raise InputError("is not a file of server descriptors", file=file, accepted=accepted)
    _require_numbers(_RATES, text, file)
    try:
        return list(parse_file(io.BytesIO(text.encode()), "server-descriptor 1.0", validate=False))
    except _NO_DOCUMENT as error:
        raise InputError(f"is not a file of server descriptors: {reason(error)}", file=file) from None


def _require_numbers(pattern: re.Pattern[str], text: str, file: Path) -> None:
    """InputError unless each match is of whole numbers: stem takes a relay with others for one without."""
    for match in pattern.finditer(text):
        words = match[2].split()
        if not words or not all(word.isascii() and word.isdigit() for word in words):
            key = f"line {text.count(chr(10), 0, match.start()) + 1}: {match[1]}"
            raise InputError("is no rate", file=file, key=key, value=match[2], accepted="whole numbers")


def _require_most(value: int, most: int, nickname: str, file: Path) -> None:
    if value > most:
        key = f"{nickname}: bandwidth"
        raise InputError("is out of range", file=file, key=key, value=value, accepted=f"0 to {most}")
