"""One process at a time in a folder, whatever stands in the place of the lock."""

from __future__ import annotations

from pathlib import Path

import pytest

from torsweep.errors import OutputError
from torsweep.folder_lock import folder_claimed
from torsweep.storage.folders import RUN_FOLDER


def test_a_folder_that_is_in_use_is_refused(tmp_path: Path) -> None:
    with (
        folder_claimed(tmp_path, RUN_FOLDER, wait=False),
        pytest.raises(OutputError, match="another run is under way"),
        folder_claimed(tmp_path, RUN_FOLDER, wait=False),
    ):
        pass
