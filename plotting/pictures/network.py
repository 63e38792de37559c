"""A network as a map, with its bandwidths and round trips.

In: the folder of a network. Out: a picture as PDF, PNG or SVG (``torsweep network draw``).
"""

from __future__ import annotations

import json
from itertools import zip_longest
from pathlib import Path

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from plotting.drawing.axes import plain_log_ticks, share_axis
from plotting.drawing.style import COLUMN_WIDTH_IN, FAINT, canvas, style, write_figure
from torsweep.config.looks import BLUE, DASH_DOT, DASHED, GREEN, PURPLE, SOLID, VERMILION, Look
from torsweep.network.exact import Floats
from torsweep.network.model import NETWORK_FILE, Network, read_network
from torsweep.network.picture import BUSIEST_PAIRS, PICTURE_SIGNATURE, NetworkPicture, picture_of
from torsweep.provenance import sha256_of_file
from torsweep.storage.folders import require_file

TITLE = "The network"
HOW_TO_READ = (
    "Hosts stand at places. The nearer two places are on the map, the shorter is the round trip between "
    "them, as far as a plane can show this. A larger mark is a faster relay, a wider line a pair of relays "
    "that more circuits use when relays are chosen by tor's weights."
)

RELAY_LOOKS = {
    "guard": ("guard", Look(BLUE, SOLID, "o")),
    "middle": ("middle", Look(GREEN, SOLID, "^")),
    "exit": ("exit", Look(VERMILION, SOLID, "s")),
    "guard_exit": ("guard or exit", Look(PURPLE, SOLID, "D")),
}
PAIRS = {"guard_middle": ("guard to middle", BLUE), "middle_exit": ("middle to exit", VERMILION)}
CURVE_LOOKS = {
    "relays": Look(VERMILION, SOLID, "o"),
    "clients, down": Look(BLUE, DASHED, "s"),
    "clients, up": Look(GREEN, DASH_DOT, "^"),
    "relay to relay": Look(VERMILION, SOLID, "o"),
    "client to relay": Look(BLUE, DASHED, "s"),
    "relay to server": Look(GREEN, DASH_DOT, "^"),
}
PANELS = {"bandwidth": "Rate (Mbit/s)", "round trip": "Round trip (ms)"}

_MAP_IN, _CURVES_IN = 2.85, 1.5
_MAP_HEIGHT = 0.72
"""Of a map, over its width."""
_COVERED = 0.02
"""The part of the map that the marks of all relays cover."""
_LEAST_POINTS = 1.5
"""The area of the smallest mark, in square points."""
_WIDEST_LINE, _LEAST_OF_WIDEST = 2.4, 0.25
"""In points, where all circuits have one of the drawn pairs; and the part of it where hardly any has."""
_MARGIN = 0.12
"""Around the outermost mark, of the width of the map."""


def draw(network: Network, picture: NetworkPicture) -> tuple[Figure, str]:
    """The figure and its caption."""
    caption = _caption(network, picture)
    figure = canvas(COLUMN_WIDTH_IN, _MAP_IN + _CURVES_IN, caption)
    grid = figure.add_gridspec(2, 2, height_ratios=(_MAP_IN, _CURVES_IN))
    _map(figure.add_subplot(grid[0, :]), picture)
    figure.legend(
        handles=_keys(),
        loc="outside upper center",
        ncols=4,
        columnspacing=0.8,
        handlelength=1.2,
        handletextpad=0.4,
    )
    for column, (panel, label) in enumerate(PANELS.items()):
        axis = figure.add_subplot(grid[1, column])
        _curves(axis, picture.curves.filter(panel=panel))
        axis.set_xlabel(label)
        if column:
            axis.tick_params(labelleft=False)
    return figure, caption


def _map(axis: Axes, picture: NetworkPicture) -> None:
    places, relays, pairs = picture.places, picture.relays, picture.pairs
    axis.scatter(places["x_ms"], places["y_ms"], s=3, color=FAINT, linewidths=0, zorder=1)
    for hop, (_, colour) in PAIRS.items():
        own = pairs.filter(hop=hop)
        ends = own.select("x_ms", "y_ms", "to_x_ms", "to_y_ms").to_numpy().reshape(-1, 2, 2)
        widest = _WIDEST_LINE * max(picture.drawn_share.get(hop, 0), _LEAST_OF_WIDEST)
        widths = (own["share"] / (own["share"].max() or 1) * widest).to_list()
        lines = LineCollection(list(ends), linewidths=widths, colors=colour, alpha=0.45, zorder=4)
        axis.add_collection(lines)
    marks_points = _COVERED * COLUMN_WIDTH_IN * _MAP_IN * 72**2
    for position, (_, look) in RELAY_LOOKS.items():
        own = relays.filter(position=position)
        axis.scatter(
            own["x_ms"],
            own["y_ms"],
            s=np.maximum(own["capacity_share"].to_numpy() * marks_points, _LEAST_POINTS),
            marker=look.marker,
            facecolor=look.colour,
            edgecolor="white",
            linewidths=0.3,
            alpha=0.85,
            clip_on=False,
            zorder=3,
        )
    _frame(axis, *picture.view_ms)


