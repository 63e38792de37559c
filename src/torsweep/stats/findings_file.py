"""findings.json: which findings survive, as ``torsweep results findings`` leaves them.

In and out: :class:`FindingsFile`: the transports that a plan has run over, the verdict on each claim and the
size of each contrast under each of them, and what these say together. InputError when the file is missing,
damaged or of another version.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from torsweep.config.reading import validate
from torsweep.formats.json_file import read_json
from torsweep.stats.claims.judging import CONTRADICTED, HOLDS, NO_DIFFERENCE

NO_FINDINGS = "no such file: run `torsweep results findings` first"

SURVIVES, DIFFERS, OPEN = "survives", "differs", "open"
"""What the transports say together: two or more decide it, all alike; two decide it differently; neither."""

LONGER, SHORTER, UNCLEAR = "longer", "shorter", "unclear"
"""What an interval of a contrast says, beside :data:`~torsweep.stats.claims.judging.NO_DIFFERENCE`: all of it
lies above 1, below 1, or neither."""

NOT_RUN = "not run"
"""The verdict under a transport without a single network that every variant has run on."""

_DECIDED = (HOLDS, CONTRADICTED, NO_DIFFERENCE, LONGER, SHORTER)


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class TransportColumn(_Part):
    """What has run over one transport: ``networks`` says for each seed which network.json it had."""

    transport: str
    engine: str
    engine_version: str
    queue: str
    network: str
    seeds: tuple[int, ...]
    networks: dict[int, tuple[str, ...]]
    warm_up_ns: int
    duration_ns: int
    runs: int
    left_out: int


class TransportVerdict(_Part):
    """The verdict on a claim under one transport, from ``networks`` networks that every variant ran on."""

    transport: str
    verdict: str
    reason: str
    networks: int


class ClaimUnderTransports(_Part):
    """A claim under every transport."""

    claim: str
    text: str
    setting: str
    verdicts: tuple[TransportVerdict, ...]
    together: str


class TransportContrast(_Part):
    """A ratio of medians under one transport: the mean over networks of its logarithm, as a ratio, with its
    interval (95 %, Student's t, paired by network). None where there is none."""

    transport: str
    networks: int
    ratio: float | None
    low: float | None
    high: float | None
    shows: str


class ContrastUnderTransports(_Part):
    """Two variants one knob apart, ``to_level`` over ``from_level``; ``at``: levels of the other knobs."""

    kind: str
    metric: str
    knob: str
    at: str
    from_level: str
    to_level: str
    values: tuple[TransportContrast, ...]
    together: str


class FindingsFile(_Part):
    """The whole of findings.json; ``margin`` is the relative difference below which there is none."""

    format: Literal["torsweep-findings"] = "torsweep-findings"
    format_version: Literal[1] = 1
    experiment: str
    era: str
    plan: str
    margin: float
    baseline: dict[str, str]
    transports: tuple[TransportColumn, ...]
    claims: tuple[ClaimUnderTransports, ...]
    contrasts: tuple[ContrastUnderTransports, ...]

    @property
    def same_networks(self) -> bool:
        """Whether every transport has run on the very same networks, by the files' hashes."""
        return all(
            (one.network, one.networks) == (self.transports[0].network, self.transports[0].networks)
            for one in self.transports
        )

    @property
    def consistent_networks(self) -> bool:
        """Whether a network's configuration and seed stand for one file under all transports."""
        hashes: dict[tuple[str, int], tuple[str, ...]] = {}
        return all(
            hashes.setdefault((one.network, seed), own) == own
            for one in self.transports
            for seed, own in one.networks.items()
        )

    def text(self) -> str:
        """The content of the file: the same bytes for the same findings."""
        return self.model_dump_json(indent=1) + "\n"


def together(shown: Sequence[str]) -> str:
    """What verdicts, or readings of a contrast, of several transports say together."""
    decided = [one for one in shown if one in _DECIDED]
    if len(set(decided)) > 1:
        return DIFFERS
    return SURVIVES if len(decided) > 1 else OPEN


def read_findings(file: Path) -> FindingsFile:
    """The findings in ``file``; see the module's docstring."""
    return validate(FindingsFile, read_json(file, NO_FINDINGS), file)
