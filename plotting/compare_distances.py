"""How far each source is from the reference, beside the floor: every gap of a comparison.

In: gaps.csv. Out: a line for each kind, time and variant; the greatest gap between the curves of each source
and of the reference, over bars as long as the floor and the aim.
"""

from __future__ import annotations

import polars as pl
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from plotting.drawing.compared import ComparedSources, time_name, variant_name, varying
from plotting.drawing.style import COLUMN_WIDTH_IN, canvas
from torsweep.compare.distances import MARGIN

TITLE = "How far apart the sources are"
HOW_TO_READ = (
    "A mark within the dark bar is no further from the reference than a second run of the reference is; the "
    "light bar ends at the aim."
)
NEEDS = ("gaps",)

FLOOR_GREY, AIM_GREY = "#BBBBBB", "#E4E4E4"
_LINE_IN, _BETWEEN = 0.125, 1.2


def draw(source: ComparedSources) -> tuple[Figure, pl.DataFrame, str]:
    """The figure, the points in it and its caption."""
    points = source.table("gaps")
    knobs = varying(points, source.about.knobs)
    places, y = [], 0.0
    for part in points.partition_by("kind", "metric", maintain_order=True):
        places.append((y - 0.15, time_name(*part.select("kind", "metric").row(0)), True))
        for variant in part.select(source.about.knobs).unique(maintain_order=True).iter_rows(named=True):
            y += 1
            places.append((y, variant_name(variant, knobs), False))
        y += _BETWEEN
    reference, judged = source.about.sources[0].label, points["floor"].null_count() < len(points)
    caption = source.caption(
        f"Greatest gap (KS) between the curves of a source and of {reference}, mean over networks.",
        f"Dark: the floor, between two runs of {reference} with different seeds; light: the aim, floor + "
        f"{MARGIN:g}."
        if judged
        else f"No run of {reference} was repeated, so there is no floor.",
    )
    figure = canvas(COLUMN_WIDTH_IN, 0.7 + _LINE_IN * (y + 1), caption)
    axis = figure.subplots()
    lines = iter([place for place, _, heading in places if not heading])
    for part in points.partition_by("kind", "metric", *source.about.knobs, maintain_order=True):
        place, floor = next(lines), part["floor"][0]
        if floor is not None:
            axis.barh(place, floor + MARGIN, height=0.9, color=AIM_GREY, linewidth=0)
            axis.barh(place, floor, height=0.9, color=FLOOR_GREY, linewidth=0)
        known = part.drop_nulls("ks").select("source", x="ks", y=pl.lit(place))
        source.scatter(axis, known.to_dict(as_series=False), 14, zorder=4)
    axis.set_yticks([place for place, _, _ in places], [text for _, text, _ in places])
    for tick, (_, _, heading) in zip(axis.get_yticklabels(), places, strict=True):
        tick.set_fontweight("bold" if heading else "normal")
    axis.tick_params(axis="y", length=0)
    axis.grid(visible=False, axis="y")
    axis.set(ylim=(y, -1), ylabel="", xlabel="Greatest gap (KS)")
    axis.set_xlim(left=0)
    floors = [Patch(color=FLOOR_GREY, label="floor"), Patch(color=AIM_GREY, label="aim")]
    source.legend(figure, *(floors if judged else []), reference=False)
    return figure, points, caption
