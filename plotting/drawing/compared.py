"""What figures of a comparison are drawn from.

In: the folder of a comparison. Out: :class:`ComparedSources`: its tables, how each source looks, the caption.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl
import seaborn as sns
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from plotting.drawing.facets import legend_above
from plotting.drawing.palette import level_name, source_look
from torsweep.compare.comparison import Comparison, Origin, read_comparison
from torsweep.compare.text import same_networks
from torsweep.config.looks import Look
from torsweep.errors import InputError
from torsweep.stats.text import SHOWN_METRICS, duration_text, networks_text


@dataclass(frozen=True)
class ComparedSources:
    """The comparison in ``folder``, checked for damage before the first table is read."""

    folder: Path

    @cached_property
    def _comparison(self) -> Comparison:
        return read_comparison(self.folder)

    @property
    def about(self) -> Origin:
        """What was compared."""
        return self._comparison.origin

    @property
    def tables(self) -> Mapping[str, pl.DataFrame]:
        """The tables that the comparison has."""
        return self._comparison.tables

    def table(self, name: str) -> pl.DataFrame:
        """The table ``name``; InputError where the comparison has none."""
        if name not in self.tables:
            raise InputError(f"has no table {name}", file=self.folder, accepted=", ".join(self.tables))
        return self.tables[name]

    @property
    def looks(self) -> dict[str, Look]:
        """How each source is drawn, the reference first."""
        return {one.label: source_look(one.label) for one in self.about.sources}

    def styles(self) -> dict[str, Any]:
        """The sources' looks as seaborn's arguments: colour and style by ``source``."""
        order = list(self.looks)
        palette = {label: one.colour for label, one in self.looks.items()}
        named = {"hue": "source", "style": "source", "hue_order": order, "style_order": order}
        return {**named, "palette": palette, "legend": False}

    def scatter(self, axis: Axes, data: Mapping[str, list[Any]], size: float, **more: Any) -> None:
        """Marks at ``x`` and ``y`` of ``data``, in the look of its ``source``."""
        if data["x"]:
            markers = {label: one.marker for label, one in self.looks.items()}
            sns.scatterplot(data, x="x", y="y", markers=markers, s=size, ax=axis, **self.styles(), **more)

    def legend(self, figure: Figure, *more: Artist, lines: bool = False, reference: bool = True) -> None:
        """One legend of the sources above the panels, then the handles ``more``."""
        handles: list[Any] = []
        for label, one in list(self.looks.items())[0 if reference else 1 :]:
            drawn = {"linestyle": one.dashes} if lines else {"linestyle": "", "marker": one.marker}
            handles.append(Line2D([], [], color=one.colour, markersize=3.6, label=label, **drawn))
        handles += more
        legend_above(figure, handles, handlelength=2.4)

    def caption(self, *notes: str) -> str:
        """What was run under each source, on which networks; then ``notes``."""
        about = self.about
        parts = [
            f"{one.label}: {one.engine_version.split(',')[0]}, {one.network}, {networks_text(one.seeds)}, "
            f"{duration_text(one.warm_up_ns)} cut, {duration_text(one.duration_ns - one.warm_up_ns)} measured"
            for one in about.sources
        ]
        head = f"{about.experiment}, plan {about.plan}, era {about.era}. {'; '.join(parts)}."
        return " ".join([head, same_networks(about), *filter(None, notes)])

    def origin(self) -> str:
        """What made the numbers, as JSON."""
        return json.dumps(asdict(self.about), separators=(",", ":"))


def time_name(kind: str, metric: str) -> str:
    """``Web, first byte``."""
    return f"{kind.capitalize()}, {SHOWN_METRICS[metric]}"


def variant_name(row: Mapping[str, Any], knobs: list[str]) -> str:
    """The levels of ``knobs`` in ``row``, in words."""
    return ", ".join(level_name(str(row[knob])) for knob in knobs)


def varying(frame: pl.DataFrame, knobs: list[str]) -> list[str]:
    """The knobs with more than one level in ``frame``; all of them where there are none."""
    return [knob for knob in knobs if len(frame[knob].unique()) > 1] or knobs
