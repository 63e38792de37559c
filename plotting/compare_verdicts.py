"""The verdict on each claim under each source.

In: verdicts.csv. Out: a table as a picture: a row for each claim and setting, a column for each source.
"""

from __future__ import annotations

import polars as pl
import seaborn as sns
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from plotting.drawing.compared import ComparedSources
from plotting.drawing.style import TEXT_WIDTH_IN, canvas
from torsweep.stats.claims.judging import CONTRADICTED, HOLDS, NO_DIFFERENCE

TITLE = "Verdicts under each source"
HOW_TO_READ = (
    "Where a row has two or more decided fields and all have one colour, the verdict survives: it does not "
    "depend on the source. White fields are undecided."
)
NEEDS = ("verdicts",)

_COLOURS = {"": "#FFFFFF", HOLDS: "#BFE3D5", CONTRADICTED: "#F4CFB2", NO_DIFFERENCE: "#CFE6F5"}
_CLAIM_IN = 0.24


def draw(source: ComparedSources) -> tuple[Figure, pl.DataFrame, str]:
    """The figure, the points in it and its caption."""
    points = source.table("verdicts")
    rows = points.partition_by("claim", "setting", maintain_order=True)
    texts = [
        [f"{verdict} ({networks})" if networks else verdict for verdict, networks in own.iter_rows()]
        for own in (row.select("verdict", "networks") for row in rows)
    ]
    codes = [
        [list(_COLOURS).index(verdict) if verdict in _COLOURS else 0 for verdict in row["verdict"]]
        for row in rows
    ]
    names = [_name(row["claim"][0], row["setting"][0]) + f"\n{row['together'][0]}" for row in rows]
    caption = source.caption("In brackets: how many networks have every variant of the plan.")
    figure = canvas(TEXT_WIDTH_IN, 0.5 + (_CLAIM_IN + 0.06) * len(rows), caption)
    axis = figure.subplots()
    sns.heatmap(
        codes,
        annot=texts,
        fmt="",
        cmap=ListedColormap(list(_COLOURS.values())),
        vmin=-0.5,
        vmax=len(_COLOURS) - 0.5,
        cbar=False,
        linewidths=0.6,
        linecolor="#DDDDDD",
        annot_kws={"color": "black", "size": 7},
        xticklabels=list(source.looks),
        yticklabels=names,
        ax=axis,
    )
    axis.tick_params(length=0, labeltop=True, labelbottom=False, rotation=0)
    return figure, points, caption


def _name(claim: str, setting: str | None) -> str:
    return claim.replace("_", " ") + (f", {setting}" if setting else "")
