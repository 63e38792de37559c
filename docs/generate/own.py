"""What experiments bring of their own: a page beside each experiment.yaml that has modules.

In: the modules of experiments (:mod:`torsweep.stats.listing`). Out: tests of claims with their keys, files of
summaries with their columns, and figures.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydantic import TypeAdapter

from docs.generate.figures import figure_lines
from docs.generate.keys import File, test_lines
from docs.generate.tables import statistic_lines
from torsweep.config.experiment import EXPERIMENTS_DIRECTORY, experiment_names
from torsweep.pipeline.figures import figures
from torsweep.stats.claims import claim_tests, claims_model
from torsweep.stats.listing import own_modules
from torsweep.stats.statistic import statistics

OWN_PAGE = "reference.md"


def own_pages() -> Iterator[tuple[Path, list[str]]]:
    """The page of each experiment that declares something of its own, and its file."""
    for name in experiment_names():
        page = _page(name) if own_modules(name) else []
        if len(page) > 2:
            yield EXPERIMENTS_DIRECTORY / name / OWN_PAGE, page


def _page(name: str) -> list[str]:
    lines = [f"# What {name} brings of its own", ""]
    tests = {test: one for test, one in claim_tests(name).items() if test not in claim_tests()}
    file = File(TypeAdapter(claims_model(name)).json_schema())
    for test in tests.values():
        lines += test_lines(file, test, "##")
    for statistic, one in statistics(name).items():
        lines += statistic_lines(one) if statistic not in statistics() else []
    for figure, drawn in figures(name).items():
        lines += figure_lines(drawn, "") if figure not in figures() else []
    return lines