def _frame(axis: Axes, low: Floats, high: Floats) -> None:
    """Show what lies between the corners ``low`` and ``high``, with a bar for their scale."""
    shape = np.array([1, _MAP_HEIGHT])
    width = max(*((high - low) / shape), 1.0) * (1 + _MARGIN)
    corners = (low + high) / 2 + np.array([[-1], [1]]) * shape * width / 2
    axis.set(xlim=corners[:, 0], ylim=corners[:, 1], xticks=[], yticks=[], aspect="equal")
    axis.spines[["left", "bottom"]].set_visible(False)
    _scale_bar(axis, width)


def _scale_bar(axis: Axes, width_ms: float) -> None:
    """A bar of a round number of milliseconds, at most a quarter of the map's width."""
    steps = [step * 10.0**power for power in range(-3, 5) for step in (1, 2, 5)]
    length_ms = max((step for step in steps if step <= width_ms / 4), default=steps[0])
    (left, _), (bottom, _) = axis.get_xlim(), axis.get_ylim()
    axis.plot([left, left + length_ms], [bottom, bottom], color="black", clip_on=False)
    axis.annotate(f"{length_ms:g} ms", (left, bottom), xytext=(0, 3), textcoords="offset points")


def _keys() -> list[Line2D]:
    """Marks in the upper line of the legend, everything else in the lower one: it is filled by columns."""
    marks = [
        Line2D([], [], linestyle="", marker=look.marker, markersize=5, color=look.colour, label=name)
        for name, look in RELAY_LOOKS.values()
    ]
    others = [Line2D([], [], color=colour, alpha=0.6, label=name) for name, colour in PAIRS.values()]
    others.append(Line2D([], [], linestyle="", marker="o", markersize=2, color=FAINT, label="place"))
    return [key for column in zip_longest(marks, others) for key in column if key is not None]


def _curves(axis: Axes, points: pl.DataFrame) -> None:
    for what in points["what"].unique(maintain_order=True):
        own, look = points.filter(what=what), CURVE_LOOKS[what]
        axis.plot(own["value"], own["share"], color=look.colour, linestyle=look.dashes, label=what)
    axis.set_xscale("log")
    plain_log_ticks(axis)
    share_axis(axis)
    axis.legend(loc="lower left", bbox_to_anchor=(0, 1), borderpad=0, labelspacing=0.2)


def _caption(network: Network, picture: NetworkPicture) -> str:
    counts = {
        "relays": len(network.relays),
        "clients": len(network.clients),
        "servers": len(network.servers),
        "places": picture.all_places,
    }
    drawn_places = len(picture.places)
    which = "places" if drawn_places == picture.all_places else f"{drawn_places:,} of the places"
    hosts = ", ".join(f"{count:,} {kind}" for kind, count in counts.items())
    drawn = " and ".join(
        f"{name} ({float(f'{100 * picture.drawn_share.get(hop, 0):.2g}'):g} % of circuits)"
        for hop, (name, _) in PAIRS.items()
    )
    fastest = picture.relays["usable_mbit_per_s"][0]
    return (
        f"Seed {network.seed}: {hosts}. Map: {which} by classical scaling of their round trips (rank "
        f"correlation of distances and round trips: {picture.likeness:.2f}). Area: the relay's rate, at "
        f"most {fastest:.3g} Mbit/s. Lines: the {BUSIEST_PAIRS} likeliest pairs by tor's weights, {drawn}; "
        "width: share of circuits. Below: shares of hosts, and of pairs of hosts."
    )


def draw_picture(folder: Path, out: Path) -> None:
    """Draw the network in ``folder`` into ``out``, a PDF, PNG or SVG.

    Raises OutputError when ``out`` is a file of something else.
    """
    require_file(out, PICTURE_SIGNATURE)
    network, latencies = read_network(folder)
    origin = json.dumps({"network_sha256": sha256_of_file(folder / NETWORK_FILE)})
    with style():
        figure, caption = draw(network, picture_of(network, latencies))
        write_figure(figure, out, caption, origin, TITLE, HOW_TO_READ, creator=PICTURE_SIGNATURE)
