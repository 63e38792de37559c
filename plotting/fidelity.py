"""A model against its reference: the gaps of all cells and contrasts, and the curves of one variant.

    python -m plotting.fidelity overview --comparison DIR --out DIR/overview
    python -m plotting.fidelity curves --variant refill_interval=10ms+… --comparison DIR --out DIR/NAME

In: the folder that ``torsweep fidelity compare`` wrote. Out: a PDF, a PNG and the points as CSV. The band
around the reference's curve is as high as the floor, the distance between two runs of the reference; the
lighter one is the aim, the floor and a margin.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator, PercentFormatter

from plotting.drawing.axes import plain_log_ticks
from plotting.drawing.command import exit_code_of
from plotting.drawing.palette import level_name
from plotting.drawing.style import COLUMN_WIDTH_IN, GREY, SMALL_PT, canvas, save, style
from torsweep.config.looks import BLACK, BLUE, DASH_DOT, DASHED, GREEN, PURPLE, SOLID, VERMILION, Look
from torsweep.config.traffic import KINDS
from torsweep.config.variant import variant_levels, variant_text
from torsweep.errors import InputError
from torsweep.fidelity.comparison import MARGIN
from torsweep.fidelity.contrasts import NO_CONTRAST, SIZE_FACTOR
from torsweep.fidelity.matches import MODEL, REFERENCE, REFERENCE_REPEAT, REPLAY
from torsweep.fidelity.report import NO_COMPARISON, read_origin
from torsweep.formats.text import read_csv
from torsweep.provenance import versions
from torsweep.stats.text import duration_text, networks_text

_LOOKS = {
    REFERENCE: Look(BLACK, SOLID, "|"),
    MODEL: Look(VERMILION, DASHED, "o"),
    REPLAY: Look(BLUE, DASH_DOT, "^"),
}
_METRICS = {"ttfb": "first byte", "ttlb": "last byte"}
_CELL_LOOKS = {
    ("web", "ttfb"): (VERMILION, "o"),
    ("web", "ttlb"): (BLUE, "s"),
    ("bulk", "ttfb"): (GREEN, "^"),
    ("bulk", "ttlb"): (PURPLE, "D"),
}
_RATIO_TICKS = (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20)
_FINE_TICKS = (0.8, 1.25)
"""Ticks for ratios within ``_FINE_REACH``: on a wider axis, their labels would overlap."""
_FINE_REACH = 4
_FLOOR_GREY, _AIM_GREY = "#BBBBBB", "#E4E4E4"


@dataclass(frozen=True)
class Comparison:
    """The folder of a comparison: its tables by name, and ``origin``, the content of fidelity.json."""

    folder: Path
    origin: Mapping[str, Any]

    @classmethod
    def open(cls, folder: Path) -> Comparison:
        """The comparison in ``folder``; raises InputError when there is none."""
        return cls(folder, read_origin(folder))

    def table(self, name: str) -> pl.DataFrame:
        """The table ``name``.csv, its knobs as text."""
        texts = (*self.origin["knobs"], "at", "from", "to")
        return read_csv(self.folder / f"{name}.csv", texts, missing=NO_COMPARISON)

    def caption(self, *notes: str) -> str:
        """Engines, versions, era, networks and the cut; then ``notes``."""
        origin = self.origin
        measured = duration_text(origin["duration_ns"] - origin["warm_up_ns"])
        kind = " (a model of tor)" if origin["engines"][MODEL].startswith("cellsim ") else ""
        return (
            f"{origin['engines'][MODEL]}{kind} against {origin['engines'][REFERENCE]}; "
            f"era {origin['era']}; network {origin['network']}, {networks_text(origin['seeds'])}; "
            f"warm-up of {duration_text(origin['warm_up_ns'])} cut, {measured} measured. " + " ".join(notes)
        )

    def provenance(self) -> str:
        """What made the numbers, as JSON."""
        return json.dumps({"versions": dict(versions()), **self.origin}, separators=(",", ":"))


def draw_curves(comparison: Comparison, variant: str) -> tuple[Figure, pl.DataFrame, str]:
    """The curves of ``variant`` (``knob=level+knob=level``): a panel for each kind of client and time."""
    levels = _levels(comparison, variant)
    chosen = [pl.col(knob) == level for knob, level in levels.items()]
    points, cells = comparison.table("curves").filter(*chosen), comparison.table("cells").filter(*chosen)
    # Both metrics count the same downloads.
    counts = cells.filter(pl.col("metric") == "ttfb").select("downloads", "reference_downloads", "kind")
    sizes = " and ".join(
        f"{model:,} and {reference:,} {kind}" for model, reference, kind in counts.iter_rows()
    )
    held = ", ".join(level_name(level) for level in levels.values())
    notes = [f"{held}. Downloads in the model and in the reference: {sizes}."]
    notes.append(_band_note(comparison))
    caption = comparison.caption(*notes)
    figure = canvas(COLUMN_WIDTH_IN, 3.2, caption)
    axes = figure.subplots(len(KINDS), len(_METRICS), sharey=True, squeeze=False)
    series = [name for name in _LOOKS if name in comparison.origin["engines"]]
    for (kind, metric), axis in zip(product(KINDS, _METRICS), axes.flat, strict=True):
        here = [pl.col("kind") == kind, pl.col("metric") == metric]
        _panel(axis, points.filter(*here), cells.filter(*here), series)
        axis.set_title(f"{kind.capitalize()}, {_METRICS[metric]}")
    for axis in axes[:, 0]:
        axis.set_ylabel("Downloads")
    for axis in axes[-1]:
        axis.set_xlabel("Time (s)")
    handles = [
        Line2D(
            [], [], color=_LOOKS[name].colour, linestyle=_LOOKS[name].dashes, label=_name(comparison, name)
        )
        for name in series
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), borderaxespad=0.1)
    return figure, points.filter(pl.col("series").is_in(series)), caption


def draw_overview(comparison: Comparison) -> tuple[Figure, pl.DataFrame, str]:
    """The gap of every cell beside its floor, and every contrast of the model against the reference's."""
    cells, contrasts = comparison.table("cells"), comparison.table("contrasts")
    note = (
        f"Above: greatest gap between the curves (KS); grey: the floor, light: the aim, floor + {MARGIN:g}. "
        f"Below: contrasts between variants one knob apart; shaded: of the same sign and within "
        f"{SIZE_FACTOR:g}× in size; hollow: within the noise in both."
    )
    caption = comparison.caption(note)
    height = 0.9 + 0.115 * len(cells) + (2.5 if len(contrasts) else 0)
    figure = canvas(COLUMN_WIDTH_IN, height, caption)
    if len(contrasts):
        above, below = figure.subplots(2, 1, height_ratios=[0.3 + 0.115 * len(cells), 2.2])
        _contrast_panel(below, contrasts)
    else:
        above = figure.subplots()
    _gap_panel(above, cells, comparison)
    return figure, cells, caption


