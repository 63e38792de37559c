"""Which files a comparison of engines is made of, and what is refused."""

from __future__ import annotations

import pytest

from torsweep.fidelity.places import FidelityPlan
from torsweep.pipeline.sweep import Sweep


def test_an_experiment_without_the_reference_is_refused_in_one_line(monkeypatch, capsys):
    sweep = Sweep({"experiment": "refill_sweep", "compare": "finished"})
    without = sweep.experiment("refill_sweep").model_copy(update={"engines": ("cellsim",)})
    monkeypatch.setattr(sweep, "experiment", lambda name: without)
    with pytest.raises(SystemExit) as stop:
        FidelityPlan(sweep).targets()
    said = capsys.readouterr().err
    assert stop.value.code == 2
    assert said.count("\n") == 1 and "refill_sweep: does not list the engine shadow" in said
