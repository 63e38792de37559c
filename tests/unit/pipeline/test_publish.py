"""Publishing a plan: whole runs only, everything with its checksum."""

from __future__ import annotations

import hashlib
import json

import pytest

from tests.stamped import stamp
from tests.synthetic import finish_run
from torsweep.config.experiment import load_experiment
from torsweep.engines.prepare import build_run, run_settings, write_run

PLACE = "refill_sweep/cellsim/2012/ci/main"


@pytest.fixture
def plan(network, tmp_path):
    """Summaries, figures and one run of a plan; gives the arguments of the command and the run."""
    for stage, name in (("summaries", "summary.md"), ("figures", "ttfb_cdf.pdf")):
        (tmp_path / stage / PLACE).mkdir(parents=True)
        (tmp_path / stage / PLACE / name).write_text(name)
    stamp(tmp_path / "summaries" / PLACE)
    run_directory = tmp_path / "run"
    experiment = load_experiment("refill_sweep", {"warm_up": "20 s", "measured": "90 s"})
    variant = experiment.variant("")
    settings = run_settings(experiment, "cellsim", "2012", variant)
    write_run(build_run(settings, variant, network, run_directory), run_directory)
    arguments = ["run", "publish", tmp_path / "summaries" / PLACE, run_directory]
    arguments += ["--figures", tmp_path / "figures" / PLACE, "--out", tmp_path / "publish"]
    arguments += ["--experiment", "experiments/refill_sweep/experiment.yaml"]
    return arguments, run_directory


def _finish(run_directory):
    (run_directory / "streams.parquet").write_text("rows")
    finish_run(run_directory, engine="cellsim", engine_version="1", wall_s=1.0)


def test_everything_is_there_with_its_checksum(torsweep, plan, tmp_path):
    arguments, run_directory = plan
    _finish(run_directory)
    assert torsweep(*arguments)[0] == 0
    folder = tmp_path / "publish"
    for line in (folder / "SHA256SUMS").read_text().splitlines():
        digest, name = line.split("  ")
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
    provenance = json.loads((folder / "provenance.json").read_text())
    assert provenance["runs"][0]["seed"] == 7
    assert [(entry["seed"], entry["config"]["relays"]) for entry in provenance["networks"]] == [(7, 5)]
    readme = (folder / "README.md").read_text()
    assert (
        "network=ci engine=cellsim era=2012 plan=main replicates=1 'warm_up=20 s' 'measured=90 s'" in readme
    )


def test_a_run_that_is_not_whole_is_not_published(torsweep, plan, tmp_path):
    arguments, _ = plan
    code, _, error = torsweep(*arguments)
    assert code == 2
    assert "cannot be published: prepared for cellsim, not complete" in error
    assert not (tmp_path / "publish").exists()


def test_a_network_that_is_not_that_of_the_runs_is_not_published(torsweep, plan, network):
    arguments, run_directory = plan
    _finish(run_directory)
    file = network / "network.json"
    file.write_text(file.read_text().replace('"load": 1.0', '"load": 2.0'))
    code, _, error = torsweep(*arguments)
    assert code == 2
    assert "has been sampled anew since its runs" in error


def test_what_a_user_put_beside_a_published_result_is_kept(torsweep, plan, tmp_path):
    arguments, run_directory = plan
    _finish(run_directory)
    assert torsweep(*arguments)[0] == 0
    assert torsweep(*arguments)[0] == 0, "what torsweep published before is replaced"
    notes = tmp_path / "publish" / "figures" / "notes.txt"
    notes.write_text("to be asked")
    code, _, error = torsweep(*arguments)
    assert code == 2
    assert "publish: holds figures/notes.txt, which torsweep did not write" in error
    assert notes.read_text() == "to be asked"


def test_leftovers_and_markers_are_not_published(torsweep, plan, tmp_path):
    arguments, run_directory = plan
    _finish(run_directory)
    (tmp_path / "figures" / PLACE / ".torsweep-a1b2c3d4-ttfb_cdf.pdf").write_text("half")
    assert torsweep(*arguments)[0] == 0
    assert [file.name for file in (tmp_path / "publish" / "figures").iterdir()] == ["ttfb_cdf.pdf"]


def test_a_damaged_run_is_not_published(torsweep, plan, tmp_path):
    arguments, run_directory = plan
    _finish(run_directory)
    (run_directory / "streams.parquet").write_text("sows")
    code, _, error = torsweep(*arguments)
    assert code == 2
    assert "cannot be published: streams.parquet is damaged" in error


def test_a_damaged_summary_is_not_published(torsweep, plan, tmp_path):
    arguments, run_directory = plan
    _finish(run_directory)
    (tmp_path / "summaries" / PLACE / "summary.md").write_text("sunmary.md")
    code, _, error = torsweep(*arguments)
    assert code == 2
    assert "summary.md is damaged: its checksum is not the one in plan.json" in error
    assert not (tmp_path / "publish").exists()


def test_summaries_must_say_whose_they_are(torsweep, plan, monkeypatch):
    arguments, run_directory = plan
    _finish(run_directory)
    arguments[2] = "summaries"
    code, _, error = torsweep(*arguments)
    assert code == 2
    assert "does not say whose summaries these are" in error
