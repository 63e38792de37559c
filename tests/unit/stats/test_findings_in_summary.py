"""What a plan came to under other transports stands in its summary, and is that plan's."""

from __future__ import annotations

from pathlib import Path

import pytest

from torsweep.errors import InputError
from torsweep.stats.claims import HOLDS
from torsweep.stats.findings_file import (
    SURVIVES,
    ClaimUnderTransports,
    FindingsFile,
    TransportColumn,
    TransportVerdict,
    read_findings,
)
from torsweep.stats.summarize import Summary
from torsweep.stats.writing import write_summary


def _findings(experiment: str = "refill_sweep") -> FindingsFile:
    names = ("cellsim, tcp=linux", "emulation")
    columns = tuple(
        TransportColumn(
            transport=name,
            engine=name.split(",")[0],
            engine_version="1.0",
            queue="",
            network="ci",
            seeds=(1, 2),
            networks={1: ("a",), 2: ("b",)},
            warm_up_ns=0,
            duration_ns=60_000_000_000,
            runs=12,
            left_out=0,
        )
        for name in names
    )
    verdicts = tuple(TransportVerdict(transport=name, verdict=HOLDS, reason="", networks=2) for name in names)
    claim = ClaimUnderTransports(
        claim="c", text="Ten is best.", setting="", verdicts=verdicts, together=SURVIVES
    )
    return FindingsFile(
        experiment=experiment,
        era="2012",
        plan="main",
        margin=0.05,
        baseline={},
        transports=columns,
        claims=(claim,),
        contrasts=(),
    )


def test_a_summary_shows_what_other_transports_say(summary: Summary, tmp_path: Path) -> None:
    write_summary(summary, tmp_path / "one", _findings())
    text = (tmp_path / "one/summary.md").read_text()
    assert "## Which findings survive: verdicts" in text
    assert "| Ten is best. | holds (2)" in text
    assert read_findings(tmp_path / "one/findings.json") == _findings()
    write_summary(summary, tmp_path / "alone")
    assert "Which findings survive" not in (tmp_path / "alone/summary.md").read_text()
    assert read_findings(tmp_path / "alone/findings.json").transports == ()


def test_findings_of_another_experiment_are_refused(summary: Summary, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="are of another plan"):
        write_summary(summary, tmp_path / "one", _findings("starvation"))
