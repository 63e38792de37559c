"""Which findings survive: the verdicts and contrasts of a plan under each transport.

    python -m plotting.findings FOLDER/findings.json --out FOLDER/findings

In: what ``torsweep results findings`` wrote. Out: above, the verdict on each claim under each transport;
below, a panel for each kind and metric and a line for each contrast: the ratio of medians under each
transport with its 95 % interval, hollow where one network gives none. Grey: the margin within which there is
no difference.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from plotting.drawing.command import exit_code_of
from plotting.drawing.palette import level_name, transport_look
from plotting.drawing.style import FAINT, GREY, SMALL_PT, TEXT_WIDTH_IN, canvas, save, style
from torsweep.config.looks import Look
from torsweep.findings.writing import contrasts_frame
from torsweep.stats.claims.judging import CONTRADICTED, HOLDS, NO_DIFFERENCE
from torsweep.stats.findings_file import (
    ContrastUnderTransports,
    FindingsFile,
    TransportColumn,
    TransportContrast,
    read_findings,
)
from torsweep.stats.findings_text import networks_note
from torsweep.stats.text import SHOWN_METRICS, duration_text, networks_text

MOST_LINES = 12
"""Contrasts in a panel: where a plan has more, those from the baseline's level are drawn."""

_POINT_IN, _GAP_IN, _CLAIM_IN, _NAME_IN = 0.085, 0.07, 0.16, 0.27
_LEAST_REACH, _ROOM = np.log(1.5), 1.8
"""How far a panel reaches at least, and how far beyond its farthest ratio, in logarithms."""
_TICKS = ((0.7, 0.8, 1, 1.25, 1.4), (0.5, 0.7, 1, 1.4, 2), (0.2, 0.5, 1, 2, 5), (0.01, 0.1, 1, 10, 100))
"""Ticks of a panel, by how far it reaches."""
_DECIDED = (HOLDS, CONTRADICTED, NO_DIFFERENCE)


def draw(findings: FindingsFile) -> tuple[Figure, pl.DataFrame, str]:
    """The figure, the points in it and its caption."""
    lines, some = _lines(findings)
    panels = list(dict.fromkeys((row.kind, row.metric) for row in findings.contrasts))
    caption = _caption(findings, some)
    # A line's name takes two lines of text.
    each_in = max(_NAME_IN, _GAP_IN + _POINT_IN * len(findings.transports))
    heights = [0.25 + _CLAIM_IN * (len(findings.claims) + 1)] if findings.claims else []
    heights += [0.5 + each_in * len(lines)] if panels else []
    figure = canvas(TEXT_WIDTH_IN, 0.3 + sum(heights), caption)
    parts = figure.subfigures(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0]
    if findings.claims:
        _verdict_panel(parts[0].subplots(), findings)
    if panels:
        axes = parts[-1].subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for axis, (kind, metric) in zip(axes, panels, strict=True):
            own = {_key(row): row for row in findings.contrasts if (row.kind, row.metric) == (kind, metric)}
            _contrast_panel(axis, [own.get(line) for line in lines], findings)
            axis.set_title(f"{kind.capitalize()}, {SHOWN_METRICS[metric]}")
        names = [_line_name(line) for line in lines]
        axes[0].set_yticks(range(len(lines)), names)
        axes[0].set_ylim(len(lines) - 0.5, -0.5)
        parts[-1].supxlabel("Ratio of medians (to / from)", size=SMALL_PT + 1)
    handles = [
        Line2D(
            [], [], color=each.colour, marker=each.marker, markersize=3.4, linewidth=1, label=one.transport
        )
        for one, each in zip(findings.transports, _looks(findings.transports), strict=True)
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=min(len(handles), 4), borderaxespad=0.1)
    return figure, contrasts_frame(findings), caption


_Line = tuple[str, str, str, str]


def _key(row: ContrastUnderTransports) -> _Line:
    return row.knob, row.at, row.from_level, row.to_level


def _lines(findings: FindingsFile) -> tuple[list[_Line], bool]:
    """The contrasts that are drawn, knob by knob, and whether any are left out."""
    lines = list(dict.fromkeys(_key(row) for row in findings.contrasts))
    some = len(lines) > MOST_LINES
    if some:
        usual = findings.baseline
        lines = [line for line in lines if usual[line[0]] in line[2:]]
    order = list(findings.baseline)
    return sorted(lines, key=lambda line: (order.index(line[0]), line[1])), some


def _line_name(line: _Line) -> str:
    _, at, one, other = line
    held = ", ".join(level_name(level) for level in at.split(", ") if level)
    return f"{level_name(one)} → {level_name(other)}" + (f"\n{held}" if held else "")


def _looks(transports: Sequence[TransportColumn]) -> list[Look]:
    return [transport_look(one.transport) for one in transports]


