"""What a clock, or tracing, costs a relay; what the step of a clock (its quantum) does to a token bucket.

In: the comparison that `torsweep chain` left, and the JSON beside it. Out: of `clocks`, the CPU
time per gigabyte by variant, with the part that clock readings take; of `tracing`, the differences that
recording makes; of `quantum`, the part of its rate that the bucket delivered. Intervals are 95 %, over
rounds.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from plotting.drawing.palette import level_name
from plotting.drawing.style import GREY, TEXT_WIDTH_IN, canvas, save, style
from torsweep.chain.comparing import WHOLE_CHAIN
from torsweep.chain.turns import MOST_COST, NOT_TRACED
from torsweep.config.looks import BLUE, GREEN, VERMILION
from torsweep.errors import InputError
from torsweep.formats.frames import read_csv
from torsweep.formats.json_file import read_json

PANEL_COUNTS = {"clocks": 1, "tracing": 2, "quantum": 2}


def draw(rows: pl.DataFrame, document: dict[str, Any]) -> tuple[Figure, str]:
    """The figure of a comparison and its caption."""
    plan = document["plan"]
    figure_of = {"clocks": _clocks, "tracing": _tracing, "quantum": _quantum}
    lines = len(rows) if plan == "clocks" else max(4, len(rows) // 2)
    caption = (
        f"tor {document['tor']['version']} over one machine's own interface; variants take turns in "
        f"{document['rounds']} rounds, each with new processes; means and 95 % intervals over rounds. "
        f"{document['machine'].get('cpu', 'A machine')}. {_MEANING[plan]}"
    )
    figure = canvas(TEXT_WIDTH_IN, 0.6 + 0.26 * lines, caption)
    axes = figure.subplots(1, PANEL_COUNTS[plan], sharey=True, squeeze=False)[0]
    figure_of[plan](axes, rows)
    return figure, caption


_MEANING = {
    "clocks": (
        "The relay is the middle of a path. Red: the number of clock readings times the measured cost of "
        "one; its share is the number beside the bar. The slowest clock is made of system calls, to be as "
        "slow as the report's."
    ),
    "tracing": (
        "Cells recorded at every place, or round trips logged, by all three relays of a path; "
        "the dashed line is 2 %."
    ),
    "quantum": "One download with small requests beside it, through a middle of 200 KiB/s, lazy refill.",
}


def _clocks(axes: list[Axes], rows: pl.DataFrame) -> None:
    (axis,) = axes
    for height, row in enumerate(reversed(rows.to_dicts())):
        whole, share = row["cpu_s_per_gb"], row["share_in_readings"]
        axis.barh(height, whole * (1 - share), color=BLUE, height=0.6)
        axis.barh(height, whole * share, left=whole * (1 - share), color=VERMILION, height=0.6)
        _whisker(axis, row, "cpu_s_per_gb", height, 1.0)
        end = row["cpu_s_per_gb_high"] or whole
        axis.annotate(f"  {share:.1%}", (max(whole, end), height), va="center")
    axis.set_yticks(range(len(rows)), [_words(name) for name in reversed(rows["variant"].to_list())])
    axis.set_xlabel("CPU seconds per GB relayed")
    axis.set_xlim(left=0)
    axis.margins(x=0.12)
    axis.grid(axis="y", visible=False)


def _tracing(axes: list[Axes], rows: pl.DataFrame) -> None:
    positions = list(reversed(rows["position"].unique(maintain_order=True).to_list()))
    variants = rows.filter(pl.col("variant") != NOT_TRACED)["variant"].unique(maintain_order=True).to_list()
    looks = ((BLUE, "o", 0.2), (VERMILION, "s", 0.0), (GREEN, "^", -0.2))
    metrics = (("cpu_s_per_gb_relative", "CPU per GB"), ("small_us_relative", "Time of a small request"))
    for axis, (name, label) in zip(axes, metrics, strict=True):
        for variant, (colour, marker, aside) in zip(variants, looks, strict=True):
            for row in rows.filter(pl.col("variant") == variant).to_dicts():
                # A request passes all three relays: it has one time.
                if name == "small_us_relative" and row["position"] != WHOLE_CHAIN:
                    continue
                height = positions.index(row["position"]) + aside
                label_once = _words(variant) if row["position"] == WHOLE_CHAIN else None
                axis.plot(100 * row[name], height, marker, color=colour, markersize=4, label=label_once)
                _whisker(axis, row, name, height, 100.0)
        axis.axvline(100 * MOST_COST, color="black", linewidth=0.8, linestyle="--")
        axis.axvline(0, color=GREY, linewidth=0.6)
        axis.set_xlabel(f"{label}, with recording (difference, %)")
    words = ["all three" if position == WHOLE_CHAIN else position for position in positions]
    axes[0].set_yticks(range(len(positions)), words)
    axes[0].legend(title="Recorded")


def _quantum(axes: list[Axes], rows: pl.DataFrame) -> None:
    clocks = list(dict.fromkeys(name.split(",")[0] for name in rows["variant"]))
    intervals = list(dict.fromkeys(name.split(",")[1] for name in rows["variant"]))
    metrics = (("read_of_rate", "Share of the rate read", 1.0), ("small_us", "Small request (ms)", 1e-3))
    looks = ((BLUE, "o", 0.12), (VERMILION, "s", -0.12))
    for axis, (name, label, factor) in zip(axes, metrics, strict=True):
        for interval, (colour, marker, aside) in zip(intervals, looks, strict=True):
            chosen = rows.filter(pl.col("variant").str.ends_with(f",{interval}")).to_dicts()
            for place, row in enumerate(chosen):
                height = len(clocks) - 1 - place + aside
                label_once = level_name(interval) if place == 0 else None
                axis.plot(row[name] * factor, height, marker, color=colour, markersize=4, label=label_once)
                _whisker(axis, row, name, height, factor)
        axis.set_xlabel(label)
    axes[0].legend(title="Refill interval")
    axes[0].set_yticks(range(len(clocks)), [level_name(clock) for clock in reversed(clocks)])


def _whisker(axis: Axes, row: dict[str, Any], name: str, height: float, factor: float) -> None:
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    if low is not None and high is not None:
        axis.plot([low * factor, high * factor], [height, height], color="black", linewidth=0.8)


def _words(variant: str) -> str:
    return variant.replace("_", " ")


def draw_figure(comparison: Path, out: Path) -> None:
    """Draw what stands in ``comparison``, a CSV with its JSON beside it, into ``out``.pdf, .png and .csv.

    Raises InputError when one of them is missing, or no comparison.
    """
    document = read_json(comparison.with_suffix(".json"))
    if document.get("plan") not in PANEL_COUNTS:
        raise InputError(
            "is no comparison",
            file=comparison,
            key="plan",
            value=document.get("plan"),
            accepted=", ".join(PANEL_COUNTS),
        )
    rows = read_csv(comparison, ("position", "variant"))
    with style():
        figure, caption = draw(rows, document)
        origin = json.dumps({key: document[key] for key in ("plan", "rounds", "lengths", "started")})
        save(figure, rows, caption, origin, out)
