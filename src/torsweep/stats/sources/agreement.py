"""The verdict on each claim under each source, and which of them survive.

In: the verdicts of a plan that several sources have run. Out: verdicts.csv, a row for each claim, setting and
source. A claim is judged as in any summary (:mod:`torsweep.stats.claims.judging`), on the networks that every
variant of the plan has run on in the source; where there is none, it has not been run.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from torsweep.config.variant import JOINED_BY
from torsweep.runsets.reading import SOURCE
from torsweep.stats.claims.judging import CONTRADICTED, HOLDS, NO_DIFFERENCE, Verdict, verdicts
from torsweep.stats.statistic import NETWORKS_COLUMN, Analysis, Statistic, texts
from torsweep.stats.text import TextTable

NOT_RUN = "not run"
"""The verdict under a source without a single network that every variant has run on."""

SURVIVES, DIFFERS, OPEN = "survives", "differs", "open"
"""What sources say together: two engines or more decide it, all alike; two sources decide it differently;
neither. Two TCPs of the model are one engine: they share all else."""

_DECIDED = (HOLDS, CONTRADICTED, NO_DIFFERENCE)


def together(decided: Mapping[str, str | None]) -> str:
    """What sources say together, by their names; None stands for one that does not decide."""
    known = {source: one for source, one in decided.items() if one is not None}
    if len(set(known.values())) > 1:
        return DIFFERS
    engines = {source.partition(JOINED_BY)[0] for source in known}
    return SURVIVES if len(engines) > 1 else OPEN


def _verdicts_of_sources(analysis: Analysis) -> list[dict[str, object]] | None:
    """The columns of :data:`VERDICTS`; None where no source has a whole network, or there are no claims."""
    by_claim: dict[tuple[str, str], dict[str, Verdict]] = {}
    for verdict in analysis.once(verdicts):
        source, _, setting = verdict.setting.removeprefix(f"{SOURCE}=").partition(", ")
        by_claim.setdefault((verdict.claim, setting), {})[source] = verdict
    whole = {source: len(part.provenance.seeds) for source, part in analysis.parts.items()}
    if not any(whole.values()):
        return None
    rows: list[dict[str, object]] = []
    for (claim, setting), of_sources in by_claim.items():
        of_each = {
            source: one.verdict if one.verdict in _DECIDED else None for source, one in of_sources.items()
        }
        for source, one in of_sources.items():
            rows.append(
                {"claim": claim, "text": one.text, "setting": setting, SOURCE: source}
                | {"verdict": one.verdict if whole[source] else NOT_RUN, "reason": one.reason}
                | {"networks": whole[source], "together": together(of_each)}
            )
    return rows or None


def _in_summary(analysis: Analysis, table: pl.DataFrame) -> list[TextTable]:
    rows = []
    for own in table.partition_by("claim", "setting", maintain_order=True):
        first = own.row(0, named=True)
        listed = [f"{row['verdict']} ({row['networks']})" for row in own.iter_rows(named=True)]
        text = f"{first['text']} ({first['setting']})" if first["setting"] else first["text"]
        agreed = first["together"]
        rows.append([text, *listed, agreed if agreed == OPEN else f"**{agreed}**"])
    note = (
        "In brackets: how many networks have all of the plan's variants, on which the verdict rests. "
        f"Together: {SURVIVES} where two engines or more decide a claim, all alike, {DIFFERS} where "
        f"two sources decide it differently, else {OPEN}."
    )
    header = ["claim", *analysis.parts, "together"]
    return [TextTable("Claims under each source", header, rows, [note])]


VERDICTS = Statistic(
    "verdicts",
    "a claim under one source",
    texts("the claim, and in which setting of added knobs", "claim", "text", "setting")
    | texts("the source", SOURCE)
    | texts("the verdict, not run without a whole network, and why", "verdict", "reason")
    | NETWORKS_COLUMN
    | texts("what all sources say: survives, differs or open", "together"),
    _verdicts_of_sources,
    rests_on=SOURCE,
    in_summary=_in_summary,
    rank=13,
)
