"""The pipeline in a folder of the user's own: what it needs comes from a checkout, which stays as it is."""

from __future__ import annotations

import html
import os
import re
import shlex
import shutil
import sys
import zipfile
from pathlib import Path

import pytest

from tests.workflow import warm
from tests.workflow.conftest import COPIED, LINKED, REPOSITORY, TIMEOUT_S, Workspace, copy_parts
from tests.workflow.pair import PAIR
from torsweep.study.new import write_study

LEVELS = "mine/cellsim/2012/ten_relays/main"


def _contents(folder: Path) -> dict[str, bytes]:
    """Every file below ``folder`` but the caches that Python keeps beside its modules."""
    files = (path for path in folder.rglob("*") if "__pycache__" not in path.parts)
    return {str(path.relative_to(folder)): path.read_bytes() for path in files if path.is_file()}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkout")
    copy_parts((*COPIED, *LINKED, "src"), folder)
    return folder


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study with an experiment and a network of its own."""
    folder = tmp_path_factory.mktemp("studies") / "study"
    write_study(folder, "mine", PAIR.replace("network: ci", "network: ten_relays"))
    (folder / "configs/networks").mkdir(parents=True)
    shutil.copy(REPOSITORY / "configs/networks/ci.yaml", folder / "configs/networks/ten_relays.yaml")
    return folder


@pytest.fixture(scope="module")
def played(checkout: Path, study: Path) -> dict[str, bytes]:
    """The checkout as it was before the study was played in its own folder."""
    before = _contents(checkout)
    done = _snakemake(checkout, study, "report")
    assert not done[0], done[1]
    return before


def _snakemake(checkout: Path, where: Path, *arguments: str) -> tuple[int, str]:
    """The exit code of Snakemake, with the torsweep of ``checkout``, and what it said."""
    words = ("snakemake", "--cores", "2", *arguments)
    done = warm.run(words, where, TIMEOUT_S, modules=str(checkout / "src"))
    return done.returncode, done.stdout


def test_a_study_is_played_up_to_its_page_and_the_checkout_stays_clean(played, checkout, study):
    assert (study / f"results/reports/{LEVELS}/mine.html").is_file()
    assert [path.name for path in (study / "results/reports").iterdir()] == ["mine"]
    assert _contents(checkout) == played


def test_a_comparison_is_repeated_from_its_bundle_in_an_empty_folder(played, checkout, study, tmp_path):
    code, said = _snakemake(checkout, study, "publish", "--config", "experiment=mine")
    assert code == 0, said
    bundle = tmp_path / "bundle"
    with zipfile.ZipFile(study / f"results/bundles/{LEVELS}/mine.zip") as packed:
        packed.extractall(bundle)
    (printed,) = re.findall(r"(?m)^    snakemake --cores 8 (.*)$", (bundle / "README.md").read_text())
    page = html.unescape((bundle / "report.html").read_text())
    assert f"snakemake --cores 8 {printed}</code>" in page and "in a study of torsweep" in page.lower()
    code, said = _snakemake(checkout, bundle / "study", *shlex.split(printed))
    assert code == 0, said
    again = bundle / f"study/results/publish/{LEVELS}"
    for name in ("tables/streams.parquet", "summaries/summary.md", "experiment.yaml"):
        assert (again / name).read_bytes() == (bundle / name).read_bytes(), name


def test_what_a_study_records_names_no_folder_of_this_machine(played, checkout, study):
    stages = ("networks", "runs", "tables", "summaries", "figures", "reports")
    texts = {name: text for stage in stages for name, text in _contents(study / "results" / stage).items()}
    assert len(texts) > 20
    named = (os.fsencode(checkout), os.fsencode(study))
    assert [name for name, text in texts.items() if any(folder in text for folder in named)] == []


def test_a_study_that_has_been_played_has_nothing_left_to_do(played, checkout, study):
    code, said = _snakemake(checkout, study, "mine", "--dry-run")
    assert code == 0 and "Nothing to be done" in said, said


def test_a_checkout_that_has_moved_costs_no_runs(played, checkout, study, tmp_path):
    shutil.copytree(checkout, tmp_path / "moved")
    # A new process, as the torsweep of the moved checkout is used once.
    command = (sys.executable, "-m", "snakemake", "--cores", "2", "mine", "--dry-run")
    done = Workspace(study).run("env", f"PYTHONPATH={tmp_path / 'moved/src'}", *command)
    said = done.stdout
    assert done.returncode == 0, said
    assert {"sample_network", "run"} & set(re.findall(r"^(\w+) +\d+$", said, re.MULTILINE)) == set()


def test_the_snakefile_of_the_checkout_plays_a_study_from_anywhere(played, checkout, study, tmp_path):
    named = ("--snakefile", str(checkout / "Snakefile"), "--directory", str(study))
    code, said = _snakemake(checkout, tmp_path, *named, "mine", "--dry-run")
    assert code == 0 and "Nothing to be done" in said, said
    code, said = _snakemake(checkout, tmp_path, *named, "refill_sweep", "--dry-run", "--config", "network=ci")
    assert code == 0 and "sample_network" in said, said
