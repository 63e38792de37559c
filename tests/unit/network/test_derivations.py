"""The derived tables: small, clean, and what the derivation makes of the measurements.

The measurements are not part of the project. Where TORSWEEP_MEASUREMENTS names a folder of them, the
derivation is repeated and compared with the tables that are committed.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest

TOPOLOGIES = Path(__file__).parents[3] / "topologies"
MEASUREMENTS = os.environ.get("TORSWEEP_MEASUREMENTS")
TABLES = sorted(path for path in TOPOLOGIES.glob("*/*") if path.suffix in (".json", ".npz"))

needs_measurements = pytest.mark.skipif(
    MEASUREMENTS is None, reason="repeating the derivation needs TORSWEEP_MEASUREMENTS"
)


def test_tables_are_small() -> None:
    assert {path.stem for path in TABLES} >= {"planetlab", "netindex-2012", "speedtest-2020", "2012", "2024"}
    assert sum(path.stat().st_size for path in TABLES) < 500_000


@pytest.mark.parametrize("path", [p for p in TABLES if p.suffix == ".json"], ids=lambda p: p.name)
def test_tables_hold_no_address_and_no_fingerprint(path: Path) -> None:
    text = path.read_text()
    assert not re.search(r"\b\d{1,3}(\.\d{1,3}){3}\b", text)
    assert not re.search(r"\b[0-9A-F]{40}\b", text)


@needs_measurements
@pytest.mark.parametrize("kind", ["latency", "bandwidth", "relays"])
def test_the_derivation_gives_the_committed_tables(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [str(TOPOLOGIES), *sys.path])
    from derive import DERIVATIONS

    errors = DERIVATIONS[kind](Path(MEASUREMENTS or "") / kind, tmp_path)
    recorded = json.loads((TOPOLOGIES / "errors.json").read_text())[kind]
    if kind == "latency":
        for judged in ("held-out pairs", "held-out hosts"):
            assert errors[judged] == pytest.approx(recorded[judged], rel=0.05)
        return
    assert errors == recorded
    for made in tmp_path.iterdir():
        assert made.read_bytes() == (TOPOLOGIES / kind / made.name).read_bytes()
