"""Findings as files.

In: a :class:`~torsweep.stats.findings_file.FindingsFile`. Out, in one folder: ``findings.json`` (all of it),
``verdicts.csv`` (a row for each claim and transport), ``contrasts.csv`` (a row for each contrast and
transport) and ``findings.md``, to read.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from torsweep.stats.files import FINDINGS_FILE
from torsweep.stats.findings_file import FindingsFile
from torsweep.stats.findings_text import findings_text
from torsweep.stats.statistic import write_csv
from torsweep.storage import write_text
from torsweep.storage.folders import COMPARISON, own_folder


def write_findings(findings: FindingsFile, out: Path) -> None:
    """Write the files of the module's docstring into ``out``, each as a whole."""
    own_folder(out, COMPARISON)
    write_csv(verdicts_frame(findings), out / "verdicts.csv")
    write_csv(contrasts_frame(findings), out / "contrasts.csv")
    write_text(out / "findings.md", findings_text(findings))
    write_text(out / FINDINGS_FILE, findings.text())


def verdicts_frame(findings: FindingsFile) -> pl.DataFrame:
    """A row for each claim, setting and transport."""
    texts = dict.fromkeys(("claim", "setting", "transport", "verdict", "reason"), pl.String)
    rows = [
        {"claim": claim.claim, "setting": claim.setting, **one.model_dump(), "together": claim.together}
        for claim in findings.claims
        for one in claim.verdicts
    ]
    return pl.DataFrame(rows, schema={**texts, "networks": pl.Int64, "together": pl.String})


def contrasts_frame(findings: FindingsFile) -> pl.DataFrame:
    """A row for each contrast and transport; the numbers are ratios of medians."""
    texts = dict.fromkeys(("kind", "metric", "knob", "at", "from", "to", "transport"), pl.String)
    numbers = {"networks": pl.Int64, **dict.fromkeys(("ratio", "low", "high"), pl.Float64)}
    rows = [
        {
            **{key: getattr(row, key) for key in ("kind", "metric", "knob", "at")},
            "from": row.from_level,
            "to": row.to_level,
            **one.model_dump(),
            "together": row.together,
        }
        for row in findings.contrasts
        for one in row.values
    ]
    return pl.DataFrame(rows, schema={**texts, **numbers, "shows": pl.String, "together": pl.String})
