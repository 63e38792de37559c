"""Whichever file under results/ is deleted, the next run makes it again, and nothing that need not be."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.workflow.conftest import TINY, Workspace
from torsweep.config.experiment import load_experiment
from torsweep.pipeline.leaving import published_files
from torsweep.storage.folders import MARKER

LEVELS = "refill_sweep/cellsim/2012/ci/main"
NETWORK = "results/networks/ci/1"
RUN = "results/runs/refill_sweep/cellsim/2012/ci/1/refill_interval=10ms+circuit_policy=ewma"
TABLES, SUMMARIES, FIGURES = (f"results/{stage}/{LEVELS}" for stage in ("tables", "summaries", "figures"))
PUBLISHED = f"results/publish/{LEVELS}"
PAGE, BUNDLE = f"results/reports/{LEVELS}/refill_sweep.html", f"results/bundles/{LEVELS}/refill_sweep.zip"

AFTER_TABLES = {"summarize": 1, "draw_figure": 5, "report_plan": 1}
AFTER_RUN = {"collect_tables": 1, **AFTER_TABLES}
KINDS = {
    # Snakemake cannot know that a network that is sampled again is the same one: its runs are made again.
    **{
        f"{NETWORK}/{name}": {"sample_network": 1, "run": 6, **AFTER_RUN}
        for name in ("network.json", "latency.npy")
    },
    **{
        f"{RUN}/{name}": {"run": 1, **AFTER_RUN}
        for name in ("run.json", "provenance.json", "streams.parquet", "relays.parquet", "progress.parquet")
    },
    **{
        f"{TABLES}/{name}": AFTER_RUN
        for name in ("streams.parquet", "relays.parquet", "progress.parquet", "provenance.json")
    },
    **{
        f"{SUMMARIES}/{name}": AFTER_TABLES
        for name in ("summary.md", "plan.json", "claims.json", "medians.csv", "curves.csv", "progress.csv")
    },
    **{
        f"{FIGURES}/ttfb_cdf.{ending}": {"draw_figure": 1, "report_plan": 1}
        for ending in ("pdf", "png", "csv")
    },
    PAGE: {"report_plan": 1},
    **{
        f"{PUBLISHED}/{name}": {}
        for name in (
            "README.md",
            "provenance.json",
            "experiment.yaml",
            "report.html",
            "ro-crate-metadata.json",
            "CITATION.cff",
            "SHA256SUMS",
            "tables/streams.parquet",
            "tables/provenance.json",
            "summaries/summary.md",
            "summaries/claims.json",
            "figures/ttfb_cdf.pdf",
            "figures/ttfb_cdf.png",
            "figures/ttfb_cdf.csv",
        )
    },
    BUNDLE: {"bundle_plan": 1, "publish_refill_sweep": 0},
}
"""A file of each kind, and the jobs that its deletion brings."""

PUBLISHING = (*TINY, "experiment=refill_sweep")
"""What a user asks for with ``snakemake publish``: everything, from the networks to the bundle."""


@pytest.fixture(scope="module")
def published(
    finished: tuple[Workspace, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Workspace]:
    """A finished workspace of this module's own, published too."""
    folder = tmp_path_factory.mktemp("published") / "copy"
    shutil.copytree(finished[0].folder, folder, symlinks=True)
    made = Workspace(folder)
    done = made.snakemake("publish", config=PUBLISHING)
    assert done.returncode == 0, done.stdout
    yield made
    made.stop_all()


def _planned(workspace: Workspace) -> dict[str, int]:
    return workspace.planned_jobs("publish", config=PUBLISHING)


def test_there_are_twenty_kinds_and_nothing_to_do(published: Workspace) -> None:
    assert len(KINDS) >= 20
    assert _planned(published) == {}


@pytest.mark.parametrize("name", KINDS)
def test_a_deletion_brings_the_jobs_that_it_needs(published: Workspace, name: str, tmp_path: Path) -> None:
    file = published.folder / name
    file.rename(tmp_path / "kept")
    try:
        planned = _planned(published)
    finally:
        (tmp_path / "kept").rename(file)
    # What is published holds everything, and is made again with whatever it holds.
    expected = {"publish_refill_sweep": 1, "bundle_plan": 1, **KINDS[name]}
    assert planned == {rule: jobs for rule, jobs in expected.items() if jobs}


def test_every_file_of_a_published_folder_is_known_to_the_pipeline(published: Workspace) -> None:
    folder = published.folder / PUBLISHED
    there = {file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()}
    figures = load_experiment(published.folder / "experiments" / "refill_sweep").figures
    assert there == {*published_files(figures), MARKER}


@pytest.mark.parametrize(
    "name",
    [
        f"{PUBLISHED}/figures/relay_queues.pdf",
        f"{PUBLISHED}/tables/relays.parquet",
        f"{PUBLISHED}/summaries/medians.csv",
        f"{PUBLISHED}/report.html",
        BUNDLE,
    ],
)
def test_a_copy_that_is_deleted_is_made_again_and_nothing_is_simulated(
    published: Workspace, name: str
) -> None:
    file, runs = published.folder / name, published.provenance_files()
    before, ran = file.read_bytes(), [run.stat().st_mtime_ns for run in runs]
    file.unlink()
    if name != BUNDLE:
        found = published.run(sys.executable, "-m", "torsweep", "verify", PUBLISHED)
        assert (found.returncode, f"{Path(name).name}: is missing" in found.stdout) == (1, True)
    done = published.snakemake("publish", config=PUBLISHING)
    assert done.returncode == 0, done.stdout
    assert file.read_bytes() == before
    assert [run.stat().st_mtime_ns for run in runs] == ran
    for bundle in (PUBLISHED, BUNDLE):
        assert published.run(sys.executable, "-m", "torsweep", "verify", bundle).returncode == 0
    again = published.snakemake("publish", config=PUBLISHING)
    assert (again.returncode, "Nothing to be done" in again.stdout) == (0, True), again.stdout


def test_all_of_them_come_back_with_the_same_bytes(published: Workspace) -> None:
    before = {name: (published.folder / name).read_bytes() for name in KINDS}
    of_the_other_network = {
        file: file.stat().st_mtime_ns for file in published.provenance_files() if "/ci/2/" in str(file)
    }
    for name in KINDS:
        (published.folder / name).unlink()
    done = published.snakemake("publish", config=PUBLISHING)
    assert done.returncode == 0, done.stdout
    tells_of_the_machine = {
        f"{RUN}/provenance.json",
        # The crate states the size of provenance.json, and the bundle holds them all.
        *(f"{PUBLISHED}/{name}" for name in ("provenance.json", "ro-crate-metadata.json", "SHA256SUMS")),
        BUNDLE,
    }
    changed = {name for name in KINDS if (published.folder / name).read_bytes() != before[name]}
    assert changed <= tells_of_the_machine
    assert len(of_the_other_network) == 6
    assert {file: file.stat().st_mtime_ns for file in of_the_other_network} == of_the_other_network
    assert _planned(published) == {}
