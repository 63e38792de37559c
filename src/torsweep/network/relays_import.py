"""Import of relay populations from a directory's own documents.

In: a network consensus with the server descriptors of its relays (plain or packed; a month of them in a
tarball), or what ``tornettools stage`` writes. Out: a folder with ``relays.json``, a population for the
sampler, without an address or a fingerprint; of a consensus also ``today.yaml``, its parameters, as
``configs/eras/`` has them.
"""

from __future__ import annotations

import datetime
import re
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, Field
from stem.descriptor import parse_file
from stem.descriptor.networkstatus import NetworkStatusDocumentV3

from torsweep.config.eras import ERAS_DIRECTORY, EraConsensus
from torsweep.config.reading import validate
from torsweep.errors import InputError
from torsweep.formats.archives import members
from torsweep.formats.files import parse_json, reason, unpacked, whole_text
from torsweep.formats.yaml_file import parse_scalar
from torsweep.network.model import POSITIONS, Position
from torsweep.network.relays import (
    POPULATION_FILE,
    Population,
    PopulationRelay,
    Shares,
    require_guard_and_exit,
    shares,
    write_population,
)
from torsweep.provenance import sha256_of_file
from torsweep.storage import whole_directory
from torsweep.storage.folders import RELAYS_FOLDER
from torsweep.units import MOST_CONFIGURED_BYTES, MOST_CONSENSUS_WEIGHT, MOST_RATE_BYTES_PER_S

ERA_FILE = "today.yaml"

RELAY_FORMATS = ("consensus", "relayinfo")

_VERSION_LINE = "network-status-version "
_NO_DOCUMENT = (ValueError, TypeError, LookupError, AttributeError)
"""What stem raises for a document that it cannot read."""

_WEIGHT_UNITS = 1e9
"""tornettools' weights are fractions of the whole; the sampler's are whole numbers."""

_LEAST_KNOWN = 0.5
"""The least part of consensus weight whose relays must have rates."""

_Fraction = Annotated[float, Field(strict=True, ge=0, le=1)]
_Capacity = Annotated[float, Field(strict=True, ge=0, le=MOST_RATE_BYTES_PER_S)]
_Configured = Annotated[float, Field(strict=True, ge=0, le=MOST_CONFIGURED_BYTES)]


class StagedRelay(BaseModel):
    """A relay as ``tornettools stage`` sums up a month: shares, bytes per second, and bytes of burst."""

    weight: _Fraction
    running_frequency: _Fraction
    guard_frequency: _Fraction
    exit_frequency: _Fraction
    bandwidth_capacity: _Capacity
    bandwidth_rate: _Configured
    bandwidth_burst: _Configured


class StagedRelays(BaseModel):
    """What ``tornettools stage`` writes, of which only the relays count."""

    relays: Annotated[dict[str, StagedRelay], Field(min_length=1)]


def import_relays(file: Path, file_format: str, out: Path, descriptors: Path | None = None) -> list[str]:
    """Write ``out`` and return the lines to print. ``descriptors`` is a file of server descriptors, a folder
    or a tarball of such files, for ``consensus``. InputError names what is wrong."""
    if file_format not in RELAY_FORMATS:
        accepted = ", ".join(RELAY_FORMATS)
        raise InputError("no such format", key="--format", value=file_format, accepted=accepted)
    if file_format == "relayinfo":
        population, left_out = _relayinfo(file)
    elif descriptors is None:
        raise InputError("a consensus needs its server descriptors", key="--descriptors", accepted="a path")
    else:
        population, left_out = _consensus(file, descriptors)
    require_guard_and_exit(population, file)
    parameters = _era_text(file) if file_format == "consensus" else None
    with whole_directory(out, RELAYS_FOLDER) as temporary:
        write_population(population, temporary / POPULATION_FILE)
        if parameters is not None:
            (temporary / ERA_FILE).write_text(parameters, encoding="utf-8")
    return [
        f"relays: {len(population.relays)}; without a weight, a rate or a descriptor: {left_out}",
        *(
            f"{position}: {len(population.of(position))} relays, "
            f"{100 * population.weight_share[position]:.1f} % of consensus weight"
            for position in POSITIONS
        ),
        f"written: {out / POPULATION_FILE}",
        *([f"written: {out / ERA_FILE}, for {ERAS_DIRECTORY} of a study"] if parameters else []),
    ]


