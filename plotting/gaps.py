"""How far each source is from the reference, beside the floor: every gap of a plan of several sources.

In: gaps.csv. Out: a line for each kind, time and variant; the greatest gap between the curves of each source
and of the reference, over bars as long as the floor and the aim.
"""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import seaborn as sns
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from plotting.drawing.facets import Facets, levels_text
from plotting.drawing.source import Source
from plotting.drawing.style import COLUMN_WIDTH_IN, canvas, nothing
from torsweep.runsets.reading import SOURCE
from torsweep.stats.sources.distances import MARGIN
from torsweep.stats.text import SHOWN_METRICS

TITLE = "How far apart the sources are"
HOW_TO_READ = (
    "A mark within the dark bar is no further from the reference than a second run of the reference is; the "
    "light bar ends at the aim."
)
NEEDS = ("gaps", "outcomes")

FLOOR_GREY, AIM_GREY = "#BBBBBB", "#E4E4E4"
_LINE_IN, _BETWEEN = 0.125, 1.2


def draw(source: Source) -> tuple[Figure, pl.DataFrame, str]:
    """The figure, the points in it and its caption."""
    if not source.has("gaps"):
        caption = source.caption("No network has run in the reference and in another source.")
        return nothing("Nothing to compare", pl.DataFrame(), caption)
    points, reference = source.summary("gaps"), source.knobs[SOURCE][0]
    knobs = [knob for knob, levels in source.knobs.items() if knob != SOURCE and len(levels) > 1]
    ticks: list[tuple[float, str, bool]] = []
    rows, y = [], 0.0
    for part in points.partition_by("kind", "metric", maintain_order=True):
        kind, metric = part.select("kind", "metric").row(0)
        ticks.append((y - 0.15, f"{kind.capitalize()}, {SHOWN_METRICS[metric]}", True))
        for variant in part.partition_by(knobs or ["kind"], maintain_order=True):
            y += 1
            first = variant.row(0, named=True)
            ticks.append((y, levels_text({knob: first[knob] for knob in knobs}), False))
            rows.append(variant.with_columns(y=pl.lit(y)))
        y += _BETWEEN
    judged = points["floor"].null_count() < len(points)
    caption = source.caption(
        f"Greatest gap (KS) between the curves of a source and of {reference}, mean over networks.",
        f"Dark: the floor, between two runs of {reference} with different seeds; light: the aim, floor + "
        f"{MARGIN:g}."
        if judged
        else f"No run of {reference} was repeated, so there is no floor.",
    )
    figure = canvas(COLUMN_WIDTH_IN, 0.7 + _LINE_IN * (y + 1), caption)
    axis = figure.subplots()
    for row in pl.concat(rows).unique("y").drop_nulls("floor").iter_rows(named=True):
        axis.barh(row["y"], row["floor"] + MARGIN, height=0.9, color=AIM_GREY, linewidth=0)
        axis.barh(row["y"], row["floor"], height=0.9, color=FLOOR_GREY, linewidth=0)
    facets = Facets.of({SOURCE: source.knobs[SOURCE]})
    known = pl.concat(rows).drop_nulls("ks").select(SOURCE, "ks", "y").to_dict(as_series=False)
    sns.scatterplot(
        known,
        x="ks",
        y="y",
        hue=SOURCE,
        style=SOURCE,
        palette={label: one.colour for label, one in facets.looks.items()},
        markers={label: one.marker for label, one in facets.looks.items()},
        s=14,
        zorder=4,
        legend=False,
        ax=axis,
    )
    axis.set_yticks([place for place, _, _ in ticks], [text for _, text, _ in ticks])
    for tick, (_, _, heading) in zip(axis.get_yticklabels(), ticks, strict=True):
        tick.set_fontweight("bold" if heading else "normal")
    axis.tick_params(axis="y", length=0)
    axis.grid(visible=False, axis="y")
    axis.set(ylim=(y, -1), ylabel="", xlabel="Greatest gap (KS)")
    axis.set_xlim(left=0)
    floors = [Patch(color=FLOOR_GREY, label="floor"), Patch(color=AIM_GREY, label="aim")]
    replace(facets, levels=facets.levels[1:]).legend(figure, marker=True, more=floors if judged else [])
    return figure, points, caption
