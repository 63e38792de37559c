"""Summaries as files.

In: a :class:`~torsweep.stats.summarize.Summary`, and what the same plan came to under other transports. Out,
in one folder:

- ``medians.csv``: quantiles of every run; ``curves.csv``: mean curves over networks with bands
- ``differences.csv``: every variant against the baseline, paired by network
- ``claims.csv`` (a row for each comparison) and ``claims.json`` (a verdict for each claim); ``stairs.csv``
- ``outcomes.csv``: downloads by outcome; ``stationarity.csv``: drift after the warm-up
- ``closeup.csv``: the first seconds of the web clients; ``queues.csv``: queues in relays over time
- ``shares.csv``, ``clients.csv``, ``fairness.csv`` and ``progress.csv``: who starved; without rows where the
  runs were not asked for progress
- ``breakdown.csv``, ``breakdown_groups.csv``, ``breakdown_runs.csv``, ``breakdown_time.csv`` and
  ``breakdown_way.csv``: what followed downloads waited for, over networks by part and by group, of each run,
  against time, and one download; ``breakdown_counts.csv`` and ``breakdown_clocks.csv``: how many could be
  joined, and the hosts' clocks; without rows where none were followed
- ``cell_runs.csv``, ``cell_times.csv``, ``cell_density.csv``, ``cell_spikes.csv``, ``cell_counts.csv``,
  ``cell_load.csv``: how long cells stayed in relays, of each run, over networks, against time, whether their
  longest times come back, what became of them, and the load of the relays; without rows where none were
  traced
- ``findings.json``: which findings survive under other transports; without rows where there are no such runs
- ``summary.md``: all of it to read; ``plan.json``, written last: what the tables were collected from, the
  baseline, and the checksums of all other files
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import polars as pl

from torsweep.errors import InputError
from torsweep.stats.claims import Verdict
from torsweep.stats.files import CLAIMS_FILE, FINDINGS_FILE, PLAN_FILE, SUMMARY_FILES
from torsweep.stats.findings_file import FindingsFile
from torsweep.stats.findings_text import findings_sections
from torsweep.stats.report import summary_text
from torsweep.stats.summarize import Summary
from torsweep.storage import whole_file, write_text
from torsweep.storage.folders import SUMMARIES, own_folder
from torsweep.storage.manifest import with_checksums

TABLES = (
    "medians",
    "curves",
    "differences",
    "outcomes",
    "stationarity",
    "stairs",
    "closeup",
    "queues",
    "shares",
    "clients",
    "fairness",
    "progress",
)
CELL_TABLES = ("runs", "times", "density", "spikes", "counts", "load")
BREAKDOWN_TABLES = {
    "means": "breakdown",
    "groups": "breakdown_groups",
    "runs": "breakdown_runs",
    "time": "breakdown_time",
    "way": "breakdown_way",
    "counts": "breakdown_counts",
    "clocks": "breakdown_clocks",
}


def write_summary(summary: Summary, out: Path, findings: FindingsFile | None = None) -> None:
    """Write the files of the module's docstring into ``out``, each as a whole.

    Raises InputError when ``findings`` are those of another plan.
    """
    told = _findings_of(summary, findings)
    own_folder(out, SUMMARIES)
    for name in TABLES:
        write_csv(getattr(summary, name), out / f"{name}.csv")
    for name in CELL_TABLES:
        write_csv(getattr(summary.cells, name), out / f"cell_{name}.csv")
    for name, file in BREAKDOWN_TABLES.items():
        write_csv(getattr(summary.breakdown, name), out / f"{file}.csv")
    write_csv(claims_frame(summary.verdicts), out / "claims.csv")
    write_text(out / CLAIMS_FILE, json.dumps(_claims_json(summary), indent=1, ensure_ascii=False) + "\n")
    write_text(out / FINDINGS_FILE, told.text())
    write_text(out / "summary.md", summary_text(summary, findings_sections(told)))
    plan = {**json.loads(summary.provenance.to_json()), "baseline": dict(summary.baseline)}
    plan = with_checksums(plan, out, [name for name in SUMMARY_FILES if name != PLAN_FILE])
    write_text(out / PLAN_FILE, json.dumps(plan, indent=1, ensure_ascii=False) + "\n")


def _findings_of(summary: Summary, findings: FindingsFile | None) -> FindingsFile:
    provenance = summary.provenance
    where = (provenance.experiment, provenance.era, provenance.plan)
    if findings is None:
        named = dict(zip(("experiment", "era", "plan"), where, strict=True))
        return FindingsFile(
            **named, margin=0.0, baseline=dict(summary.baseline), transports=(), claims=(), contrasts=()
        )
    found = (findings.experiment, findings.era, findings.plan)
    if found != where:
        raise InputError(
            "are of another plan", key="findings", value=", ".join(found), accepted=", ".join(where)
        )
    return findings


def write_csv(frame: pl.DataFrame, path: Path) -> None:
    """Write ``frame`` with six significant digits; an empty cell is a number that is not there."""
    with whole_file(path) as temporary:
        frame.with_columns(pl.col(pl.Float64).round_sig_figs(6)).write_csv(temporary)


def claims_frame(verdicts: Sequence[Verdict]) -> pl.DataFrame:
    """A row for each comparison of each claim; a claim that was not tested has one row without numbers."""
    rows: list[dict[str, object]] = []
    for verdict in verdicts:
        head: dict[str, object] = {
            "claim": verdict.claim,
            "test": verdict.test,
            "setting": verdict.setting,
            "verdict": verdict.verdict,
            "reason": verdict.reason,
        }
        rows += [
            head
            | {
                "comparison": comparison.statement,
                "value": comparison.interval.mean,
                "low": comparison.interval.low,
                "high": comparison.interval.high,
                "confidence": comparison.interval.confidence,
                "simultaneous_low": comparison.simultaneous.low,
                "simultaneous_high": comparison.simultaneous.high,
                "networks": comparison.interval.networks,
                "required": comparison.required,
                "shows": comparison.shows,
            }
            for comparison in verdict.comparisons
        ] or [head]
    return pl.DataFrame(rows, schema=_CLAIM_COLUMNS).with_columns(pl.col(pl.Float64).fill_nan(None))


_CLAIM_COLUMNS = {
    **dict.fromkeys(("claim", "test", "setting", "verdict", "reason", "comparison"), pl.String),
    **dict.fromkeys(
        ("value", "low", "high", "confidence", "simultaneous_low", "simultaneous_high"), pl.Float64
    ),
    "networks": pl.Int64,
    "required": pl.String,
    "shows": pl.String,
}


def _claims_json(summary: Summary) -> dict[str, object]:
    where: dict[str, object] = {
        key: getattr(summary.provenance, key)
        for key in ("experiment", "engine", "engine_version", "era", "network", "plan", "seeds")
    }
    where["baseline"] = dict(summary.baseline)
    where["looks"] = [look for look in summary.design.looks if look <= len(summary.provenance.seeds)]
    return {**where, "claims": [_without_nan(asdict(verdict)) for verdict in summary.verdicts]}


def _without_nan(value: object) -> object:
    """JSON has no NaN: a number that is not there is null."""
    if isinstance(value, dict):
        return {key: _without_nan(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(part) for part in value]
    return None if isinstance(value, float) and value != value else value
