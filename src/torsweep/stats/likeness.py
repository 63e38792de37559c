"""Results of a plan beside OnionPerf's measurements of the public network.

In: a file of the public network, and the tables of a plan or a folder of its summaries. Out: public.csv,
quantiles of public Tor; and :class:`Likeness`: how much relays were used in the plan's baseline, and rows of
times and rates, here and in public Tor, how they compare.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from torsweep.config.traffic import KIND_NAMES, PERF_KINDS, PerfKind
from torsweep.formats.files import KIB
from torsweep.home import find
from torsweep.runsets.plan_tables import at_levels
from torsweep.runsets.public_tor import USUAL_PUBLIC_TOR, read_public_tor
from torsweep.stats.inference.intervals import CONFIDENCE, Interval, log_interval
from torsweep.stats.measures import ALL
from torsweep.stats.statistic import Analysis, Statistic, numbers, read_plan, statistics, texts
from torsweep.stats.streams.incidence import REQUEST, TIMES_FROM_REQUEST, metric_at
from torsweep.stats.streams.perf import perf_analysis
from torsweep.stats.text import interval_text

GOODPUTS: tuple[tuple[PerfKind, str, str], ...] = (
    ("perf_1mib", "the second half of 1 MiB", "goodput_last_half_median"),
    ("perf_5mib", "the last of 5 MiB", "goodput_last_fifth_median"),
)

LIVE_HEADER = (
    "median",
    "here: mean over networks [95 % interval]",
    "public Tor [quartiles]",
    "here / public Tor",
    "greatest gap between the curves",
)

_QUARTILES = (0.25, 0.5, 0.75)
_SHARES = np.union1d((np.arange(200) + 0.5) / 200, _QUARTILES)


@dataclass(frozen=True)
class Beside:
    """A quantity in runs of the baseline and in the public network: ``measure`` of the perf clients ``kind``.

    ``here``: its median over networks; ``there``: quartiles of the public network; ``gap``: the greatest gap
    between the curves of a time, NaN where there are none.
    """

    what: str
    measure: str
    kind: PerfKind
    here: Interval | None
    there: tuple[float, float, float] = (math.nan, math.nan, math.nan)
    gap: float = math.nan

    @property
    def ratio(self) -> str:
        """The median here over that in public Tor, as a text."""
        known = self.here is not None and math.isfinite(self.here.mean)
        return f"× {self.here.mean / self.there[1]:.2f}" if self.here is not None and known else "–"

    @property
    def cells(self) -> tuple[str, ...]:
        """A row under :data:`LIVE_HEADER`."""
        low, middle, high = self.there
        here = interval_text(self.here) if self.here is not None else "–"
        gap = "–" if math.isnan(self.gap) else f"{self.gap:.2f}"
        return self.what, here, f"{middle:.3f} [{low:.3f}, {high:.3f}]", self.ratio, gap


@dataclass(frozen=True)
class Likeness:
    """``utilisation`` of relays in the baseline by position, and of ``all``: means over networks as texts;
    ``beside``: each quantity that public Tor has; ``public``: the quantiles there, as :data:`PUBLIC`."""

    utilisation: dict[str, str]
    beside: tuple[Beside, ...] = ()
    public: pl.DataFrame | None = None

    @property
    def source(self) -> str | None:
        """The name of the file of public Tor."""
        return None if self.public is None else str(self.public["file"][0])


def public_quantiles(file: Path) -> pl.DataFrame:
    """Quantiles of what ``file`` has of public Tor: the columns of :data:`PUBLIC`.

    The time to the first byte is that to the first byte of the answer. A summary's public.csv is read as it
    is.
    """
    if file.name == PUBLIC.file:
        return PUBLIC.read(file.parent)
    first_byte = metric_at("ttfb", REQUEST).name
    values = read_public_tor(file).with_columns(pl.col("measure").replace("round_trip", first_byte))
    frames = [
        pl.DataFrame({"share": _SHARES, "value": np.quantile(group["value"].to_numpy(), _SHARES)}).select(
            pl.lit(measure).alias("measure"), pl.lit(kind, pl.String).alias("kind"), pl.all()
        )
        for (measure, kind), group in values.group_by("measure", "kind", maintain_order=True)
    ]
    return pl.concat(frames).select(pl.lit(file.name).alias("file"), pl.all())


def _public(analysis: Analysis) -> pl.DataFrame | None:
    if analysis.once(perf_analysis) is None:
        return None
    return public_quantiles(analysis.public or find(USUAL_PUBLIC_TOR))


PUBLIC = Statistic(
    "public",
    "a quantile of what OnionPerf measured of public Tor, to stand beside perf clients",
    texts(
        "the file that has it, what was measured, and of which size (null: of any)", "file", "measure", "kind"
    )
    | numbers("share of the values, and the value that they do not exceed (s, bytes/s)", "share", "value"),
    _public,
)


def own_public_tor(summaries: Path) -> Path | None:
    """public.csv of a summary beside a file of the user's own, to make it again with; None of any other."""
    file = summaries / PUBLIC.file
    return file if file.is_file() and PUBLIC.read(summaries)["file"][0] != USUAL_PUBLIC_TOR.name else None


