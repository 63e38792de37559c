"""What the pipeline makes of the tor that it builds, planned with stand-ins for Shadow and a compiler."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.workflow.conftest import TINY, Workspace

CONFIG = (*TINY, "engine=shadow")


@pytest.fixture
def with_shadow(workspace: Workspace, shadow_and_compiler: None) -> Workspace:
    """A workspace with the patches of tor, where all is there to build it and to run Shadow."""
    return workspace


def _planned(workspace: Workspace, config: tuple[str, ...] = CONFIG) -> tuple[list[Path], int]:
    """What names the builds of tor that would be made, and how many runs there would be."""
    lines = workspace.snakemake("refill_sweep", "--dry-run", config=config).stdout.splitlines()
    builds = [match[1] for line in lines if (match := re.search(r"tor: (results/tools/tor/\S+)", line))]
    runs = [line for line in lines if re.match(r"Job \d+: run ", line)]
    return [workspace.folder / built for built in builds], len(runs)


def _build(workspace: Workspace, config: tuple[str, ...] = CONFIG) -> Path:
    (marker,), _ = _planned(workspace, config)
    marker.parent.mkdir(parents=True, exist_ok=True)
    marker.touch()
    return marker


@pytest.mark.parametrize(
    ("variable", "value", "lack"),
    [
        ("CC", "false", "building tor needs a C compiler"),
        ("TORSWEEP_SHADOW", "nowhere", "TORSWEEP_SHADOW=nowhere: is no program shadow"),
    ],
)
def test_what_is_missing_lets_it_be_planned_and_not_begun(
    with_shadow: Workspace, monkeypatch, variable, value, lack
) -> None:
    monkeypatch.setenv(variable, value)
    planned = with_shadow.snakemake("refill_sweep", "--dry-run", config=CONFIG)
    assert planned.returncode == 0 and lack in planned.stdout, planned.stdout
    refused = with_shadow.snakemake("refill_sweep", config=CONFIG)
    assert refused.returncode == 3 and f"torsweep: {lack}" in refused.stdout, refused.stdout
    assert not list(with_shadow.folder.glob("results/networks/*"))


def test_patches_that_are_newer_than_the_build_leave_no_run_out(with_shadow: Workspace) -> None:
    os.utime(_build(with_shadow), (0, 0))  # as after a checkout, or in a copy of a build
    assert _planned(with_shadow) == ([], 12)


def test_another_content_of_the_source_of_tor_is_another_build(with_shadow: Workspace) -> None:
    source = with_shadow.folder / "my-tor.tar.gz"
    source.touch()
    config = (*CONFIG, "tor_source=my-tor.tar.gz")
    _build(with_shadow)
    before = _build(with_shadow, config)
    assert _planned(with_shadow, config) == ([], 12)
    source.write_text("changed")
    (after,), runs = _planned(with_shadow, config)
    assert (after != before, runs) == (True, 12)
    refused = with_shadow.snakemake("refill_sweep", "--dry-run", config=(*CONFIG, "tor_source=no.tar.gz"))
    assert "torsweep: no.tar.gz: no such file" in refused.stdout
