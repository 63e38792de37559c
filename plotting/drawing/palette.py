"""The marks of levels (colour, line style, marker), their names, and the one style of all figures.

In: a knob and its levels; a matplotlib figure, its points and its caption. Out: how levels are drawn, no two
alike and the same in all figures of a plan, and written; PDF, PNG, CSV and the caption as text,
byte-identical for the same input: fonts are matplotlib's own, embedded as TrueType, and no date is written.

Sizes are for print: a column is 3.4 inches wide, the text 7 inches, and no letter is smaller than 7 points.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import MappingProxyType
from typing import Any

import matplotlib
import polars as pl
import seaborn
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.transforms import Bbox

from torsweep.config.knob import ALL_MARKS, Mark
from torsweep.config.knobs import CONSENSUS, KNOBS, NETWORK
from torsweep.engines.registry import find_kind
from torsweep.runsets.plan_tables import SOURCE
from torsweep.storage import whole_file, write_text
from torsweep.storage.folders import FIGURES_FOLDER, own_folder

_WORDS = {level: words for knob in KNOBS.values() for level, words in knob.words.items()}

_RATE = re.compile(r"(\d+)([KM]i?B)ps\Z")
_DURATION = re.compile(r"(\d+)(ns|us|ms|s|min)\Z")


_names: ContextVar[Mapping[str, str]] = ContextVar("names", default=MappingProxyType({}))


@contextmanager
def named(names: Mapping[str, str]) -> Iterator[None]:
    """Call levels by ``names`` inside this context."""
    token = _names.set(names)
    try:
        yield
    finally:
        _names.reset(token)


def marks(knob: str, levels: Iterable[str]) -> dict[str, Mark]:
    """The mark of each of ``levels`` of ``knob``: what the knob says, where no level before has that colour;
    else the first mark that is left. Beyond seven levels colours repeat with other dashes and markers."""
    stated = {level: _stated(knob, level) for level in levels}
    chosen: dict[str, Mark] = {}
    for level, mark in stated.items():
        if mark and mark.colour not in {one.colour for one in chosen.values()}:
            chosen[level] = mark
    for level in stated:
        if level not in chosen:
            chosen[level] = _left_over(list(chosen.values()))
    return {level: chosen[level] for level in stated}


def _left_over(taken: list[Mark]) -> Mark:
    """The first of the marks that are least used: by colour, then by colour and dashes, then by dashes and
    marker."""

    def uses(mark: Mark) -> tuple[int, int, int]:
        same = [one for one in taken if one.colour == mark.colour]
        alike = sum((one.dashes == mark.dashes) + (one.marker == mark.marker) for one in taken)
        return len(same), sum(one.dashes == mark.dashes for one in same), alike

    return min(ALL_MARKS, key=uses)


def _stated(knob: str, level: str) -> Mark | None:
    if knob == SOURCE:
        engine, _, rest = level.partition("+")
        tcp = dict(part.partition("=")[::2] for part in rest.split("+") if part).get("tcp", "")
        return KNOBS["tcp"].marks.get(tcp) if rest else find_kind(engine).mark
    return KNOBS[knob].marks.get(level) if knob in KNOBS else None


def level_name(level: str) -> str:
    """``level`` as a reader would write it: ``1000 ms``, ``KIST 10 ms``, ``round-robin``."""
    names = _names.get()
    if level in names:
        return names[level]
    if level in _WORDS or "+" in level:
        return _WORDS.get(level, level)
    if duration := _DURATION.match(level):
        return f"{duration[1]} {duration[2]}"
    if rate := _RATE.match(level):
        return f"{rate[1]} {rate[2]}/s"
    stem, _, rest = level.rpartition("_")
    if stem and _DURATION.match(rest):
        return f"{level_name(stem)} {level_name(rest)}"
    return level.replace("_", " ")


def knob_name(knob: str) -> str:
    """``knob`` as the title of a legend: ``Refill interval``; a consensus parameter keeps its name."""
    if knob.startswith(CONSENSUS):
        return knob.removeprefix(CONSENSUS)
    text = knob.removeprefix(NETWORK).replace("_", " ").replace("ewma", "EWMA")
    return text[0].upper() + text[1:]


COLUMN_WIDTH_IN = 3.4
TEXT_WIDTH_IN = 7.0

SMALL_PT, NORMAL_PT = 7, 8
_LINE_IN = SMALL_PT * 1.25 / 72
_LETTER_IN = SMALL_PT * 0.535 / 72
"""Height of a line of the caption, and the mean width of a letter in it."""

GREY = "#555555"
FAINT = "#DDDDDD"

_TICKS = {"major.size": 2.5, "major.width": 0.6, "major.pad": 2, "minor.size": 1.5, "minor.width": 0.4}

THEME: dict[Any, Any] = {
    **seaborn.axes_style("ticks"),
    **dict.fromkeys(
        ("axes.edgecolor", "axes.labelcolor", "text.color", "xtick.color", "ytick.color"), "black"
    ),
    **dict.fromkeys(("font.size", "legend.fontsize", "legend.title_fontsize"), SMALL_PT),
    **dict.fromkeys(("xtick.labelsize", "ytick.labelsize"), SMALL_PT),
    **dict.fromkeys(("axes.titlesize", "axes.labelsize"), NORMAL_PT),
    **{f"{axis}tick.{name}": size for axis in "xy" for name, size in _TICKS.items()},
    "font.sans-serif": ["DejaVu Sans"],
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlepad": 4,
    "axes.labelpad": 2,
    "axes.grid": True,
    "grid.color": FAINT,
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.2,
    "lines.solid_capstyle": "butt",
    "legend.frameon": False,
    "legend.handlelength": 2.4,
    "legend.columnspacing": 1.2,
    "pdf.fonttype": 42,
    "savefig.dpi": 300,
}


_in_place_of_captions: ContextVar[str | None] = ContextVar("in_place_of_captions", default=None)


@contextmanager
def style(in_place_of_captions: str | None = None) -> Iterator[None]:
    """Draw in the house style inside this context, whatever a matplotlibrc says: figures of the same numbers
    are the same for everybody. They print their captions, or one line that stands in their place."""
    token = _in_place_of_captions.set(in_place_of_captions)
    try:
        with matplotlib.rc_context():
            matplotlib.rcdefaults()
            matplotlib.rcParams.update(THEME)
            yield
    finally:
        _in_place_of_captions.reset(token)


class _Layout(ConstrainedLayoutEngine):
    """Constrained layout with axes at multiples of a hundred-thousandth of the figure: the solver takes its
    variables in the order of their addresses, and its last digits differ from one drawing to the next."""

    def execute(self, fig: Figure) -> None:
        """Lay ``fig`` out."""
        super().execute(fig)
        for axis in fig.axes:
            axis.set_position(Bbox(axis.get_position().get_points().round(5)))
            # A position that is set by hand takes the axes out of the layout.
            axis.set_in_layout(True)


def canvas(width_in: float, height_in: float, caption: str, *notes: str) -> Figure:
    """A figure of ``width_in`` × ``height_in`` for axes, with ``caption`` in small print below them. Where
    something else stands in place of captions, the ``notes`` stand below it: a figure says whatever its
    panels leave out."""
    instead = _in_place_of_captions.get()
    printed = caption if instead is None else " ".join([instead, *notes])
    unbroken = re.sub(r"(\d) (s|min|ms|%|networks?|web|bulk)(?!\w)", "\\1\u00a0\\2", printed)
    unbroken = re.sub(r"(?<=\(seeds) ", "\u00a0", unbroken)
    lines = textwrap.wrap(unbroken, int((width_in - 0.1) / _LETTER_IN))
    footer_in = _LINE_IN * len(lines) + 0.06
    figure = Figure(figsize=(width_in, height_in + footer_in))
    share = footer_in / (height_in + footer_in)
    figure.set_layout_engine(
        _Layout(rect=(0, share, 1, 1 - share), w_pad=0.03, h_pad=0.03, wspace=0.03, hspace=0.03)
    )
    x, y = 0.05 / width_in, 0.03 / (height_in + footer_in)
    figure.text(x, y, "\n".join(lines), size=SMALL_PT, color=GREY, va="bottom")
    return figure


def nothing(said: str, points: pl.DataFrame, caption: str) -> tuple[Figure, pl.DataFrame, str]:
    """A figure that says why it is empty."""
    figure = canvas(TEXT_WIDTH_IN, 0.6, caption)
    figure.text(0.5, 0.7, said, ha="center", color=GREY)
    return figure, points, caption


def save(
    figure: Figure, points: pl.DataFrame, caption: str, origin: str, out: Path, title: str = "", how: str = ""
) -> None:
    """Write ``out``.pdf, .png and .csv, and the caption as .txt, each as a whole.

    ``caption`` and ``origin`` go into the metadata. The page of a plan takes ``title`` and ``how`` to read
    the figure from the PNG's text chunks Title and Comment.
    """
    own_folder(out.parent, FIGURES_FOLDER)
    title = title or out.name
    undated = {"Creator": "torsweep", "Producer": None, "CreationDate": None}
    made_by = {"Software": "torsweep", "Provenance": origin}
    metadata = {
        "pdf": {"Title": title, "Subject": caption, "Keywords": origin, **undated},
        "png": {"Title": title, "Comment": how, "Description": caption, **made_by},
    }
    for kind, said in metadata.items():
        with whole_file(out.with_name(f"{out.name}.{kind}")) as temporary:
            figure.savefig(temporary, format=kind, metadata=said)
    with whole_file(out.with_name(f"{out.name}.csv")) as temporary:
        points.with_columns(pl.col(pl.Float64).round_sig_figs(6)).write_csv(temporary)
    about = [f"{title}.", caption.strip(), how]
    write_text(out.with_name(f"{out.name}.txt"), "\n\n".join(filter(None, about)) + "\n")
