"""What figures share that show traced cells, streams of one circuit, or what followed downloads wait for.

In: a :class:`~plotting.drawing.source.Source`. Out: parts of its summaries, looks, and the notes that
captions need.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

import polars as pl
import seaborn.objects as so
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from plotting.drawing.facets import legend_above
from plotting.drawing.palette import FAINT, knob_name, level_name, nothing
from plotting.drawing.source import Source
from torsweep.config.knob import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION
from torsweep.config.tracing import GROUPS
from torsweep.engines.registry import find_engine
from torsweep.stats.cell_times import ANY, LEAST_DECADE, SECTION
from torsweep.stats.streams.fairness import held_level
from torsweep.stats.text import sources_of


def section(times: pl.DataFrame, circuits: str, command: str, stage: str) -> pl.DataFrame:
    """The rows of ``times`` for cells of these circuits and this command, whatever else they are."""
    wanted = dict(zip(SECTION, (circuits, ANY, command, ANY), strict=True)) | {"stage": stage}
    return times.filter(*(pl.col(name) == value for name, value in wanted.items()))


def hosts_of(frame: pl.DataFrame) -> list[str]:
    """The traced relays."""
    return frame["host"].unique().sort().to_list()


def load_note(source: Source) -> str:
    """What the relays sent and, where it is known, which share of a core that took."""
    load = source.summary("cell_load")
    parts = []
    for host in hosts_of(load):
        own = load.filter(host=host)
        share = own["cpu_share"].drop_nulls().to_list()
        of_core = f" with at most {max(share):.0%} of a core" if share else ""
        parts.append(f"{host} sent {span(own['sent_mb_per_s'].to_list(), '.1f')} MB/s{of_core}")
    return "; ".join(parts) + "."


def span(values: Sequence[float], form: str) -> str:
    """The least and the greatest of ``values``, or the one number that they share."""
    return " to ".join(dict.fromkeys(format(value, form) for value in (min(values), max(values))))


def milliseconds(value: float) -> str:
    """A time in ms with three digits and no exponent: < 0.001, 0.0123, 15.6, 2,140."""
    least = 10.0**LEAST_DECADE
    if value < least:
        return f"< {least:g}"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def nothing_traced(source: Source, points: pl.DataFrame) -> tuple[Figure, pl.DataFrame, str]:
    """The figure of a plan without cells to draw."""
    caption = source.caption("No traced relay sent a RELAY cell on in the measured time.")
    return nothing("No cells were traced", points, caption)


REPORT_CELLS = 10_000
"""Cells of a stream in the report; a plan with fewer says so."""


def notes(source: Source) -> list[str]:
    """Where the round trips come from, what was scaled down, and what starving means."""
    engines = [find_engine(one.engine) for one in sources_of(source.provenance)]
    made = dict.fromkeys(
        "emulated" if engine.real_time else "simulated" if engine.runs_tor else "modelled"
        for engine in engines
    )
    found = [f"Round trips: those of the network, {' or '.join(made)}."]
    cells = [level for level in source.knobs.get("cells", []) if int(level) < REPORT_CELLS]
    if cells:
        found.append(f"Scaled down from {REPORT_CELLS:,} cells per stream to {', '.join(cells)}.")
    return [*found, "Starved: less than a quarter of its cells when the first stream is complete."]


def held(source: Source) -> tuple[dict[str, str], str]:
    """The one level at which lines are kept, and a note where others are left out."""
    levels = held_level(source.knobs, source.baseline())
    return levels, "".join(f"{knob_name(knob)}: {level_name(level)}." for knob, level in levels.items())


FIRST = "first"
"""The byte that figures are about."""

BAR = so.Bar(alpha=1, edgewidth=0)
_LOOKS = {
    "circuit": ("#AAAAAA", "waiting for a circuit"),
    "kernel": (VERMILION, "kernel"),
    "circuit_queue": (BLUE, "circuit queue"),
    "process": (PURPLE, "a process's work"),
    "bucket": (ORANGE, "bucket"),
    "window": (BLACK, "window"),
    "link_queue": (SKY, "queue of a link"),
    "link": (GREEN, "link"),
    "unknown": (FAINT, "not recorded"),
}
"""Colour and name of each group."""

SCALE = so.Nominal({group: _LOOKS[group][0] for group in GROUPS}, order=list(GROUPS))
_LEAST_SHARE = 1e-4
"""A group that has no larger share of any bar cannot be seen, and is not in the legend."""


def kinds_of(source: Source, points: pl.DataFrame) -> list[str]:
    """The kinds of client in ``points``, in the order of figures."""
    return [kind for kind in source.kinds() if kind in set(points["kind"])]


def followed(points: pl.DataFrame, kinds: Sequence[str]) -> str:
    """The numbers of downloads behind the bars: the smallest and the largest."""
    texts = []
    for kind in kinds:
        counts = points.filter(kind=kind)["downloads"].to_list()
        numbers = " to ".join(dict.fromkeys(f"{count:,}" for count in (min(counts), max(counts))))
        texts.append(f"{numbers} {kind} downloads")
    return " and ".join(texts) + " per bar"


def seen(points: pl.DataFrame) -> set[str]:
    """The groups that can be seen in some bar."""
    return set(points.filter(pl.col("share") > _LEAST_SHARE)["group"])


def legend(figure: Figure, groups: Container[str]) -> None:
    """The groups that are drawn, in their order."""
    legend_above(
        figure, [Patch(color=_LOOKS[one][0], label=_LOOKS[one][1]) for one in GROUPS if one in groups], 1.2
    )


def nothing_followed(source: Source, points: pl.DataFrame) -> tuple[Figure, pl.DataFrame, str]:
    """The figure of a plan without downloads to draw."""
    caption = source.caption("No followed download got its first byte in the measured time.")
    return nothing("No download was followed", points, caption)
