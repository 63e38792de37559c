"""Documents of Tor's directory: a network consensus, and server descriptors.

In: a path (plain text, gzip or xz, any line ends). Out: the running relays of a consensus, and the rates that
relays state of themselves; InputError when a document is cut off, is of another kind, or holds a number that
no directory does.
"""

from __future__ import annotations

import datetime
import io
import re
from collections.abc import Set
from pathlib import Path
from typing import Any, NamedTuple, cast

from stem.descriptor import parse_file
from stem.descriptor.networkstatus import NetworkStatusDocumentV3

from torsweep.errors import InputError
from torsweep.formats.files import reason
from torsweep.formats.text import whole_text
from torsweep.ranges import (
    MOST_CONFIGURED_BYTES,
    MOST_CONSENSUS_WEIGHT,
    MOST_RATE_BYTES_PER_S,
)

_CONSENSUS = "the consensus of a directory authority, without a flavour"
_HEADS = re.compile(r"^network-status-version (.*)$", re.MULTILINE)
_VOTE = re.compile(r"^vote-status vote\b", re.MULTILINE)
_DESCRIPTOR = re.compile(r"^router ", re.MULTILINE)
_MICRODESCRIPTOR = re.compile(r"\A(?:@\S.*\n)*onion-key\s*$", re.MULTILINE)
_MOST_FILES = 100_000
_RATES = {
    "Bandwidth": re.compile(r"^w (?:.* )?Bandwidth=(\S*)", re.MULTILINE),
    "bandwidth": re.compile(r"^bandwidth (.*)$", re.MULTILINE),
}


class ConsensusRelay(NamedTuple):
    """A running relay: its identity in hexadecimal, its flags, its weight (None where it has none)."""

    fingerprint: str
    flags: frozenset[str]
    weight: int | None


class StatedRates(NamedTuple):
    """What a relay says of itself: observed and configured bytes/s, and its burst in bytes."""

    observed: int
    rate: int
    burst: int


def read_consensus(file: Path) -> list[ConsensusRelay]:
    """The running relays of the consensus ``file``; InputError when it is none, or none runs."""
    text = whole_text(file) + "\n"
    _check_kind(text, file)
    _require_rates(text, "Bandwidth", "a whole number of 0 or more", file)
    start = text.find("network-status-version")
    try:
        document = NetworkStatusDocumentV3(text[start:].encode(), validate=False)
        entries = list(document.routers.values())
        dated = document.valid_after is not None
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise InputError(f"is no network consensus: {reason(error)}", file=file) from None
    if not dated:
        raise InputError("lacks its dates", file=file, key="valid-after", accepted="2024-01-31 12:00:00")
    relays = [_relay(cast(Any, entry), file) for entry in entries]
    running = [relay for relay in relays if "Running" in relay.flags]
    if not running:
        raise InputError("no running relay in it", file=file)
    return running


def _check_kind(text: str, file: Path) -> None:
    """A consensus ends with signatures: one without has been cut off."""
    heads = _HEADS.findall(text)
    if not heads:
        what = "server descriptors" if _DESCRIPTOR.search(text) else "something else"
        raise InputError("is not a network consensus", file=file, value=what, accepted=_CONSENSUS)
    if len(heads) > 1:
        raise InputError(
            "holds several documents joined", file=file, value=len(heads), accepted="one consensus"
        )
    if "microdesc" in heads[0]:
        problem = "is a consensus of microdescriptors, which names no server descriptors"
        raise InputError(problem, file=file, accepted=_CONSENSUS)
    if _VOTE.search(text):
        raise InputError("is the vote of one authority, not a consensus", file=file, accepted=_CONSENSUS)
    if "\ndirectory-signature " not in text or not text.rstrip().endswith("-----END SIGNATURE-----"):
        raise InputError("is cut off: a consensus ends with its signatures", file=file)


def _require_rates(text: str, keyword: str, accepted: str, file: Path) -> None:
    """InputError unless each match is of whole numbers: stem takes a relay with others for one without."""
    for match in _RATES[keyword].finditer(text):
        words = match[1].split()
        if not words or not all(word.isascii() and word.isdigit() for word in words):
            line = text.count("\n", 0, match.start()) + 1
            key = f"line {line}: {keyword}"
            raise InputError("is no rate", file=file, key=key, value=match[1], accepted=accepted)


def _relay(entry: Any, file: Path) -> ConsensusRelay:
    if entry.fingerprint is None or entry.flags is None:
        raise InputError(
            "is damaged: a relay lacks its identity or its flags",
            file=file,
            key=entry.nickname,
            accepted="an `r` and an `s` line for each relay",
        )
    weight = entry.bandwidth
    if weight is not None and not 0 <= weight <= MOST_CONSENSUS_WEIGHT:
        accepted = f"0 to {MOST_CONSENSUS_WEIGHT}"
        key = f"{entry.nickname}: Bandwidth"
        raise InputError("is out of range", file=file, key=key, value=weight, accepted=accepted)
    return ConsensusRelay(entry.fingerprint, frozenset(entry.flags), weight)


def read_rates(path: Path, wanted: Set[str]) -> dict[str, StatedRates]:
    """The rates in the latest descriptor of each relay of ``wanted``, by its identity in hexadecimal.

    ``path`` is a file of server descriptors, or a folder of such files; relays that state no rate are left
    out. Raises InputError when a file holds no descriptor, or a rate is out of range.
    """
    files = sorted(part for part in path.rglob("*") if part.is_file()) if path.is_dir() else [path]
    if len(files) > _MOST_FILES:
        raise InputError("too many files", file=path, value=len(files), accepted=f"at most {_MOST_FILES}")
    latest: dict[str, tuple[datetime.datetime, StatedRates]] = {}
    for file in files:
        for descriptor in _descriptors(file):
            stated = (descriptor.observed_bandwidth, descriptor.average_bandwidth)
            if descriptor.fingerprint not in wanted or not all(stated) or descriptor.published is None:
                continue
            burst = max(descriptor.burst_bandwidth or 0, descriptor.average_bandwidth)
            rates = _checked(StatedRates(*stated, burst), descriptor.nickname, file)
            known = latest.get(descriptor.fingerprint)
            if known is None or descriptor.published > known[0]:
                latest[descriptor.fingerprint] = (descriptor.published, rates)
    return {fingerprint: rates for fingerprint, (_, rates) in latest.items()}


def _descriptors(file: Path) -> list[Any]:
    text = whole_text(file) + "\n"
    if not _DESCRIPTOR.search(text):
        what = "microdescriptors, which state no rates" if _MICRODESCRIPTOR.search(text) else "something else"
        raise InputError(
            "is not a file of server descriptors", file=file, value=what, accepted="router …, bandwidth …"
        )
    _require_rates(text, "bandwidth", "three whole numbers of bytes/s", file)
    try:
        return list(parse_file(io.BytesIO(text.encode()), "server-descriptor 1.0", validate=False))
    except (ValueError, TypeError, LookupError, AttributeError, OSError) as error:
        raise InputError(f"is not a file of server descriptors: {reason(error)}", file=file) from None


def _checked(rates: StatedRates, nickname: str, file: Path) -> StatedRates:
    most = StatedRates(MOST_RATE_BYTES_PER_S, MOST_CONFIGURED_BYTES, MOST_CONFIGURED_BYTES)
    for name, value, bound in zip(StatedRates._fields, rates, most, strict=True):
        if not 0 <= value <= bound:
            key = f"{nickname}: bandwidth, {name}"
            raise InputError("is out of range", file=file, key=key, value=value, accepted=f"0 to {bound}")
    return rates
