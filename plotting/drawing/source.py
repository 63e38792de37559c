"""What every figure is drawn from.

In: the folder of a plan's summaries. Out: :class:`Source`: the summaries as frames, and the caption that says
where the numbers come from. Perf clients are drawn by the figures of web and bulk clients: :func:`draw_perf`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl
from matplotlib.figure import Figure

from plotting.drawing.palette import knob_name, level_name, named, nothing, save, style
from torsweep.config.traffic import KIND_NAMES
from torsweep.pipeline.figures import SummaryFigure
from torsweep.runsets.plan_tables import REPEAT, SOURCE, Provenance, parse_provenance
from torsweep.stats.inference.intervals import FEWEST_FOR_BANDS
from torsweep.stats.statistic import BASELINE, NAMES, PLAN_FILE, origin_of, read_plan, statistics
from torsweep.stats.streams.medians import downloads_by_kind
from torsweep.stats.streams.perf import PERF_PREFIX
from torsweep.stats.text import duration_text, engine_text, era_text, plan_networks_text


@dataclass(frozen=True)
class Source:
    """The summaries of one plan, in the folder ``summaries``, checked for damage before the first is read."""

    summaries: Path

    @cached_property
    def _plan(self) -> dict[str, Any]:
        return read_plan(self.summaries)

    @cached_property
    def provenance(self) -> Provenance:
        """Where the numbers come from; InputError when the summaries are missing or of another version."""
        return parse_provenance(origin_of(self._plan), self.summaries / PLAN_FILE)

    @property
    def knobs(self) -> dict[str, list[str]]:
        """Each knob's levels, in the order of the experiment; repeats of a source are not drawn."""
        return {
            knob: [level for level in levels if not level.endswith(REPEAT)]
            for knob, levels in self.provenance.knobs.items()
        }

    def origin(self) -> str:
        """What made the numbers, as JSON: engine, plan, seeds, hashes of runs and networks; no time of day
        and no version of a library, so that the same input gives the same text."""
        stated = ("engine", "engine_version", "experiment", "plan", "era", "network", "seeds")
        document = {name: getattr(self.provenance, name) for name in stated}
        for key in ("network_sha256", "run_sha256"):
            document[key] = list(dict.fromkeys(run[key] for run in self.provenance.runs if key in run))
        return json.dumps(document, separators=(",", ":"))

    def has(self, name: str) -> bool:
        """Whether the plan has the summary ``name``.csv; one without rows has no file."""
        return (self.summaries / f"{name}.csv").is_file()

    def summary(self, name: str) -> pl.DataFrame:
        """The summary ``name``.csv, which may have no rows; InputError where such a plan has none."""
        statistic = statistics(self.provenance.experiment)[name]
        if statistic.applies(self.provenance) and not self.has(name):
            return statistic.as_frame([], self.provenance.knobs)
        frame = statistic.read(self.summaries, self.provenance.knobs)
        is_set = SOURCE in self.provenance.knobs and SOURCE in frame.columns
        return frame.filter(~pl.col(SOURCE).str.ends_with(REPEAT)) if is_set else frame

    def public(self) -> pl.DataFrame | None:
        """Quantiles of public Tor (public.csv), where that has such clients."""
        return None

    def baseline(self) -> dict[str, str]:
        """The plan's baseline."""
        return dict(self._plan[BASELINE])

    def names(self) -> dict[str, str]:
        """Names for levels whose own names are not clear."""
        return dict(self._plan.get(NAMES, {}))

    def kinds(self) -> list[str]:
        """The kinds of client that downloaded anything, in the order of figures."""
        found = set(self.summary("outcomes")["kind"])
        return [kind for kind in KIND_NAMES if kind in found]

    def clients_stalled(self) -> pl.DataFrame:
        """The share ``stuck`` of clients of a ``kind`` without a byte in the last minute, by variant."""
        found = self.summary("measures").filter(measure="clients_stalled")
        return found.select(*self.provenance.knobs, kind="group", stuck="mean").drop_nulls()

    def made_by(self) -> str:
        """What made the numbers, a model called one, in which era, on how many networks, and what was cut."""
        known = self.provenance
        return "; ".join([engine_text(known), era_text(known), plan_networks_text(known), self._cut()]) + "."

    def _cut(self) -> str:
        """The warm-up that was cut, if any, and the time measured."""
        warm_up_ns = self.provenance.warm_up_ns
        cut = f"warm-up of {duration_text(warm_up_ns)} cut, " if warm_up_ns else ""
        return f"{cut}{duration_text(self.provenance.duration_ns - warm_up_ns)} measured"

    def caption(self, *notes: str) -> str:
        """Where the numbers come from, then ``notes``: engine, era, networks, cut, downloads."""
        provenance = self.provenance
        held = [
            f"{knob_name(knob).lower().replace('ewma', 'EWMA')} {level_name(levels[0])}"
            for knob, levels in self.knobs.items()
            if len(levels) == 1
        ]
        parts = [
            engine_text(provenance),
            era_text(provenance),
            f"network {provenance.network}, {plan_networks_text(provenance)}",
            *held,
            self._cut(),
            self._downloads(downloads_by_kind(self.summary("outcomes"))),
        ]
        return "; ".join(parts) + ". " + " ".join(filter(None, notes))

    def _downloads(self, counts: Mapping[str, int]) -> str:
        """How many downloads there are, of each kind of client."""
        return " and ".join(f"{count:,} {KIND_NAMES[kind]}" for kind, count in counts.items()) + " downloads"

    @property
    def few(self) -> bool:
        """Whether there are too few networks for bands."""
        return len(self.provenance.seeds) < FEWEST_FOR_BANDS

    def band_words(self) -> str:
        """The legend's words for a band; empty without bands."""
        if len(self.provenance.seeds) == 1:
            return ""
        return "lowest, highest" if self.few else "95 % interval"

    def interval_note(self) -> str:
        """A sentence on the intervals that are drawn as lines."""
        return self.band_note().replace("Bands:", "Upright lines:").replace("Thin:", "Upright lines:")

    def band_note(self) -> str:
        """A sentence on the bands, or on why there are none."""
        many = len(self.provenance.seeds)
        if many == 1:
            return "One network: no intervals."
        if self.few:
            which = "both networks" if many == 2 else f"the lowest and the highest of {many} networks"
            return f"Thin: {which}, as they are too few for intervals."
        over = "seeds of one network" if self.provenance.given_networks == 1 else "networks"
        return f"Bands: 95 % t-intervals over {over}."