def _era_text(file: Path) -> str:
    """The parameters of the consensus ``file`` as a file of an era; InputError for one that is no number."""
    text = whole_text(file)
    stated = re.search(r"^params (.*)$", text, re.MULTILINE)
    dated = re.search(r"^valid-after (.*)$", text, re.MULTILINE)
    pairs = dict(each.partition("=")[::2] for each in (stated[1].split() if stated else ()))
    document = {
        "valid_after": dated[1] if dated else "",
        "source": file.name,
        "parameters": {name: parse_scalar(value) for name, value in pairs.items()},
    }
    validate(EraConsensus, document, file)
    return yaml.safe_dump(document, sort_keys=False)


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
    staged = [_staged_relay(entry) for entry in entries]
    relays = tuple(sorted(relay for relay in staged if min(relay[1:]) > 0))
    if not relays:
        raise InputError("no relay with a weight and rates in it", file=file, key="relays")
    frequencies = (entry.running_frequency for entry in entries)
    running = zip((relay.position for relay in staged), frequencies, strict=True)
    weights = [(relay.position, float(relay.consensus_weight)) for relay in staged]
    return _population(relays, file, "relayinfo", shares(running), weights), len(staged) - len(relays)


def _staged_relay(entry: StagedRelay) -> PopulationRelay:
    position = position_of(entry.guard_frequency >= 0.5, entry.exit_frequency >= 0.5)
    weight = entry.weight * entry.running_frequency * _WEIGHT_UNITS
    rate = int(entry.bandwidth_rate)
    burst = max(int(entry.bandwidth_burst), rate)
    return PopulationRelay(position, round(weight), int(entry.bandwidth_capacity), rate, burst)


def _population(
    relays: tuple[PopulationRelay, ...],
    file: Path,
    file_format: str,
    count_share: Shares,
    weights: Sequence[tuple[Position, float]],
) -> Population:
    """``relays``, which have rates; ``weights`` are of all relays that run: shares are the directory's.
    InputError when the relays with rates have less than half of the weight."""
    known = sum(relay.consensus_weight for relay in relays) / sum(weight for _, weight in weights)
    if known < _LEAST_KNOWN:
        value = f"{len(relays)} of {len(weights)} relays, {100 * known:.1f} % of consensus weight"
        accepted = f"{100 * _LEAST_KNOWN:.0f} % or more of the weight, such as descriptors of a whole month"
        raise InputError("rates are known of too few relays", file=file, value=value, accepted=accepted)
    origin = {"file": file.name, "sha256": sha256_of_file(file), "format": file_format}
    return Population(relays, count_share, shares(weights), origin)


def _consensus(file: Path, descriptors: Path) -> tuple[Population, int]:
    """Positions and weights of the consensus with the rates of the descriptors that it names."""
    entries, valid_after = _running_relays(file)
    rates = _rates(descriptors, {entry.fingerprint: entry.digest for entry in entries}, valid_after)
    weighted = [entry for entry in entries if entry.bandwidth]
    if not weighted:
        problem, accepted = "gives no running relay a weight", "1 or more"
        raise InputError(problem, file=file, key="w Bandwidth", accepted=accepted)
    relays = tuple(
        sorted(
            PopulationRelay(_flags_position(entry), entry.bandwidth, *rates[entry.fingerprint])
            for entry in weighted
            if min(rates.get(entry.fingerprint, (0,))) > 0
        )
    )
    if not relays:
        problem = "no descriptor of a relay of the consensus states a rate that it has observed"
        accepted = "more than 0, the third number; a network without traffic has observed none"
        raise InputError(problem, file=descriptors, key="bandwidth", accepted=accepted)
    count_share = shares((_flags_position(entry), 1.0) for entry in entries)
    weights = [(_flags_position(entry), float(entry.bandwidth)) for entry in weighted]
    return _population(relays, file, "consensus", count_share, weights), len(entries) - len(relays)


def _flags_position(entry: Any) -> Position:
    is_exit = "Exit" in entry.flags and "BadExit" not in entry.flags
    return position_of("Guard" in entry.flags, is_exit)


