"""The tables of findings in documents have a column for every transport."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from bench.findings_rows import COLUMNS, main
from torsweep.stats.findings_file import (
    OPEN,
    SURVIVES,
    ClaimUnderTransports,
    ContrastUnderTransports,
    FindingsFile,
    TransportContrast,
    TransportVerdict,
)


def test_every_transport_has_a_column(tmp_path: Path) -> None:
    verdicts = (
        TransportVerdict(transport="emulation", verdict="holds", reason="", networks=3),
        TransportVerdict(transport="shadow", verdict="not run", reason="", networks=0),
    )
    ratio = TransportContrast(
        transport="cellsim, tcp=linux", networks=3, ratio=0.5, low=0.25, high=1.0, shows="shorter"
    )
    found = FindingsFile(
        experiment="refill_sweep",
        era="2012",
        plan="main",
        margin=0.05,
        baseline={},
        transports=(),
        claims=(
            ClaimUnderTransports(
                claim="web_best", text="Best.", setting="", verdicts=verdicts, together=SURVIVES
            ),
        ),
        contrasts=(
            ContrastUnderTransports(
                kind="web",
                metric="ttfb",
                knob="refill_interval",
                at="round_robin",
                from_level="1000ms",
                to_level="10ms",
                values=(ratio,),
                together=OPEN,
            ),
        ),
    )
    file = tmp_path / "findings.json"
    file.write_text(found.text())
    main([str(file), str(tmp_path / "here")])
    (verdict,) = pl.read_csv(tmp_path / "here_verdicts.csv").to_dicts()
    assert (verdict["claim"], verdict["emulation"], verdict["shadow"]) == ("web best", "holds (3)", "–")
    (contrast,) = pl.read_csv(tmp_path / "here_contrasts.csv").to_dicts()
    assert contrast["contrast"] == "1000 ms → 10 ms, round-robin"
    assert contrast["linux"] == "× 0.50 [0.25, 1.00] (3)"
    assert contrast["at"] == "round-robin"
    assert set(COLUMNS.values()) <= contrast.keys()
    # An experiment without claims has no table of verdicts.
    file.write_text(found.model_copy(update={"claims": ()}).text())
    main([str(file), str(tmp_path / "none")])
    assert (tmp_path / "none_contrasts.csv").exists() and not (tmp_path / "none_verdicts.csv").exists()
