"""Summaries are read while all of their files are as they were made."""

from __future__ import annotations

import pytest

from plotting.drawing.source import Source
from torsweep.errors import InputError
from torsweep.stats.summarize import write_summary
from torsweep.stats.verdicts import read_claims


@pytest.mark.parametrize("name", ["claims.csv", "claims.json", "queues.csv", "summary.md"])
def test_one_flipped_bit_in_any_file_is_seen_by_whoever_reads_another(summary, tmp_path, name):
    folder = tmp_path / "summaries"
    write_summary(summary, folder)
    assert read_claims(folder).experiment == "refill_sweep" and Source(folder).summary("medians").height
    content = bytearray((folder / name).read_bytes())
    content[len(content) // 2] ^= 1
    (folder / name).write_bytes(content)
    for read in (read_claims, lambda folder: Source(folder).provenance):
        with pytest.raises(InputError, match=f"{name}: has changed: its SHA-256 is not the one in plan.json"):
            read(folder)
