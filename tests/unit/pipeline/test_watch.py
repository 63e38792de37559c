"""How far a sweep is, and how long the rest will take."""

from __future__ import annotations

import os

import pytest

from torsweep.errors import OutputError
from torsweep.folder_lock import hold_folder
from torsweep.pipeline.watch import follow_runs, progress_line


def test_the_estimate_goes_by_the_pace_so_far():
    assert progress_line(8, 48, elapsed_s=36.0, done_s=16.0, all_s=96.0) == "8 of 48 runs, about 3 min left"
    assert progress_line(48, 48, 216.0, 96.0, 96.0) == "48 of 48 runs, in 4 min"


def test_short_runs_say_little_of_the_long_ones_that_follow():
    """Twelve runs of the model take 13 s; seven in real time are still to come."""
    line = progress_line(12, 19, elapsed_s=13.0, done_s=5.0, all_s=2000.0)
    assert line == "12 of 19 runs, about 36 min left"


def test_only_runs_finished_since_the_start_count(tmp_path):
    files = [tmp_path / f"{number}.json" for number in range(3)]
    files[0].write_text("of an earlier run")
    os.utime(files[0], (1, 1))
    said: list[str] = []
    time = iter(range(0, 100, 10))
    look = follow_runs(dict.fromkeys(files, 10.0), said.append, clock=lambda: next(time))
    look()
    assert said == []
    files[1].write_text("")
    look()
    look()
    assert said == ["1 of 3 runs, about 20 s left"]
    files[0].write_text("anew")
    files[2].write_text("")
    look()
    assert said[1] == "3 of 3 runs, in 20 s"


def test_a_second_pipeline_in_the_folder_is_refused(tmp_path):
    results = tmp_path / "results"
    hold_folder(results)
    with pytest.raises(
        OutputError, match=rf"results: in use by another run of the pipeline \(process {os.getpid()}\)"
    ):
        hold_folder(results)


def test_a_folder_that_cannot_be_used_is_refused(tmp_path):
    results = tmp_path / "results"
    results.write_text("")
    with pytest.raises(OutputError, match="results: is no folder"):
        hold_folder(results)
