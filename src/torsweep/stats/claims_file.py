"""claims.json: the verdicts of a plan, as ``torsweep results summarize`` leaves them.

In: a folder of summaries. Out: :class:`ClaimsFile`; InputError when the file is missing, damaged or of
another version.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict

from torsweep.config.reading import validate
from torsweep.formats.json_file import read_json
from torsweep.stats.checksums import NO_SUMMARIES, read_plan
from torsweep.stats.files import CLAIMS_FILE


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True)


class StatedInterval(_Part):
    """A mean and its interval; None where there is none."""

    mean: float | None
    low: float | None
    high: float | None
    confidence: float


class StatedComparison(_Part):
    """One number that a claim rests on."""

    statement: str
    interval: StatedInterval
    required: str
    shows: str


class StatedVerdict(_Part):
    """What the plan says about a claim."""

    claim: str
    text: str
    setting: str
    verdict: str
    reason: str
    comparisons: tuple[StatedComparison, ...]


class ClaimsFile(_Part):
    """The whole of claims.json; ``baseline`` is knob to level."""

    experiment: str
    engine: str
    engine_version: str
    era: str
    network: str
    plan: str
    seeds: tuple[int, ...]
    baseline: dict[str, str]
    claims: tuple[StatedVerdict, ...]


def read_claims(summaries: Path) -> ClaimsFile:
    """The verdicts in the folder ``summaries``, all files of which are as they were made."""
    read_plan(summaries)
    file = summaries / CLAIMS_FILE
    return validate(ClaimsFile, read_json(file, NO_SUMMARIES), file)
