"""Relays' weights from a bandwidth file, which replace the weights that relays were drawn with.

In: a v3bw file, as sbws, Torflow and authorities have it (bandwidth-file-spec): a time, header lines
(``key=value``), and a line for each relay, ``node_id=$FINGERPRINT bw=KILOBYTES nick=NAME …``. Out: weights by
nickname, and relays with these weights; their positions and rates stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from torsweep.errors import InputError
from torsweep.formats.text import text_lines
from torsweep.network.model import Relay
from torsweep.ranges import MOST_CONSENSUS_WEIGHT

_NUMBER = re.compile(r"[0-9]{1,20}")
_V3BW_HEADER = re.compile(r"[A-Za-z0-9_.-]+=.*|={4,5}")
_MOST_NAMED = 5
"""Relays without a weight that a refusal names."""


def read_weights(file: Path) -> dict[str, int]:
    """Weights by nickname, as a consensus has them; lines that say ``vote=0`` count for nobody, as in tor.

    Raises InputError, naming the line, when ``file`` is no bandwidth file or gives a relay two weights.
    """
    lines = _lines(file)
    _, time = next(lines, (1, ""))
    if not _NUMBER.fullmatch(time):
        accepted = "a v3bw file, whose first line is a time in seconds"
        raise InputError("is no bandwidth file", file=file, value=time[:80] or "nothing", accepted=accepted)
    weights: dict[str, int] = {}
    relays = False
    for number, line in lines:
        values = dict(part.split("=", 1) for part in line.split() if "=" in part)
        relays = relays or "node_id" in values or not _V3BW_HEADER.fullmatch(line)
        if not relays or values.get("vote") == "0":
            continue
        name, weight = _weight(values, file, number)
        if name in weights:
            raise InputError("a relay has two weights", file=file, key=f"line {number}, nick", value=name)
        weights[name] = weight
    return weights


def _lines(file: Path) -> Iterator[tuple[int, str]]:
    """Lines and their numbers, without those that hold nothing or a remark."""
    for number, line in enumerate(text_lines(file), 1):
        if line.strip() and not line.startswith("#"):
            yield number, line.strip()


def _weight(values: dict[str, str], file: Path, line: int) -> tuple[str, int]:
    accepted = "node_id=$FINGERPRINT bw=KILOBYTES nick=NAME"
    for key in ("bw", "nick"):
        if key not in values:
            raise InputError(f"says no {key}", file=file, key=f"line {line}", accepted=accepted)
    if not _NUMBER.fullmatch(values["bw"]) or not 1 <= int(values["bw"]) <= MOST_CONSENSUS_WEIGHT:
        accepted = f"a whole number from 1 to {MOST_CONSENSUS_WEIGHT}"
        raise InputError(
            "is no weight", file=file, key=f"line {line}, bw", value=values["bw"], accepted=accepted
        )
    return values["nick"], int(values["bw"])


def weighted(relays: tuple[Relay, ...], weights: dict[str, int], file: Path) -> tuple[Relay, ...]:
    """``relays`` with their ``weights``, which are from ``file``; those of other names are passed over.

    Raises InputError when a relay has none.
    """
    missing = [relay.name for relay in relays if relay.name not in weights]
    if missing:
        more = f" and {len(missing) - _MOST_NAMED} more" if len(missing) > _MOST_NAMED else ""
        problem = "relays of the network have no line with their nick"
        accepted = f"a line for each of {relays[0].name} to {relays[-1].name}"
        raise InputError(problem, file=file, value=", ".join(missing[:_MOST_NAMED]) + more, accepted=accepted)
    return tuple(relay.model_copy(update={"consensus_weight": weights[relay.name]}) for relay in relays)
