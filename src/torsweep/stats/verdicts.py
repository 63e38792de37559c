"""Verdicts as files.

In: the verdicts of a plan. Out: claims.csv, a row for each number a claim rests on; claims.json, a verdict
for each claim, which :func:`read_claims` reads back; and their table in summary.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl
from pydantic import BaseModel, ConfigDict

from torsweep.config.reading import validate
from torsweep.formats.files import read_json
from torsweep.stats.arrival import change_arrived
from torsweep.stats.claims.judging import Verdict, verdicts
from torsweep.stats.statistic import (
    CLAIMS_FILE,
    NO_SUMMARIES,
    Analysis,
    Statistic,
    counts,
    numbers,
    read_plan,
    texts,
)
from torsweep.stats.streams.steadiness import drift_sentences
from torsweep.stats.text import TextTable, variant_words


def claims_rows(verdicts_of_plan: Sequence[Verdict]) -> list[dict[str, object]]:
    """A row for each comparison of each claim; a claim that was not tested has one row without numbers."""
    rows: list[dict[str, object]] = []
    for verdict in verdicts_of_plan:
        head: dict[str, object] = {name: getattr(verdict, name) for name in _HEAD}
        rows += [
            head
            | {
                "comparison": answer.statement,
                "value": answer.interval.mean,
                "low": answer.interval.low,
                "high": answer.interval.high,
                "confidence": answer.interval.confidence,
                "simultaneous_low": answer.simultaneous.low,
                "simultaneous_high": answer.simultaneous.high,
                "networks": answer.interval.networks,
                "required": answer.required,
                "shows": answer.shows,
            }
            for answer in verdict.comparisons
        ] or [head]
    return rows


def _in_summary(analysis: Analysis, _: pl.DataFrame) -> list[TextTable]:
    """A row for each claim, and a column for each statistic, clock or setting in which one is judged."""
    verdicts_of_plan = analysis.once(verdicts)
    if not verdicts_of_plan:
        return []
    drift = drift_sentences(analysis)
    provisional = ", provisional" if drift else ""
    settings = list(dict.fromkeys(verdict.setting for verdict in verdicts_of_plan))
    rows: dict[str, list[str]] = {}
    for verdict in verdicts_of_plan:
        row = rows.setdefault(verdict.claim, [verdict.text, *("" for _ in settings)])
        row[1 + settings.index(verdict.setting)] = f"**{verdict.verdict}**{provisional}"
    header = ["claim", *(setting or "verdict" for setting in settings)]
    return [TextTable("Claims", header, list(rows.values()), [DRIFT_NOTE, *drift] if drift else [])]


DRIFT_NOTE = (
    "Verdicts are provisional: the network still changed in the measured time, so that another warm-up or "
    "duration may give other numbers. From its first to its last fifth:"
)
_HEAD = ("claim", "test", "setting", "verdict", "reason")
CLAIMS = Statistic(
    "claims",
    "a number that a claim rests on",
    texts("the claim, in which setting of added knobs, and the verdict on it", *_HEAD)
    | texts("what is compared", "comparison")
    | numbers("its value and interval over networks", "value", "low", "high", "confidence")
    | numbers(
        "interval that covers together with the claim's others", "simultaneous_low", "simultaneous_high"
    )
    | counts("networks that the row is over", "networks")
    | texts("range it should lie in, and whether it does", "required", "shows"),
    lambda analysis: claims_rows(analysis.once(verdicts)),
    in_summary=_in_summary,
    rank=10,
)


class ClaimsFile(BaseModel):
    """The whole of claims.json, where a number that is not there is null; ``baseline`` is knob to level.

    ``drift`` says what still changed in the measured time; verdicts are provisional where it says anything.
    ``not_arrived`` are the variants that told their tors something that these do not have.
    """

    model_config = ConfigDict(frozen=True)

    experiment: str
    engine: str
    engine_version: str
    era: str
    network: str
    plan: str
    seeds: tuple[int, ...]
    baseline: dict[str, str]
    interim: tuple[int, ...]
    claims: tuple[Verdict, ...]
    drift: tuple[str, ...] = ()
    not_arrived: tuple[str, ...] = ()


def claims_file(analysis: Analysis) -> ClaimsFile:
    """The content of claims.json."""
    provenance = analysis.provenance
    named = ("experiment", "engine", "engine_version", "era", "network", "plan", "seeds")
    return ClaimsFile(
        **{key: getattr(provenance, key) for key in named},
        baseline=dict(analysis.baseline),
        interim=tuple(number for number in analysis.design.interim if number <= len(provenance.seeds)),
        claims=analysis.once(verdicts),
        drift=drift_sentences(analysis),
        not_arrived=tuple(
            variant_words(variant)
            for _, variants in analysis.compared()
            for variant in variants
            if change_arrived(analysis, variant) is False
        ),
    )


def read_claims(summaries: Path) -> ClaimsFile:
    """The verdicts in the folder ``summaries``, all files of which are as they were made; InputError when the
    file is missing, damaged or of another version."""
    read_plan(summaries)
    file = summaries / CLAIMS_FILE
    return validate(ClaimsFile, read_json(file, NO_SUMMARIES), file)
