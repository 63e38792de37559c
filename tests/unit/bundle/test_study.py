"""The study in a bundle: it has what is of the study alone, and no path leads elsewhere."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
import yaml

from tests.published_plan import EXPERIMENT
from torsweep.bundle import write_study_of
from torsweep.home import CHECKOUT

PATCH = "--- a/kist.c\n+++ b/kist.c\n@@ -1 +1 @@\n-int a;\n+int b;\n"


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    command = ["git", "-C", str(folder), *identity, *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def first_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A study with a repository, a tarball, a patch, an analysis and an era of its own."""
    folder = tmp_path / "first"
    for name in ("tor", "configs/eras", "configs/networks", "experiments/mine"):
        (folder / name).mkdir(parents=True)
    (folder / "kist.patch").write_text(PATCH)
    (folder / "tor.tar.gz").write_bytes(b"a release")
    (folder / "experiments/mine/analysis.py").write_text("# an analysis")
    (folder / "configs/eras/today.yaml").write_text("# another consensus")
    (folder / "configs/networks/given.yaml").write_text(f"tornettools: [{folder}/net]\nrelays: 3\n")
    (folder / "topologies/relays").mkdir(parents=True)
    (folder / "topologies/relays/ours.json").write_text("a population")
    (folder / "imported").mkdir()
    shutil.copy(CHECKOUT / "topologies/relays/2012.json", folder / "imported/relays.json")
    ci = (CHECKOUT / "configs/networks/ci.yaml").read_text()
    imported = ci.replace('relay_population: "2012"', f"relay_population: {{file: {folder}/imported}}")
    (folder / "configs/networks/measured.yaml").write_text(imported)
    git(folder / "tor", "init", "-q")
    (folder / "tor/kist.c").write_text("int a;\n")
    git(folder / "tor", "add", ".")
    git(folder / "tor", "commit", "-q", "-m", "one")
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
    tarball = f"sources/branch_{commit}.tar.gz"
    assert tors == {
        "branch": {"source": tarball, "patches": ["patches/branch_1_kist.patch"]},
        "release": {"source": "sources/release_tor.tar.gz"},
        "again": {"same": "branch"},
        "client": {"arti": "2.7.0"},
    }
    assert (out / "patches/branch_1_kist.patch").read_text() == PATCH
    assert (out / "sources/release_tor.tar.gz").read_bytes() == b"a release"
    assert (out / "experiments/mine/analysis.py").is_file() and (out / "configs/eras/today.yaml").is_file()
    assert (out / "topologies/relays/ours.json").read_text() == "a population"
    with tarfile.open(out / tarball) as archived:
        assert f"tor-{commit}/kist.c" in archived.getnames()
    assert missing == ["`sources/1_net`: the network that tornettools made"]


def test_imported_tables_are_in_the_study(first_machine: Path, tmp_path: Path) -> None:
    out = tmp_path / "study"
    experiment = first_machine / "experiments/mine/experiment.yaml"
    assert write_study_of(experiment, "mine", "measured", None, out) == []
    network = yaml.safe_load((out / "configs/networks/measured.yaml").read_text())
    assert network["relay_population"] == {"file": "sources/relay_population_relays.json"}
    shipped = CHECKOUT / "topologies/relays/2012.json"
    assert (out / network["relay_population"]["file"]).read_bytes() == shipped.read_bytes()


def test_the_experiment_is_in_the_bundle_whole_and_nothing_else_that_ships(published):
    names = {str(file.relative_to(published)) for file in (published / "study").rglob("*") if file.is_file()}
    folder = CHECKOUT / "experiments/refill_sweep"
    whole = [file for file in folder.rglob("*") if file.is_file() and "__pycache__" not in file.parts]
    assert names == {
        "study/Snakefile",
        "study/made_with.json",
        "study/profiles/default/config.yaml",
        "study/configs/networks/ci.yaml",
        *(f"study/experiments/refill_sweep/{file.relative_to(folder)}" for file in whole),
    }