def _verdict_panel(axis: Axes, findings: FindingsFile) -> None:
    axis.set_axis_off()
    transports, claims = findings.transports, findings.claims
    axis.set_xlim(0, 1)
    axis.set_ylim(len(claims) + 0.5, -0.7)
    width = 0.7 / len(transports)
    for column, drawn in enumerate(_looks(transports)):
        x = 0.3 + width * (column + 0.5)
        axis.plot(x, 0, drawn.marker, color=drawn.colour, markersize=4, clip_on=False)
        for row, claim in enumerate(claims, start=1):
            verdict = claim.verdicts[column]
            decided = verdict.verdict in _DECIDED
            axis.text(
                x,
                row,
                f"{verdict.verdict} ({verdict.networks})" if verdict.networks else verdict.verdict,
                ha="center",
                va="center",
                size=SMALL_PT,
                weight="bold" if decided else "normal",
                color="black" if decided else GREY,
            )
    for row, claim in enumerate(claims, start=1):
        setting = f", {claim.setting}" if claim.setting else ""
        axis.text(0, row, claim.claim.replace("_", " ") + setting, va="center", size=SMALL_PT)
        axis.axhline(row - 0.5, color=FAINT, linewidth=0.5)


def _contrast_panel(
    axis: Axes, rows: Sequence[ContrastUnderTransports | None], findings: FindingsFile
) -> None:
    ratios = [one.ratio for row in rows if row for one in row.values if one.ratio is not None]
    reach = max(_LEAST_REACH, _ROOM * float(np.max(np.abs(np.log(ratios)))) if ratios else 0.0)
    axis.axvspan(1 - findings.margin, 1 + findings.margin, color=FAINT, linewidth=0)
    axis.axvline(1, color=GREY, linewidth=0.7)
    count = len(findings.transports)
    for line, row in enumerate(rows):
        for place, (one, drawn) in enumerate(
            zip(row.values if row else (), _looks(findings.transports), strict=bool(row))
        ):
            height = line + (place - (count - 1) / 2) * _POINT_IN / (_GAP_IN + _POINT_IN * count)
            _point(axis, height, one, drawn, reach)
        if line:
            axis.axhline(line - 0.5, color=FAINT, linewidth=0.5)
    axis.set_xscale("log")
    axis.set_xlim(np.exp(-reach), np.exp(reach))
    offered = next((ticks for ticks in _TICKS if reach < 1.6 * np.log(ticks[-1])), _TICKS[-1])
    axis.xaxis.set_major_locator(FixedLocator([tick for tick in offered if abs(np.log(tick)) <= reach]))
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.tick_params(axis="y", length=0)
    axis.spines["left"].set_visible(False)
    axis.grid(False, axis="y")


def _point(axis: Axes, height: float, one: TransportContrast, drawn: Look, reach: float) -> None:
    """A ratio and its interval; what leaves the panel ends in an arrow."""
    if one.ratio is None:
        return
    low, high = np.exp(-reach), np.exp(reach)
    if one.low is not None and one.high is not None:
        ends = [max(one.low, low), min(one.high, high)]
        (interval,) = axis.plot(ends, [height, height], color=drawn.colour, linewidth=1.1)
        interval.set_solid_capstyle("butt")
        for beyond, edge, arrow in ((one.low < low, low, "<"), (one.high > high, high, ">")):
            if beyond:
                axis.plot(edge, height, arrow, color=drawn.colour, markersize=2.4, clip_on=False)
    face = drawn.colour if one.low is not None else "white"
    axis.plot(
        one.ratio, height, drawn.marker, color=drawn.colour, markersize=3.2, mfc=face, mew=0.7, zorder=5
    )


def _caption(findings: FindingsFile, some: bool) -> str:
    """What was run under each transport, on which networks; then how the figure is read."""
    parts = [
        f"{one.transport}: {one.engine_version.split(',')[0]}, {one.network}, {networks_text(one.seeds)}, "
        f"{duration_text(one.warm_up_ns)} cut, {duration_text(one.duration_ns - one.warm_up_ns)} measured"
        for one in findings.transports
    ]
    chosen = f" Contrasts with the baseline's level only, of {_count(findings)}." if some else ""
    verdicts = " Verdicts: in brackets the networks with every variant." if findings.claims else ""
    return (
        f"{findings.experiment}, plan {findings.plan}, era {findings.era}. {'; '.join(parts)}. "
        f"{networks_note(findings)}{verdicts} Ratios: geometric means over the networks of both variants, "
        f"with 95 % t-intervals, paired by network; hollow: one network, no interval; grey: within "
        f"±{100 * findings.margin:g} %.{chosen}"
    )


def _count(findings: FindingsFile) -> int:
    return len({_key(row) for row in findings.contrasts})


def draw_figure(file: Path, out: Path) -> None:
    """Draw the findings in ``file`` into ``out``.pdf, .png, .csv; raises InputError when there are none."""
    findings = read_findings(file)
    with style():
        figure, points, caption = draw(findings)
        save(figure, points, caption, findings.model_dump_json(include={"transports"}), out)


def main(arguments: list[str] | None = None) -> int:
    """The exit code of the command line ``arguments``."""
    parser = argparse.ArgumentParser(
        prog="python -m plotting.findings", description="Which findings survive."
    )
    parser.add_argument("findings", type=Path, help="findings.json of `results findings`")
    parser.add_argument("--out", type=Path, required=True, help="path of the figure, without .pdf")
    options = parser.parse_args(arguments)
    return exit_code_of(lambda: draw_figure(options.findings, options.out), options.out)


if __name__ == "__main__":
    sys.exit(main())
