"""What is the same when a bundle's runs are made again; the pipeline that makes them is not run here."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.published_plan import Plan
from torsweep.bundle.verify import compare
from torsweep.pipeline.tree import PlanPath

PLACE = PlanPath("refill_sweep", "cellsim", "2012", "ci", "main")
SAME = (
    "made again, networks: 3 of 3 identical",
    "made again, runs: 18 of 18 identical",
    "made again, tables: 13 of 13 identical",
    "made again, summaries: 18 of 18 identical",
    "made again, figures: 24 of 24 identical",
    "made again, page: 1 of 1 identical",
)


@pytest.fixture
def again(plan: Plan, tmp_path: Path) -> Path:
    """A folder with the plan's results where the pipeline would leave them."""
    shutil.copytree(plan.folder / "networks", tmp_path / "results" / "networks")
    shutil.copytree(plan.folder / "runs", tmp_path / "results/runs/refill_sweep/cellsim/2012/ci")
    for stage in ("tables", "summaries", "figures"):
        shutil.copytree(plan.stage(stage), tmp_path / PLACE.stage(stage))
    (tmp_path / PLACE.page).parent.mkdir(parents=True)
    shutil.copyfile(plan.page, tmp_path / PLACE.page)
    return tmp_path


def test_all_is_the_same_when_nothing_differs(published: Path, again: Path) -> None:
    found = compare(published, again)
    assert found.lines == SAME
    assert found.problems == ()


def test_what_differs_is_counted_out(published: Path, again: Path) -> None:
    (again / "results/networks/ci/2/network.json").write_text("{}")
    (again / PLACE.stage("figures") / "ttfb_cdf.png").unlink()
    file = next((again / "results/runs/refill_sweep/cellsim/2012/ci/1").iterdir()) / "provenance.json"
    document = json.loads(file.read_text())
    document["tables"]["streams.parquet"] = "0" * 64
    file.write_text(json.dumps(document))
    found = compare(published, again)
    assert found.lines[:2] == (
        "made again, networks: 2 of 3 identical",
        "made again, runs: 17 of 18 identical",
    )
    assert "made again, figures: 23 of 24 identical" in found.lines
    assert found.problems == ("made again, not all is identical",)