def _panel(axis: Axes, points: pl.DataFrame, cell: pl.DataFrame, series: list[str]) -> None:
    row = cell.row(0, named=True) if len(cell) else {"floor": None, "ks": None}
    reference = points.filter(pl.col("series") == REFERENCE)
    times, share = reference["time_s"].to_numpy(), reference["share"].to_numpy()
    if row["floor"] is not None:
        for half, colour in ((row["floor"] + MARGIN, _AIM_GREY), (row["floor"], _FLOOR_GREY)):
            low, high = np.clip(share - half, 0, 1), np.clip(share + half, 0, 1)
            axis.fill_between(times, low, high, color=colour, linewidth=0)
    for name in series:
        own = points.filter(pl.col("series") == name)
        look = _LOOKS[name]
        axis.plot(own["time_s"], own["share"], color=look.colour, linestyle=look.dashes, linewidth=1.1)
    axis.set_xscale("log")
    seen = points.filter(pl.col("share") > 0)["time_s"].to_numpy()
    if len(seen):
        axis.set_xlim(seen.min(), seen.max())
        plain_log_ticks(axis)
    axis.set_ylim(0, 1.02)
    axis.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
    if row["ks"] is not None:
        text = f"KS {row['ks']:.2f}" + (f"\nfloor {row['floor']:.2f}" if row["floor"] is not None else "")
        box = {"boxstyle": "square,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.8}
        axis.text(
            0.97, 0.05, text, transform=axis.transAxes, ha="right", va="bottom", size=SMALL_PT, bbox=box
        )


def _gap_panel(axis: Axes, cells: pl.DataFrame, comparison: Comparison) -> None:
    knobs, places = comparison.origin["knobs"], []
    y = 0.0
    for group in cells.partition_by("kind", "metric", maintain_order=True):
        kind, metric = group.select("kind", "metric").row(0)
        places.append((y - 0.15, f"{kind}, {_METRICS[metric]}", True))
        for row in group.iter_rows(named=True):
            y += 1
            if row["floor"] is not None:
                axis.barh(y, row["floor"] + MARGIN, height=0.9, color=_AIM_GREY, linewidth=0)
                axis.barh(y, row["floor"], height=0.9, color=_FLOOR_GREY, linewidth=0)
            for name, column in ((MODEL, "ks"), (REPLAY, "replay_ks")):
                if row[column] is not None:
                    axis.plot(row[column], y, _LOOKS[name].marker, color=_LOOKS[name].colour, markersize=3)
            places.append((y, ", ".join(level_name(row[knob]) for knob in knobs), False))
        y += 1.2
    axis.set_yticks([place for place, _, _ in places], [text for _, text, _ in places])
    for tick, (_, _, heading) in zip(axis.get_yticklabels(), places, strict=True):
        tick.set_fontweight("bold" if heading else "normal")
    axis.tick_params(axis="y", length=0)
    axis.grid(visible=False, axis="y")
    axis.set_ylim(y, -1)
    axis.set_xlim(left=0)
    axis.set_xlabel("Greatest gap between the curves (KS)")
    handles: list[Any] = [
        Line2D([], [], color=_LOOKS[name].colour, marker=_LOOKS[name].marker, linestyle="", markersize=3)
        for name in (MODEL, REPLAY)
        if name in comparison.origin["engines"]
    ]
    names = [_name(comparison, name) for name in (MODEL, REPLAY) if name in comparison.origin["engines"]]
    if REFERENCE_REPEAT in comparison.origin["engines"]:
        handles += [Patch(color=_FLOOR_GREY), Patch(color=_AIM_GREY)]
        names += ["floor", "aim"]
    axis.figure.legend(handles, names, loc="outside upper center", ncols=len(handles), borderaxespad=0.1)


def _contrast_panel(axis: Axes, contrasts: pl.DataFrame) -> None:
    sizes = np.exp(contrasts.select("reference", "model").drop_nulls().to_numpy().astype(float))
    reach = max(1.25, 1.15 * float(np.max(np.maximum(sizes, 1 / sizes)))) if len(sizes) else 2.0
    edge = np.array([1 / reach, 1, reach])
    narrow, wide = edge ** (1 / SIZE_FACTOR), edge**SIZE_FACTOR
    axis.fill_between(edge, narrow, wide, color=_AIM_GREY, linewidth=0)
    axis.plot(edge, edge, color=GREY, linewidth=0.6)
    for (kind, metric), (colour, marker) in _CELL_LOOKS.items():
        own = contrasts.filter(pl.col("kind") == kind, pl.col("metric") == metric)
        for none, face in ((False, colour), (True, "white")):
            part = own.filter((pl.col("verdict") == NO_CONTRAST) == none)
            x, y = (np.exp(part[name].to_numpy()) for name in ("reference", "model"))
            axis.plot(x, y, marker, color=colour, markerfacecolor=face, markersize=3.2)
    for scale, limits in ((axis.set_xscale, axis.set_xlim), (axis.set_yscale, axis.set_ylim)):
        scale("log")
        limits(1 / reach, reach)
    axis.axhline(1, color=GREY, linewidth=0.5)
    axis.axvline(1, color=GREY, linewidth=0.5)
    offered = _RATIO_TICKS + (_FINE_TICKS if reach <= _FINE_REACH else ())
    ticks = [tick for tick in sorted(offered) if 1 / reach <= tick <= reach]
    for side in (axis.xaxis, axis.yaxis):
        side.set_major_locator(FixedLocator(ticks))
        side.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        side.set_minor_locator(NullLocator())
    axis.set_xlabel("Ratio of medians in the reference")
    axis.set_ylabel("Ratio of medians in the model")
    handles = [
        Line2D([], [], color=colour, marker=marker, linestyle="", markersize=3.2)
        for colour, marker in _CELL_LOOKS.values()
    ]
    names = [f"{kind}, {_METRICS[metric]}" for kind, metric in _CELL_LOOKS]
    axis.legend(handles, names, loc="best", handlelength=1, borderaxespad=0.1, labelspacing=0.2)


def _levels(comparison: Comparison, variant: str) -> dict[str, str]:
    levels = variant_levels(variant)
    known = [dict(one) for one in comparison.origin["variants"]]
    if levels not in known:
        accepted = "; ".join(variant_text(one) for one in known)
        raise InputError("was not compared", key="--variant", value=variant, accepted=accepted)
    return {knob: levels[knob] for knob in comparison.origin["knobs"]}


def _name(comparison: Comparison, series: str) -> str:
    engine = str(comparison.origin["engines"][series]).split()[0]
    return f"{engine}, replayed" if series == REPLAY else engine


def _band_note(comparison: Comparison) -> str:
    if REFERENCE_REPEAT not in comparison.origin["engines"]:
        return "No run of the reference was repeated: no floor."
    return (
        f"Band: the floor, the gap between two runs of the reference with different seeds; light: the "
        f"aim, floor + {MARGIN:g}."
    )


def draw_figure(name: str, folder: Path, variant: str, out: Path) -> None:
    """Draw the figure ``name`` of the comparison in ``folder`` into ``out``.pdf, .png and .csv.

    ``variant`` is the one that ``curves`` shows. Raises InputError for a folder or a variant that is none.
    """
    comparison = Comparison.open(folder)
    with style():
        if name == "curves":
            figure, points, caption = draw_curves(comparison, variant)
        else:
            figure, points, caption = draw_overview(comparison)
        save(figure, points, caption, comparison.provenance(), out)


def main(arguments: list[str] | None = None) -> int:
    """The exit code of the command line ``arguments``."""
    parser = argparse.ArgumentParser(prog="python -m plotting.fidelity", description="Draw a comparison.")
    parser.add_argument("figure", choices=("overview", "curves"))
    parser.add_argument("--comparison", type=Path, required=True, help="folder of `fidelity compare`")
    parser.add_argument("--variant", default="", help="for curves: knob=level+knob=level")
    parser.add_argument("--out", type=Path, required=True, help="path of the files, without .pdf")
    options = parser.parse_args(arguments)
    return exit_code_of(
        lambda: draw_figure(options.figure, options.comparison, options.variant, options.out), options.out
    )


if __name__ == "__main__":
    sys.exit(main())
