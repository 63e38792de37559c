"""Summaries carry the checksums of their files, and are read only while these fit.

In: a folder of summaries. Out: what its plan.json says; InputError when a file of it has changed since.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torsweep.stats.files import PLAN_FILE
from torsweep.storage.manifest import verify_folder

NO_SUMMARIES = "no such file: run `torsweep results summarize` first"


def read_plan(summaries: Path) -> dict[str, Any]:
    """plan.json in the folder ``summaries``, all files of which are as they were made; else InputError."""
    return verify_folder(summaries, PLAN_FILE, NO_SUMMARIES)
