"""The files that every summary has, by name, and its manifest.

They are not with what writes them, so that the pipeline can name them without loading the statistics.
"""

from __future__ import annotations

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


def read_plan(summaries: Path) -> dict[str, Any]:
    """plan.json in the folder ``summaries``, all files of which are as they were made; else InputError."""
    return verify_folder(summaries, PLAN_FILE, NO_SUMMARIES)
