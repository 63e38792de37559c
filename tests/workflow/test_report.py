"""Snakemake's own report of a finished experiment."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml

LEVELS = "refill_sweep/cellsim/2012/ci/main"


def _stated(page: str, name: str) -> dict[str, Any]:
    """What the script of the page calls ``name``."""
    found = re.search(rf"var {name} = (\{{.*?\}});?\n", page, re.DOTALL)
    assert found, f"the page has no {name}"
    return json.loads(found[1])


def test_the_report_has_every_figure_and_summary_in_its_place(finished, tmp_path):
    for package in ("pygments", "jinja2", "docutils"):
        pytest.importorskip(package, reason=f"Snakemake's report needs {package}, which is not installed")
    workspace, _ = finished
    page = tmp_path / "report.html"
    done = workspace.snakemake("refill_sweep", "--report", str(page))
    assert done.returncode == 0, done.stdout

    experiment = yaml.safe_load((workspace.folder / "experiments/refill_sweep/experiment.yaml").read_text())
    figures = {f"results/figures/{LEVELS}/{name}.png": name for name in experiment["figures"]}
    wanted = {**figures, f"results/summaries/{LEVELS}/summary.md": "summary"}
    text = page.read_text()
    (plans,) = _stated(text, "categories").items()
    assert plans[0] == "refill_sweep"
    assert {plan: set(names) for plan, names in plans[1].items()} == {"main": set(wanted)}
    results = _stated(text, "results")
    for file, what in wanted.items():
        labels = {"engine": "cellsim", "era": "2012", "network": "ci", "what": what}
        assert results[file]["labels"] == labels
        assert "refill_sweep, plan" in " ".join(results[file]["caption"].split())
