"""Publishing a plan: whole runs of one plan only, everything with its checksum, the same folder each time."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from pathlib import Path

import pytest

from tests.published_plan import EXPERIMENT, PublishedPlan, copied
from tests.stamped import stamp
from torsweep.bundle import pack, require_whole
from torsweep.errors import InputError


def test_everything_is_there_with_its_checksum(published):
    lines = (published / "SHA256SUMS").read_text().splitlines()
    for line in lines:
        digest, name = line.split("  ")
        assert hashlib.sha256((published / name).read_bytes()).hexdigest() == digest
    listed = {line.split("  ")[1] for line in lines}
    there = {str(file.relative_to(published)) for file in published.rglob("*") if file.is_file()}
    assert listed == there - {"SHA256SUMS", ".torsweep"}
    assert {"report.html", "tables/streams.parquet"} <= listed


def test_provenance_and_readme_say_how_to_make_it_again(published):
    provenance = json.loads((published / "provenance.json").read_text())
    assert len(provenance["runs"]) == 18
    assert [entry["seed"] for entry in provenance["networks"]] == [1, 2, 3]
    readme = (published / "README.md").read_text()
    command = "network=ci engine=cellsim era=2012 plan=main replicates=3 first_seed=1 'warm_up=10 s'"
    assert f"snakemake --cores 8 publish --config experiment=refill_sweep {command} 'measured=60 s'" in readme
    assert re.search(
        r"To make it again with torsweep \S+ \(another one says so\), in the folder `study`:", readme
    )


def test_the_same_results_give_the_same_folder(plan, published, tmp_path):
    plan.publish(tmp_path / "again")
    for file in published.rglob("*"):
        if file.is_file():
            assert (tmp_path / "again" / file.relative_to(published)).read_bytes() == file.read_bytes()


def _network_sampled_anew(plan: PublishedPlan) -> None:
    file = plan.networks[0] / "network.json"
    file.write_text(file.read_text().replace('"load": 1.0', '"load": 2.0').replace('"seed": 1', '"seed": 9'))


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda plan: shutil.rmtree(plan.stage("figures")), "figures/ttfb_cdf.png: no such figure"),
        (
            lambda plan: (plan.runs[0] / "provenance.json").unlink(),
            "provenance.json: no such file: the run is not finished",
        ),
        (
            lambda plan: (plan.runs[0] / "streams.parquet").write_text("sows"),
            "streams.parquet: has changed",
        ),
        (_network_sampled_anew, "has been sampled anew since its runs"),
        (
            lambda plan: object.__setattr__(plan, "runs", plan.runs[1:]),
            "tables: are of other runs than those given",
        ),
        (
            lambda plan: (plan.stage("summaries") / "summary.md").write_text("sunmary.md"),
            "summary.md: has changed: its SHA-256 is not the one in plan.json",
        ),
        (
            lambda plan: stamp(plan.stage("summaries"), network="paper"),
            "summaries: are of other tables than those given",
        ),
    ],
    ids=["figures", "unfinished", "run", "network", "run left out", "summary", "other tables"],
)
def test_what_does_not_fit_together_is_not_published(plan, tmp_path, damage, said):
    damaged = copied(plan, tmp_path / "plan")
    damage(damaged)
    with pytest.raises(InputError, match=re.escape(said)):
        damaged.publish(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_another_experiment_is_not_published(plan, tmp_path):
    other = EXPERIMENT.parents[1] / "starvation" / EXPERIMENT.name
    with pytest.raises(InputError, match="is another experiment, got 'starvation'; accepted: refill_sweep"):
        plan.publish(tmp_path / "out", experiment=other)
    assert not (tmp_path / "out").exists()


def test_leftovers_markers_and_figures_of_others_are_not_published(plan, tmp_path):
    messy = copied(plan, tmp_path / "plan")
    (messy.stage("figures") / ".torsweep-a1b2c3d4-ttfb_cdf.pdf").write_text("half")
    # The experiment drew it before its list of figures was edited.
    (messy.stage("figures") / "shares.pdf").write_text("of an earlier list")
    messy.publish(tmp_path / "out")
    names = {file.name for file in (tmp_path / "out" / "figures").iterdir()}
    assert len(names) == 24
    assert not any(name.startswith(".") for name in names)


def test_a_folder_whose_files_the_pipeline_has_removed_is_written_again(plan, published, tmp_path):
    emptied = tmp_path / "out"
    shutil.copytree(published, emptied)
    for file in emptied.iterdir():
        if file.is_file() and file.name != ".torsweep":
            file.unlink()
    plan.publish(emptied)
    require_whole(emptied)


def test_nothing_names_a_user_or_a_folder(published):
    for name in ("provenance.json", "README.md", "report.html"):
        assert not re.search(rf"/tmp|/home|{re.escape(str(Path.cwd()))}", (published / name).read_text()), (
            name
        )


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (lambda folder: (folder / "figures/ttfb_cdf.pdf").unlink(), "figures/ttfb_cdf.pdf: is missing"),
        (lambda folder: (folder / "figures/a.txt").write_text("mine"), "figures/a.txt: is not in SHA256SUMS"),
        (lambda folder: (folder / "report.html").write_text("well"), "report.html: has changed"),
        (lambda folder: (folder / "SHA256SUMS").unlink(), "this is no published result"),
    ],
)
def test_a_folder_that_has_changed_is_not_packed(published, tmp_path, damage, problem):
    folder = tmp_path / "main"
    shutil.copytree(published, folder)
    damage(folder)
    with pytest.raises(InputError, match=problem):
        pack(folder, tmp_path / "out.zip")
    assert not (tmp_path / "out.zip").exists()
