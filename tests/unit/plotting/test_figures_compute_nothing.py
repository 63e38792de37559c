"""Figures draw numbers that summaries hold: no module of theirs sums, averages or ranks any.

What shapes the picture itself stays: limits of axes (``min``, ``max``), logarithms, the grid of an image.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

PLOTTING = Path(__file__).parents[3] / "plotting"

REDUCTIONS = {"agg", "average", "bincount", "corr", "count", "cumsum", "cum_sum", "cut", "diff", "group_by"}
REDUCTIONS |= {"group_by_dynamic", "histogram", "hist", "interp", "interpolate", "join", "mean", "median"}
REDUCTIONS |= {
    "nanmean",
    "nanmedian",
    "nanpercentile",
    "nanquantile",
    "nanstd",
    "nansum",
    "over",
    "percentile",
}
REDUCTIONS |= {
    "pivot",
    "polyfit",
    "qcut",
    "quantile",
    "rank",
    "reduce",
    "searchsorted",
    "std",
    "sum",
    "upsample",
}
REDUCTIONS |= {
    "mean_horizontal",
    "n_unique",
    "product",
    "sum_horizontal",
    "value_counts",
    "var",
    "rolling_mean",
}
"""Methods of polars and numpy that make one number of several."""

LIBRARIES = {"collections.Counter", "functools.reduce", "math", "numpy.linalg", "scipy", "statistics"}


def _computations(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in REDUCTIONS and not _of_text(node):
            yield node.attr
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "sum":
            yield ast.unparse(node)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            above = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            names = [above + alias.name for alias in node.names]
            yield from (
                name for name in names if f"{name}.".startswith(tuple(f"{one}." for one in LIBRARIES))
            )


def _of_text(method: ast.Attribute) -> bool:
    """Whether it is the ``join`` of texts."""
    return method.attr == "join" and isinstance(method.value, ast.Constant)


def test_a_computation_would_be_found() -> None:
    program = "import scipy.stats\nfrom statistics import mean\nx = sum(y) + np.mean(y)\nz.group_by('a')"
    program += "\n', '.join(z)"
    found = ["scipy.stats", "statistics.mean", "sum(y)", "mean", "group_by"]
    assert sorted(_computations(ast.parse(program))) == sorted(found)


def test_no_figure_computes() -> None:
    files = sorted(PLOTTING.rglob("*.py"))
    assert len(files) > 15
    found = {file.name: list(_computations(ast.parse(file.read_text(encoding="utf-8")))) for file in files}
    assert {name: one for name, one in found.items() if one} == {}
