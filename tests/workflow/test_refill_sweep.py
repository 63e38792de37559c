"""A tiny refill_sweep from configuration to figures, and what a change makes anew."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import yaml

from tests.own_analysis import FIGURES
from tests.workflow.conftest import TINY

PLACE = Path("refill_sweep/cellsim/2012/ci/main")


def test_every_claim_gets_a_verdict(finished):
    workspace, _ = finished
    experiment = yaml.safe_load((workspace.folder / "experiments/refill_sweep/experiment.yaml").read_text())
    judged = json.loads((workspace.folder / "results" / "summaries" / PLACE / "claims.json").read_text())
    judged_once = list(dict.fromkeys(claim["claim"] for claim in judged["claims"]))
    assert judged_once == [claim["id"] for claim in experiment["claims"]]
    # Once for each statistic.
    assert len([claim for claim in judged["claims"] if claim["claim"] == "web_best_at_10ms"]) == 4
    assert all(claim["verdict"] and claim["reason"] for claim in judged["claims"])


def test_nothing_half_written_stays(finished):
    workspace, _ = finished
    runs = workspace.folder / "results" / "runs"
    assert not list(runs.rglob(".unfinished"))
    assert {file.name for file in runs.rglob("*") if file.is_file()} == {
        ".lock",
        ".torsweep",
        "run.json",
        "streams.parquet",
        "relays.parquet",
        "progress.parquet",
        "circuits.parquet",
        "received.parquet",
        "wire.parquet",
        "round_trips.parquet",
        "provenance.json",
    }


@pytest.mark.parametrize(
    ("config", "jobs"),
    [
        (("measured=31 s",), {"run": 12, "collect_tables": 1}),
        (("replicates=3",), {"sample_network": 1, "run": 6, "collect_tables": 1}),
        (("era=today",), {"run": 12, "collect_tables": 1}),
        (("plan=quantum_1",), {"run": 12, "collect_tables": 1}),
        (("plan=loads",), {"sample_network": 8, "run": 48, "collect_tables": 1}),
    ],
)
def test_an_override_makes_anew_what_depends_on_it_and_no_more(finished, config, jobs):
    workspace, _ = finished
    overridden = {entry.split("=")[0] for entry in config}
    kept = tuple(word for word in TINY if word.split("=")[0] not in overridden)
    planned = workspace.planned_jobs(config=(*kept, *config))
    assert {rule: planned.get(rule, 0) for rule in ("sample_network", "run", "collect_tables")} == {
        "sample_network": 0,
        **jobs,
    }


def test_edits_make_anew_what_depends_on_them_and_no_more(finished, tmp_path):
    original, _ = finished
    shutil.copytree(original.folder, tmp_path / "edited", symlinks=True)
    workspace = type(original)(tmp_path / "edited")
    network = workspace.folder / "configs" / "networks" / "ci.yaml"
    network.write_text(network.read_text() + "# A comment changes no network.\n")
    assert workspace.planned_jobs() == {}
    experiment = workspace.folder / "experiments" / "refill_sweep" / "experiment.yaml"
    toy = FIGURES.replace('("twice", "outcomes")', '("outcomes",)').replace("twice_bars", "toy")
    experiment.with_name("toy.py").write_text(toy)
    experiment.write_text(experiment.read_text().replace("figures: [", "# A comment.\nfigures: [toy, "))
    assert workspace.planned_jobs() == {"draw_figure": 1, "report_plan": 1}
    experiment.write_text(experiment.read_text().replace("margin: 0.05", "margin: 0.1"))
    planned = workspace.planned_jobs()
    assert planned["summarize"] == 1
    assert "run" not in planned
    experiment.write_text(experiment.read_text().replace("response: 300 KiB", "response: 200 KiB"))
    assert workspace.planned_jobs()["run"] == 12
    network.write_text(network.read_text().replace("servers: 20", "servers: 21"))
    planned = workspace.planned_jobs()
    assert (planned["sample_network"], planned["run"]) == (2, 12)
