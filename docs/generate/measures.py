"""The page of measures: what each number of a run is.

In: the declarations of :mod:`torsweep.stats.measures`. Out: the page.
"""

from __future__ import annotations

from itertools import groupby

from docs.generate.markdown import code, prose, table
from torsweep.stats.measures.summary import measures_of


def measures_page() -> list[str]:
    """Every measure that all experiments share, by topic."""
    lines = ["# Measures of runs", ""]
    lines += ["One number for each run, or for each group in it. [How they are taken](../measures.md).", ""]
    for topic, measures in groupby(measures_of().values(), lambda measure: measure.topic):
        rows = [(code(one.name), prose(one.meaning), one.unit) for one in measures]
        lines += [f"## {topic}", "", *table(("measure", "meaning", "unit"), rows)]
    return lines
