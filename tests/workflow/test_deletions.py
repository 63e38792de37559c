"""A folder under results/ that is removed is made again; a file in one that is gone or changed is named."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.workflow.conftest import TINY, Workspace

LEVELS = "refill_sweep/cellsim/2012/ci/main"
NETWORK = "results/networks/ci/1"
RUN = "results/runs/refill_sweep/cellsim/2012/ci/1/refill_interval=10ms+circuit_policy=ewma"
TABLES, SUMMARIES, FIGURES = (f"results/{stage}/{LEVELS}" for stage in ("tables", "summaries", "figures"))
PUBLISHED, PAGE = f"results/publish/{LEVELS}", f"results/reports/{LEVELS}/refill_sweep.html"
BUNDLE = f"results/bundles/{LEVELS}/refill_sweep.zip"

AFTER_TABLES = {"summarize": 1, "draw_figure": 2, "report_plan": 1}
AFTER_RUN = {"collect_tables": 1, **AFTER_TABLES}
BROUGHT = {
    # Snakemake cannot know that a network that is sampled again is the same one: its runs are made again.
    NETWORK: {"sample_network": 1, "run": 6, **AFTER_RUN},
    RUN: {"run": 1, **AFTER_RUN},
    TABLES: AFTER_RUN,
    SUMMARIES: AFTER_TABLES,
    f"{FIGURES}/ttfb_cdf.png": {"draw_figure": 1, "report_plan": 1},
    PAGE: {"report_plan": 1},
    PUBLISHED: {},
    BUNDLE: {},
}
"""A folder of each stage, or a file that stands alone, and the jobs that its removal brings."""

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


@pytest.mark.parametrize("name", BROUGHT)
def test_a_removal_brings_the_jobs_that_it_needs(published, name, tmp_path):
    file = published.folder / name
    shutil.move(file, tmp_path / "kept")
    try:
        planned = _planned(published)
    finally:
        shutil.move(tmp_path / "kept", file)
    # What is published holds everything, and is made again with whatever it holds.
    assert planned == {"publish_plan": 1, **BROUGHT[name]}


DAMAGED = {
    f"{NETWORK}/latency.npy": f"{RUN}/provenance.json",
    f"{RUN}/streams.parquet": f"{TABLES}/provenance.json",
    f"{TABLES}/relays.parquet": f"{SUMMARIES}/plan.json",
    f"{SUMMARIES}/medians.csv": f"{FIGURES}/ttfb_cdf.png",
}
"""A file in a folder of each stage, and a file of the next stage, which reads the folder."""


@pytest.mark.parametrize(
    ("name", "gone"), [*((name, False) for name in DAMAGED), (f"{RUN}/streams.parquet", True)]
)
def test_the_next_stage_names_the_file_and_the_folder_to_remove(published, name, gone):
    file, following = published.folder / name, published.folder / DAMAGED[name]
    content, before = file.read_bytes(), following.read_bytes()
    following.unlink()
    if gone:
        file.unlink()
    else:
        file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    try:
        done = published.snakemake(DAMAGED[name], config=PUBLISHING)
    finally:
        file.write_bytes(content)
        # Snakemake removes a folder that a step which failed leaves empty.
        following.parent.mkdir(parents=True, exist_ok=True)
        following.write_bytes(before)
    assert done.returncode == 1, done.stdout
    told = [line for line in done.stdout.splitlines() if line.startswith(("torsweep: ", "plotting: "))]
    (said,) = {line for line in told if Path(name).name in line}
    assert str(Path(name).parent).removesuffix("main/tables") in said
    assert "Traceback" not in done.stdout


def test_all_folders_come_back_with_the_same_bytes(published):
    kept = {
        file.relative_to(published.folder): file.read_bytes()
        for name in (NETWORK, RUN, TABLES, SUMMARIES)
        for file in (published.folder / name).iterdir()
        if file.suffix in (".npy", ".parquet", ".csv", ".md")
    }
    for name in BROUGHT:
        path = published.folder / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    done = published.snakemake("publish", config=PUBLISHING)
    assert done.returncode == 0, done.stdout
    assert {
        name for name, content in kept.items() if (published.folder / name).read_bytes() != content
    } == set()
    assert zipfile.is_zipfile(published.folder / BUNDLE)
    assert _planned(published) == {}
