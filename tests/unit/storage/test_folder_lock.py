"""One process at a time in a folder, whatever stands in the place of the lock."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from torsweep.errors import OutputError
from torsweep.folder_lock import folder_claimed, hold_folder
from torsweep.storage.folders import RUN_FOLDER, own_folder


def test_a_pipe_in_the_place_of_the_lock_is_refused_at_once(tmp_path: Path) -> None:
    own_folder(tmp_path, RUN_FOLDER)
    os.mkfifo(tmp_path / ".lock")
    with pytest.raises(OutputError, match=r"\.lock: is a pipe"):
        hold_folder(tmp_path)
    with (
        pytest.raises(OutputError, match=r"\.lock: is a pipe"),
        folder_claimed(tmp_path, RUN_FOLDER, wait=False),
    ):
        pass


def test_a_folder_that_is_in_use_is_refused(tmp_path: Path) -> None:
    with (
        folder_claimed(tmp_path, RUN_FOLDER, wait=False),
        pytest.raises(OutputError, match="another run is under way"),
        folder_claimed(tmp_path, RUN_FOLDER, wait=False),
    ):
        pass
