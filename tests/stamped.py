"""Summaries that a test has changed, as if they had been made so.

In: a folder of summaries, and changes to plan.json. Out: plan.json with the checksums of what the folder
holds.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from torsweep.stats.statistic import PLAN_FILE
from torsweep.storage import with_checksums
from torsweep.storage.folders import MARKER


def stamp(folder: Path, **changes: Any) -> Path:
    """Write plan.json anew; a change to None drops the key."""
    file = folder / PLAN_FILE
    document = json.loads(file.read_text()) if file.exists() else {}
    document = {key: value for key, value in {**document, **changes}.items() if value is not None}
    others = {each.name for each in folder.iterdir()} - {PLAN_FILE, MARKER}
    stamped = with_checksums(document, folder, sorted(others))
    file.write_text(json.dumps(stamped))
    return folder
