"""Summaries are read while all of their files are as they were made."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from plotting.drawing.source import Source
from torsweep.errors import InputError
from torsweep.stats.files import PLAN_FILE, read_plan
from torsweep.stats.summarize import Summary, write_summary
from torsweep.stats.verdicts import read_claims


@pytest.fixture
def folder(summary: Summary, tmp_path: Path) -> Path:
    write_summary(summary, tmp_path / "summaries")
    return tmp_path / "summaries"


def test_whole_summaries_are_read(folder: Path) -> None:
    assert read_plan(folder)["experiment"] == read_claims(folder).experiment == "refill_sweep"
    assert Source(folder).summary("medians").height


@pytest.mark.parametrize("name", ["claims.csv", "claims.json", "queues.csv", "summary.md"])
def test_one_flipped_bit_in_any_file_is_seen_by_whoever_reads_another(folder: Path, name: str) -> None:
    content = bytearray((folder / name).read_bytes())
    content[len(content) // 2] ^= 1
    (folder / name).write_bytes(content)
    refusal = f"{name}: has changed: its SHA-256 is not the one in plan.json"
    with pytest.raises(InputError, match=refusal):
        _ = Source(folder).provenance
    with pytest.raises(InputError, match=refusal):
        read_claims(folder)


def test_a_file_that_is_gone_and_a_plan_without_checksums(folder: Path, tmp_path: Path) -> None:
    old = Path(shutil.copytree(folder, tmp_path / "old"))
    (folder / "queues.csv").unlink()
    with pytest.raises(InputError, match=r"queues\.csv: is missing"):
        read_plan(folder)
    (old / PLAN_FILE).write_text("{}")
    with pytest.raises(InputError, match=r"plan\.json: tables: has no checksums"):
        read_plan(old)