def tells_of(kind: str) -> pl.Expr:
    """The rows of :data:`PUBLIC` that tell of downloads of ``kind``."""
    return pl.col("kind").is_null() | (pl.col("kind") == kind)


def likeness(summaries: Path) -> Likeness:
    """Read the likeness from the summary in ``summaries``; InputError if it is damaged."""
    baseline = read_plan(summaries)["baseline"]

    def rows_of(statistic: str) -> pl.DataFrame | None:
        known = statistics()[statistic]
        return known.read(summaries) if (summaries / known.file).is_file() else None

    def of_baseline(statistic: str) -> pl.DataFrame | None:
        rows = rows_of(statistic)
        return None if rows is None else at_levels(rows, baseline)

    measures, perf = of_baseline("measures"), of_baseline("perf_medians")
    public = rows_of("public")
    used = {group: interval_text(share) for group, share in _measured(measures, "utilisation_total").items()}
    if public is None:
        return Likeness(used)
    return Likeness(
        used, tuple(_beside(_quantities(measures, perf), public, of_baseline("perf_curves"))), public
    )


def _measured(measures: pl.DataFrame | None, name: str) -> dict[str, Interval]:
    """The measure ``name`` by group."""
    rows = [] if measures is None else measures.filter(pl.col("measure") == name).iter_rows(named=True)
    return {row["group"]: _interval(row) for row in rows}


def _interval(row: Mapping[str, Any]) -> Interval:
    mean, low, high = (
        math.nan if row[name] is None else row[name] for name in ("mean", "mean_low", "mean_high")
    )
    return Interval(mean, low, high, row["networks"], CONFIDENCE)


def _perf_median(perf: pl.DataFrame | None, metric: str, kind: PerfKind) -> Interval | None:
    """Over networks, the median of what perf clients of ``kind`` had."""
    if perf is None:
        return None
    medians = perf.filter(pl.col("metric") == metric, pl.col("kind") == kind)["median_s"]
    return log_interval(medians.fill_null(math.nan).to_numpy())


def _quantities(measures: pl.DataFrame | None, perf: pl.DataFrame | None) -> Iterator[Beside]:
    times = {measure: f"request to {byte}" for measure, byte in TIMES_FROM_REQUEST.items()}
    for measure, what in {**times, "ttlb": "opening to last byte"}.items():
        for kind in PERF_KINDS:
            median = _perf_median(perf, measure, kind)
            yield Beside(f"{what} of {KIND_NAMES[kind]}, s", measure, kind, median)
    built = _measured(measures, "build_time_median").get(ALL)
    yield Beside("circuit build time, s", "circuit_build_time", PERF_KINDS[0], built)
    for kind, part, name in GOODPUTS:
        yield Beside(f"goodput of {part}, KiB/s", "goodput", kind, _measured(measures, name).get(kind))


def _beside(
    quantities: Iterable[Beside], public: pl.DataFrame, curves: pl.DataFrame | None
) -> Iterator[Beside]:
    """The ``quantities`` that ``public`` has, with its quartiles and the gap between the curves."""
    for each in quantities:
        there = public.filter(tells_of(each.kind), measure=each.measure)
        if there.is_empty():
            continue
        values = there["value"].to_numpy() / (KIB if each.measure == "goodput" else 1)
        low, middle, high = np.interp(_QUARTILES, there["share"], values)
        gap = math.nan
        if curves is not None:
            own = curves.filter(metric=each.measure, kind=each.kind)
            by_then = np.interp(own["time_s"], values, there["share"], left=0, right=1)
            gap = float(np.abs(by_then - own["share"].to_numpy()).max(initial=0)) if own.height else gap
        yield replace(each, there=(low, middle, high), gap=gap)