def kind_title(kind: str) -> str:
    """The name of a kind of client, as a title begins with it."""
    return KIND_NAMES[kind][0].upper() + KIND_NAMES[kind][1:]


Drawn = tuple[Figure, pl.DataFrame, str]


@dataclass(frozen=True)
class _PerfSource(Source):
    """The summaries of a plan's perf clients."""

    def summary(self, name: str) -> pl.DataFrame:
        """The summary of perf clients that ``name`` is of the others."""
        return super().summary(f"{PERF_PREFIX}{name}")

    def clients_stalled(self) -> pl.DataFrame:
        """Nothing: perf clients do not go on."""
        return pl.DataFrame(schema={"kind": pl.String, "stuck": pl.Float64})

    def public(self) -> pl.DataFrame | None:
        """Quantiles of public Tor, where the summary has them."""
        return super().summary("public") if self.has("public") else None

    def _downloads(self, counts: Mapping[str, int]) -> str:
        parts = " and ".join(f"{count:,} of {KIND_NAMES[kind]}" for kind, count in counts.items())
        return f"downloads of perf clients: {parts}"


def draw_perf(source: Source, draw: Callable[[Source], Drawn]) -> Drawn:
    """The figure that ``draw`` makes of perf clients, its points and its caption."""
    if not source.has(f"{PERF_PREFIX}outcomes"):
        return nothing(
            "No perf clients", pl.DataFrame(), source.caption("The networks have no perf clients.")
        )
    return draw(_PerfSource(source.summaries))


@dataclass(frozen=True)
class PlanFigure(SummaryFigure):
    """A figure that ``draw`` makes of a :class:`Source`."""

    draw: Callable[[Source], Drawn]

    def write(self, summaries: Path, out: Path) -> None:
        """Draw it in the style of the project."""
        source = Source(summaries)
        with style(source.made_by()), named(source.names()):
            figure, points, caption = self.draw(source)
            save(figure, points, caption, source.origin(), out, self.title, self.how_to_read)