def _running_relays(file: Path) -> tuple[list[Any], datetime.datetime]:
    """stem's entries of the running relays of the consensus ``file``, and its date; InputError for none, and
    for one without the signatures at its end."""
    text = whole_text(file) + "\n"
    heads = re.findall(rf"^{_VERSION_LINE}(.*)$", text, re.MULTILINE)
    if heads != ["3"] or re.search(r"^vote-status vote\b", text, re.MULTILINE):
        accepted = "a consensus of the directory authorities: one, of version 3, and without a flavour"
        raise InputError("is not a network consensus", file=file, accepted=accepted)
    if "\ndirectory-signature " not in text or not text.rstrip().endswith("-----END SIGNATURE-----"):
        raise InputError("is cut off: a consensus ends with its signatures", file=file)
    try:
        document = NetworkStatusDocumentV3(text[text.find(_VERSION_LINE) :].encode(), validate=True)
        entries, valid_after = list(document.routers.values()), document.valid_after
    except _NO_DOCUMENT as error:
        raise InputError(f"is no network consensus: {reason(error)}", file=file) from None
    for entry in entries:
        _require_most(entry.bandwidth or 0, MOST_CONSENSUS_WEIGHT, f"{entry.nickname}: Bandwidth", file)
    return [entry for entry in entries if "Running" in entry.flags], valid_after


def _rates(
    path: Path, named: Mapping[str, str], valid_after: datetime.datetime
) -> dict[str, tuple[int, int, int]]:
    """Observed and configured bytes/s and the burst of relays, by fingerprint; 0 where none is stated.

    ``named`` has the digest of the descriptor that the consensus names, by fingerprint. Where that is
    missing, the relay's newest that is not later than the consensus takes its place (dir-spec, 3.4.1).
    ``path`` is a file of server descriptors, a folder of such files, or a tarball of them, as CollecTor packs
    a month. Raises InputError when a file holds no descriptor, none counts, or a rate is out of range.
    """
    files = (part for part in path.rglob("*") if part.is_file()) if path.is_dir() else [path]
    best: dict[str, tuple[tuple[bool, datetime.datetime], tuple[int, int, int]]] = {}
    some_later = False
    for file in files:
        for one in _descriptors(file):
            if one.fingerprint not in named or one.published is None:
                continue
            _require_rates(one, file)
            is_named = _digest(one, file) == named[one.fingerprint]
            if one.published > valid_after and not is_named:
                some_later = True
                continue
            observed, rate = one.observed_bandwidth or 0, one.average_bandwidth or 0
            ranked = (is_named, one.published), (observed, rate, max(one.burst_bandwidth or 0, rate))
            best[one.fingerprint] = max(ranked, best.get(one.fingerprint, ranked))
    if not best and some_later:
        problem, accepted = "all descriptors of its relays are later than the consensus", f"to {valid_after}"
        raise InputError(problem, file=path, key="published", accepted=accepted)
    if not best:
        raise InputError("no descriptor is of a relay of the consensus", file=path)
    return {fingerprint: rates for fingerprint, (_, rates) in best.items()}


def _descriptors(file: Path) -> Iterator[Any]:
    """stem's server descriptors in ``file``, one after the other; InputError when there is none."""
    some = False
    try:
        with unpacked(file) as opened:
            for part in members(opened):
                for one in parse_file(part, "server-descriptor 1.0", validate=False):
                    if one.nickname is not None:
                        some = True
                        yield one
    except (*_NO_DOCUMENT, tarfile.TarError) as error:
        raise InputError(f"is not a file of server descriptors: {reason(error)}", file=file) from None
    if not some:
        accepted = "router …, bandwidth …; microdescriptors state no rates"
        raise InputError("is not a file of server descriptors", file=file, accepted=accepted)


def _digest(descriptor: Any, file: Path) -> str:
    """The digest by which a consensus names ``descriptor``; InputError for one without its end."""
    try:
        return str(descriptor.digest())
    except ValueError:
        key, accepted = descriptor.nickname, "a descriptor that ends with its router-signature"
        raise InputError("is cut off", file=file, key=key, accepted=accepted) from None


def _require_rates(descriptor: Any, file: Path) -> None:
    """InputError unless the descriptor's rates are whole numbers in range: stem takes others for none."""
    line = re.search(rb"^bandwidth (.*)$", descriptor.get_bytes(), re.MULTILINE)
    key = f"{descriptor.nickname}: bandwidth"
    if line and not re.fullmatch(rb"\d+ \d+ \d+\s*", line[1]):
        value = line[1].decode(errors="replace")
        raise InputError("is no rate", file=file, key=key, value=value, accepted="three whole numbers")
    _require_most(descriptor.observed_bandwidth or 0, MOST_RATE_BYTES_PER_S, key, file)
    for rate in (descriptor.average_bandwidth, descriptor.burst_bandwidth):
        _require_most(rate or 0, MOST_CONFIGURED_BYTES, key, file)


def _require_most(value: int, most: int, key: str, file: Path) -> None:
    if value > most:
        raise InputError("is out of range", file=file, key=key, value=value, accepted=f"0 to {most}")
