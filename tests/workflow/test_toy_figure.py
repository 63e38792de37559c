"""A figure is one file: beside an experiment.yaml that lists it, it is drawn and on the page.

A second one is drawn alone: neither the first nor the summary is made again.
"""

from __future__ import annotations

import re

from tests.workflow.conftest import Workspace

TOY = '''"""How many downloads there were."""

import seaborn

from plotting.drawing.palette import canvas
from plotting.drawing.source import PlanFigure


def _draw(source):
    points, caption = source.summary("outcomes"), source.caption()
    figure = canvas(3.4, 1.5, caption)
    seaborn.barplot(x=points["kind"], y=points["downloads"], errorbar=None, ax=figure.subplots())
    return figure, points, caption


TOY = PlanFigure("toy", "A toy of a figure", "The higher a bar, the more downloads.", ("outcomes",), _draw)
'''


def test_a_figure_of_one_file_is_drawn_and_on_the_page(workspace: Workspace) -> None:
    folder = workspace.folder
    (folder / "experiments/refill_sweep/toy.py").write_text(TOY)
    file = folder / "experiments/refill_sweep/experiment.yaml"
    listed = re.sub(r"(?m)^figures:\s*\[[^]]*\]", "figures: [toy]", file.read_text())
    levels = re.sub(r"refill_interval: \[.*\]", "refill_interval: [100ms, 10ms]", listed, count=1)
    file.write_text(re.sub(r"\nclaims:\n.*", "\nclaims: []\n", levels, flags=re.DOTALL))
    tiny = ("network=ci", "replicates=1", "warm_up=20 s", "measured=20 s", "engine=cellsim")
    done = workspace.snakemake("report", config=(*tiny, "experiment=refill_sweep"))
    assert done.returncode == 0, done.stdout
    (page,) = (folder / "results/reports").rglob("*.html")
    text = page.read_text()
    assert "A toy of a figure" in text and "The higher a bar, the more downloads." in text
    (points,) = (folder / "results/figures").rglob("toy.csv")
    assert "downloads" in points.read_text()

    (folder / "experiments/refill_sweep/second.py").write_text(TOY.replace('"toy"', '"second"'))
    file.write_text(file.read_text().replace("figures: [toy]", "# A comment.\nfigures: [toy, second]"))
    made = [points, *(folder / "results/summaries").rglob("plan.json")]
    before = [one.stat().st_mtime_ns for one in made]
    done = workspace.snakemake("refill_sweep", config=(*tiny, "experiment=refill_sweep"))
    assert done.returncode == 0, done.stdout
    assert points.with_name("second.csv").is_file()
    assert [one.stat().st_mtime_ns for one in made] == before
