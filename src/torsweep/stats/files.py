"""The files that every summary has, by name, and its manifest.

They are not with what writes them, so that the pipeline can name them without loading the statistics.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torsweep.storage.manifest import verify_folder

PLAN_FILE = "plan.json"
"""The manifest: what the tables were collected from, the baseline, and the checksums of the other files."""

CLAIMS_FILE = "claims.json"
"""The verdict on each claim."""

SUMMARY_TEXT = "summary.md"
"""All of it to read."""

SUMMARY_TABLES = "summary.json"
"""The paragraphs and tables of the same text, for the page."""

NO_SUMMARIES = "no such file: no summary is there"


BASELINE, NAMES = "baseline", "names"
"""What the manifest says beside where the tables come from: a level of each knob, and names of levels."""


def read_plan(summaries: Path) -> dict[str, Any]:
    """plan.json in the folder ``summaries``, all files of which are as they were made; else InputError."""
    return verify_folder(summaries, PLAN_FILE, NO_SUMMARIES)


def origin_of(plan: Mapping[str, Any]) -> dict[str, Any]:
    """Where the tables come from, of what :func:`read_plan` returns."""
    return {key: value for key, value in plan.items() if key not in (BASELINE, NAMES)}
