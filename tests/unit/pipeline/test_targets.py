"""What Snakemake is told of experiments before one is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from torsweep.config.experiment import EXPERIMENTS_DIRECTORY, load_experiment
from torsweep.pipeline.targets import experiment_targets


def test_each_experiment_has_its_question_and_its_figures() -> None:
    found = experiment_targets()
    assert "refill_sweep" in found
    for name, target in found.items():
        experiment = load_experiment(EXPERIMENTS_DIRECTORY / name)
        assert (target.question, target.figures) == (experiment.question, experiment.figures)


@pytest.mark.parametrize(
    "text",
    ["question: [", "[]", "figures: ttfb_cdf", "figures: [1, '{x}', '../x', null]", "question: 3"],
)
def test_a_wrong_document_has_no_figures_and_stops_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "pair").mkdir()
    (tmp_path / "pair" / "experiment.yaml").write_text(text)
    found = experiment_targets(tmp_path)["pair"]
    assert (found.question.endswith("cannot be read"), found.figures) == (True, ())
