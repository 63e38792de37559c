"""Figures for which a comparison has the tables are drawn with their points; others are refused."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from PIL import Image

from plotting.drawing.palette import source_look
from torsweep.compare.comparison import compare, write_comparison
from torsweep.compare.sources import finished_sources, read_sources
from torsweep.config.experiment import Experiment
from torsweep.engines.selection import find_kind
from torsweep.errors import InputError
from torsweep.pipeline.figures import comparison_figures, draw_figure, figure_names, figure_needs


@pytest.fixture
def folder(four: None, experiment: Experiment, tmp_path: Path) -> Path:
    plan = experiment.plan()
    read = read_sources(finished_sources(experiment, plan, "ci"), experiment, plan, "ci")
    write_comparison(compare(read, experiment, plan), "text", tmp_path / "out")
    return tmp_path / "out"


def test_all_that_apply_are_drawn(folder: Path) -> None:
    draw_figure("compare", folder, folder / "figures")
    names = ["compare_contrasts", "compare_curves", "compare_distances", "compare_verdicts"]
    assert sorted({file.stem for file in (folder / "figures").iterdir() if file.suffix}) == names
    for name in names:
        with Image.open(folder / f"figures/{name}.png") as image:
            assert "ci, 3 networks (seeds 1–3)" in image.info["Description"]
            assert image.info["Title"] and image.info["Comment"]
        assert pl.read_csv(folder / f"figures/{name}.csv").height > 0
        assert (folder / f"figures/{name}.pdf").stat().st_size > 0


def test_they_are_no_figures_of_plans() -> None:
    assert "compare_streams" in comparison_figures()
    assert not set(comparison_figures()) & set(figure_names())
    assert figure_needs("compare_streams") == ("streams", "stream_means")


def test_a_figure_without_its_table_and_a_folder_without_a_comparison_are_refused(folder: Path) -> None:
    with pytest.raises(InputError, match="has no table streams"):
        draw_figure("compare_streams", folder, folder / "figures/compare_streams")
    with pytest.raises(InputError, match="run `torsweep results compare` first"):
        draw_figure("compare_contrasts", folder / "figures", folder / "figures/compare_contrasts")


def test_a_source_looks_as_its_engine_or_its_tcp() -> None:
    assert source_look("shadow") == find_kind("shadow").look
    looks = {source_look(label) for label in ("emulation", "cellsim", "cellsim+tcp=linux_6_18", "shadow")}
    assert len(looks) == 4
    assert source_look("cellsim+replay=shadow") == source_look("cellsim+replay=shadow")
