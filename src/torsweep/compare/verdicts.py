"""The verdict on each claim under each source, and which of them survive.

In: the runs of sources. Out: the tables of each on whole networks, and a frame with a row for each claim,
setting and source.

A claim is judged as in any summary (:mod:`torsweep.stats.claims.judging`), on the networks that every variant
of the plan has run on in the source; where there is none, it has not been run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from torsweep.compare.sources import SourceRuns
from torsweep.config.experiment import Experiment, Plan
from torsweep.runsets.collect import collect
from torsweep.runsets.reading import PlanTables
from torsweep.stats.claims.judging import CONTRADICTED, HOLDS, NO_DIFFERENCE, Verdict, inquiries
from torsweep.stats.inference.interim import FIXED, Design
from torsweep.stats.summarize import analyse

NOT_RUN = "not run"
"""The verdict under a source without a single network that every variant has run on."""

SURVIVES, DIFFERS, OPEN = "survives", "differs", "open"
"""What sources say together: two or more decide it, all alike; two decide it differently; neither."""

_DECIDED = (HOLDS, CONTRADICTED, NO_DIFFERENCE)
_COLUMNS = {
    **dict.fromkeys(("claim", "text", "setting", "source", "verdict", "reason"), pl.String),
    "networks": pl.Int64,
    "together": pl.String,
}


def together(decided: Sequence[str | None]) -> str:
    """What sources say together; None stands for one that does not decide."""
    found = [one for one in decided if one is not None]
    if len(set(found)) > 1:
        return DIFFERS
    return SURVIVES if len(found) > 1 else OPEN


def whole_seeds(one: SourceRuns, plan: Plan) -> tuple[int, ...]:
    """The seeds of the networks that every variant of the plan has run on."""
    return tuple(seed for seed in one.seeds if all((variant, seed) in one.runs for variant in plan.variants))


def collect_whole(one: SourceRuns, plan: Plan, seeds: Sequence[int], out: Path) -> PlanTables:
    """The tables of the runs of a source on the networks of ``seeds``, written to ``out``."""
    folders = [one.runs[variant, seed].directory for variant in plan.variants for seed in seeds]
    collect(folders, out, network=one.network, plan=plan.name)
    return PlanTables.open(out)


def judge(
    one: SourceRuns, tables: PlanTables, experiment: Experiment, plan: Plan
) -> dict[tuple[str, str], Verdict]:
    """The verdicts that ``tables`` of a source come to, by claim and setting."""
    held = _holding(experiment, plan, dict(one.source.levels))
    networks = len(tables.provenance.seeds)
    design = Design(experiment.interim) if networks in experiment.interim else FIXED
    fixed = {f"{knob}={level}" for knob, level in one.source.levels}
    verdicts = {}
    for inquiry in inquiries(analyse(tables, held)):
        setting = ", ".join(part for part in inquiry.setting.split(", ") if part not in fixed)
        verdicts[inquiry.claim.id, setting] = inquiry.verdict(design)
    return verdicts


def _holding(experiment: Experiment, plan: Plan, levels: Mapping[str, str]) -> Experiment:
    """The experiment whose ``plan`` has the knobs of ``levels`` at one level each, after its own."""
    knobs = {knob: (level,) for knob, level in levels.items()}
    if plan.name in experiment.sensitivities:
        changed = {plan.name: {**experiment.sensitivities[plan.name], **knobs}}
        return experiment.model_copy(update={"sensitivities": {**experiment.sensitivities, **changed}})
    update = {"knobs": {**experiment.knobs, **knobs}, "baseline": {**experiment.baseline, **levels}}
    return experiment.model_copy(update=update)


def verdicts_frame(
    read: Sequence[SourceRuns],
    judged: Mapping[str, Mapping[tuple[str, str], Verdict]],
    seeds: Mapping[str, Sequence[int]],
    variants: int,
) -> pl.DataFrame:
    """A row for each claim, setting and source, without rows where no source has a whole network.

    ``judged`` are verdicts and ``seeds`` whole networks, by source; the plan has ``variants``.
    """
    rows: list[dict[str, object]] = []
    for claim, setting in next((list(own) for own in judged.values() if own), []):
        found = [judged.get(one.label, {}).get((claim, setting)) for one in read]
        said = together([each.verdict if each and each.verdict in _DECIDED else None for each in found])
        text = next(each.text for each in found if each)
        for one, verdict in zip(read, found, strict=True):
            here = len({variant for variant, _ in one.runs})
            rows.append(
                {
                    "claim": claim,
                    "text": text,
                    "setting": setting,
                    "source": one.label,
                    "verdict": verdict.verdict if verdict else NOT_RUN,
                    "reason": verdict.reason
                    if verdict
                    else f"no network has all {variants} variants; {here} have run on some",
                    "networks": len(seeds[one.label]) if verdict else 0,
                    "together": said,
                }
            )
    return pl.DataFrame(rows, schema=_COLUMNS)
