"""The same scenario in every engine: what must come out whichever it was."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.engines import chain_scenario
from torsweep.config.engine_names import engine_names
from torsweep.engines.cellsim.entry import find_cellsim
from torsweep.engines.selection import find_engine, lacking

MARKS = {"shadow": pytest.mark.shadow, "emulation": pytest.mark.real_time}


@pytest.mark.parametrize(
    ("engine", "era"),
    [
        pytest.param(name, era, marks=MARKS.get(name, ()))
        for name in engine_names()
        for era in ("2012", "today")
        # The emulation of 2012 runs in test_emulation.
        if (name, era) != ("emulation", "2012")
    ],
)
def test_three_streams_on_one_circuit(
    request: pytest.FixtureRequest, tmp_path: Path, engine: str, era: str
) -> None:
    if engine != "cellsim":
        request.getfixturevalue("built_tor")
    if engine == "emulation":
        request.getfixturevalue("emulation")
    elif lack := lacking(engine):
        pytest.skip(f"needs {engine}: {lack}")
    kind = find_engine(engine).here()
    folder = chain_scenario.prepare(tmp_path, kind, era, traced=True)
    program, *rest = find_engine(engine).command.split()
    command = [sys.executable, "-m", "torsweep", *rest] if program == "torsweep" else [str(find_cellsim())]
    chain_scenario.play([*command, "run"], folder)
    provenance = chain_scenario.check(folder)
    # cellsim's provenance names no engine: run.json does.
    assert provenance.get("engine", kind) == kind
    chain_scenario.check_cells(folder)
    chain_scenario.check_breakdown(folder)
