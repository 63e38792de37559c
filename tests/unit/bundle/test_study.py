"""The study in a bundle: an empty folder and one command plan the same runs, and no path leads elsewhere."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.published_plan import EXPERIMENT
from torsweep.bundle.study import write_study_of
from torsweep.config.variant import Variant

PATCH = "--- a/kist.c\n+++ b/kist.c\n@@ -1 +1 @@\n-int a;\n+int b;\n"


def test_the_command_of_the_readme_plans_the_same_runs_in_an_empty_folder(published, tmp_path):
    shutil.copytree(published / "study", tmp_path / "empty")
    (command,) = re.findall(r"(?m)^    snakemake (.*)$", (published / "README.md").read_text())
    asked = [sys.executable, "-m", "snakemake", *shlex.split(command), "--dry-run"]
    done = subprocess.run(asked, cwd=tmp_path / "empty", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    said = done.stdout + done.stderr
    planned = re.findall(r"(?m): run refill_sweep (\S+) on ci, seed (\d+)$", said)
    ran = json.loads((published / "provenance.json").read_text())["runs"]
    wanted = {(frozenset(run["variant"].items()), run["seed"]) for run in ran}
    assert {(frozenset(Variant.parse(text).levels), int(seed)) for text, seed in planned} == wanted
    assert len(planned) == len(wanted)


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    command = ["git", "-C", str(folder), *identity, *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def first_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A study with a repository, a tarball, a patch, a figure and an era of its own."""
    folder = tmp_path / "first"
    for name in ("tor", "plotting", "configs/eras", "configs/networks", "experiments/mine"):
        (folder / name).mkdir(parents=True)
    (folder / "kist.patch").write_text(PATCH)
    (folder / "tor.tar.gz").write_bytes(b"a release")
    (folder / "plotting/mine.py").write_text("# a figure")
    (folder / "configs/eras/today.yaml").write_text("# another consensus")
    (folder / "configs/networks/given.yaml").write_text(f"tornettools: [{folder}/net]\nrelays: 3\n")
    git(folder / "tor", "init", "-q")
    git(folder / "tor", "commit", "-q", "--allow-empty", "-m", "one")
    tors = {
        "branch": {"git": str(folder / "tor"), "patches": [str(folder / "kist.patch")]},
        "release": {"source": "tor.tar.gz"},
        "again": {"same": "branch"},
        "client": {"arti": "2.7.0"},
    }
    document = {**yaml.safe_load(EXPERIMENT.read_text()), "tors": tors}
    (folder / "experiments/mine/experiment.yaml").write_text(yaml.safe_dump(document))
    monkeypatch.chdir(folder)
    return folder


def test_what_is_of_the_study_alone_is_there_and_no_path(first_machine: Path, tmp_path: Path) -> None:
    out = tmp_path / "study"
    experiment = first_machine / "experiments/mine/experiment.yaml"
    missing = write_study_of(experiment, "mine", "given", None, out)
    for file in out.rglob("*"):
        assert file.is_dir() or str(tmp_path).encode() not in file.read_bytes(), file
    tors = yaml.safe_load((out / "experiments/mine/experiment.yaml").read_text())["tors"]
    commit = git(first_machine / "tor", "rev-parse", "HEAD")
    branch = {"git": "sources/branch_tor", "patches": ["patches/branch_1_kist.patch"], "revision": commit}
    assert tors == {
        "branch": branch,
        "release": {"source": "sources/release_tor.tar.gz"},
        "again": {"same": "branch"},
        "client": {"arti": "2.7.0"},
    }
    assert (out / "patches/branch_1_kist.patch").read_text() == PATCH
    assert (out / "sources/release_tor.tar.gz").read_bytes() == b"a release"
    assert (out / "plotting/mine.py").is_file() and (out / "configs/eras/today.yaml").is_file()
    assert missing == [
        f"`sources/branch_tor`: a git repository with the commit {commit}",
        "`sources/1_net`: the network that tornettools made",
    ]


def test_what_ships_is_not_in_the_bundle(published):
    names = {str(file.relative_to(published)) for file in (published / "study").rglob("*") if file.is_file()}
    assert names == {
        "study/Snakefile",
        "study/profiles/default/config.yaml",
        "study/experiments/refill_sweep/experiment.yaml",
        "study/configs/networks/ci.yaml",
    }
