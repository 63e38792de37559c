"""Logs that are cut off, garbled, lost, or of another version: one message each, naming file and line."""

from __future__ import annotations

import gzip
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.engines.shadow.read.made_logs import Download, Scene, carried, event, tgen_opening
from torsweep.engines.shadow.read import write_tables
from torsweep.engines.shadow.simulate import HOSTS_FOLDER
from torsweep.errors import InputError

TWO = [Download(1, 0.0), Download(2, 6.25)]


def lines_of(downloads: list[Download]) -> list[str]:
    return [*tgen_opening(), *(download.report() for download in downloads)]


def refused(scene: Scene, folder: Path, damage: Callable[[Path], object] = lambda file: None) -> str:
    """What is said of the logs of ``scene``, of which ``damage`` has had that of the client's TGen."""
    run, shadow = scene.write(folder)
    damage(shadow / HOSTS_FOLDER / "web1/tgen.1004.stdout")
    with pytest.raises(InputError) as caught:
        write_tables(run, shadow)
    message = str(caught.value)
    assert "\n" not in message
    return message


def compress_a_part(file: Path) -> None:
    file.with_name(f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes())[:-20])
    file.unlink()


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda file: os.truncate(file, file.stat().st_size - 40), "line 4: ends in the middle of a line"),
        (compress_a_part, "tgen.1004.stdout.gz: is cut off or damaged"),
        (Path.unlink, "web1: has no log of tgen"),
    ],
)
def test_a_log_that_is_cut_off_or_lost(tmp_path, damage, said):
    assert said in refused(Scene(TWO), tmp_path, damage)


@pytest.mark.parametrize("version", ["1.0.0", "1.1.1", "0.9"])
def test_a_version_that_is_too_old(version, tmp_path):
    message = refused(Scene(tgen=[*tgen_opening(version=version), TWO[0].report()]), tmp_path)
    assert f"line 1: is of another version, got '{version}'; accepted: TGen 1.1.2 or later" in message


LINES = lines_of([*TWO, Download(3, 12.5)])
GARBLED = LINES[2].replace("created-ts=9", "created-ts=\ufffd")
NO_EVENT = [*carried(7, 1, 4, 0.0, 0.1), event(2.0, "650 STREAM_BW 7 1")]


@pytest.mark.parametrize(
    ("scene", "said"),
    [
        (Scene(tgen=[*LINES[:3], LINES[3][:300]]), "tgen.1004.stdout: line 4: is no report of a download"),
        (Scene(tgen=[*LINES[:2], GARBLED]), "line 3: is no report .* can read \\(no created_us\\)"),
        (Scene(tgen=LINES[2:]), "has no line that names the version of TGen"),
        (Scene(tgen=[*LINES[:3], LINES[4]]), "line 4: reports a download without the one before it"),
        (Scene(TWO, trace=NO_EVENT), "oniontrace.1003.stdout: line 6: is no STREAM_BW event"),
    ],
    ids=["report cut off", "no number", "no beginning", "lost report", "event cut off"],
)
def test_lines_that_break_off_are_garbled_or_lost(tmp_path, scene, said):
    assert re.search(said, refused(scene, tmp_path))


def test_unknown_lines_are_counted(tmp_path):
    lines = lines_of(TWO)
    strange = ["", "OpenBLAS warning", "\x00\x01"]
    trace = [event(1.0, "650 NEW_KIND_OF_EVENT 1"), "rubbish", event(1.0, "250 OK")]
    run, shadow = Scene(tgen=[*lines[:3], *strange, *lines[3:]], trace=trace).write(tmp_path)
    counters = write_tables(run, shadow)
    assert counters["tgen"]["unknown_lines"] == 3
    assert counters["tgen"]["lines"] == len(lines) + 3
    assert counters["oniontrace"]["unknown_lines"] == 2
