"""A study whose experiment has a measure, a statistic, a test of claims and a figure of its own.

In: a folder. Out: the study in it: the experiment ``mine``, with modules beside its experiment.yaml.
"""

from __future__ import annotations

from pathlib import Path

import yaml

SHIPPED = Path(__file__).parents[1] / "experiments/refill_sweep/experiment.yaml"

ANALYSIS = '''"""Downloads that take long, and luck."""

from typing import Literal

import numpy as np
import polars as pl

from torsweep.stats.claims import Claim
from torsweep.stats.claims.judging import Question, above, below
from torsweep.stats.measures import Measure, in_group
from torsweep.stats.statistic import SEED_COLUMN, Statistic, counts
from torsweep.stats.streams.incidence import measured_downloads
from torsweep.stats.text import TextTable

SLOW = Measure(
    "slow_downloads",
    "Downloads",
    "slower than half a second",
    "share",
    "complete downloads that took longer than half a second",
    lambda analysis: in_group(analysis.once(measured_downloads)),
    (pl.col("last_byte_us") > 500_000).mean(),
)

TWICE = Statistic(
    "twice",
    "a network",
    SEED_COLUMN | counts("twice the seed", "twice"),
    lambda analysis: [{"seed": seed, "twice": 2 * seed} for seed in analysis.provenance.seeds],
    in_summary=lambda analysis, frame: [TextTable("Twice", ["rows"], [[str(frame.height)]])],
)


class Lucky(Claim):
    """Networks have ``luck``."""

    test: Literal["lucky"]
    luck: float

    def questions(self, analysis, levels):
        values = np.array(analysis.provenance.seeds) * self.luck
        return [Question("seed times luck", values, "> 0", above(0), below(0))]
'''

FIGURES = '''"""Bars of twice the seed."""

from plotting.drawing.palette import canvas
from plotting.drawing.source import PlanFigure


def _draw(source):
    points, caption = source.summary("twice"), source.caption()
    figure = canvas(3.4, 1.5, caption)
    figure.subplots().bar(points["seed"], points["twice"])
    return figure, points, caption


BARS = PlanFigure("twice_bars", "Twice the seed", "A bar is a network.", ("twice", "outcomes"), _draw)
'''

CLAIMS = [
    {"id": "lucky", "text": "Networks are lucky.", "knob": "refill_interval", "test": "lucky", "luck": 1.0},
    {
        "id": "fewest_at_10ms",
        "text": "The fewest slow downloads are at 10 ms.",
        "knob": "refill_interval",
        "test": "extreme_measure",
        "measure": "slow_downloads",
        "level": "10ms",
        "extreme": "lowest",
    },
]


def write_own_analysis(study: Path, name: str = "mine", **keys: object) -> Path:
    """Write the experiment ``name`` into ``study``, with ``keys`` in place of refill_sweep's; its folder."""
    folder = study / "experiments" / name
    folder.mkdir(parents=True)
    document = yaml.safe_load(SHIPPED.read_text(encoding="utf-8"))
    document |= {"claims": CLAIMS, "figures": ["twice_bars", "measures"], "sensitivities": {}, **keys}
    (folder / "experiment.yaml").write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    (folder / "analysis.py").write_text(ANALYSIS, encoding="utf-8")
    (folder / "figures.py").write_text(FIGURES, encoding="utf-8")
    (folder / "README.md").write_text("# What was found\n", encoding="utf-8")
    return folder
