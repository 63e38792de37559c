"""Results of a plan beside OnionPerf's measurements of the public network.

In: a folder of summaries; a file of the public network, if there is one. Out: :class:`Likeness`: how much
relays were used in the plan's baseline, and rows of times and rates, here and in public Tor.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from torsweep.config.traffic import KIND_NAMES, PERF_KINDS, PerfKind
from torsweep.runsets.public_tor import read_public_tor
from torsweep.stats.files import read_plan
from torsweep.stats.inference.intervals import CONFIDENCE, Interval, t_interval
from torsweep.stats.measures.measure import ALL
from torsweep.stats.statistic import statistics
from torsweep.stats.text import interval_text

GOODPUTS: tuple[tuple[PerfKind, str, str], ...] = (
    ("perf_1mib", "the second half of 1 MiB", "goodput_last_half_median"),
    ("perf_5mib", "the last of 5 MiB", "goodput_last_fifth_median"),
)

LIVE_HEADER = ("median", "here: mean over networks [95 % interval]", "public Tor [quartiles]")

_Here = tuple[str, Interval | None, str, PerfKind | None, float]


@dataclass(frozen=True)
class Likeness:
    """``utilisation`` of relays in the baseline by position, and of ``all``: means over networks as texts;
    ``live`` has rows of :data:`LIVE_HEADER`, without a file none; ``source`` is the file's name."""

    utilisation: dict[str, str]
    live: tuple[tuple[str, str, str], ...]
    source: str | None


def likeness(summaries: Path, live_tor: Path | None) -> Likeness:
    """What the summary in ``summaries`` has of this, beside the values in ``live_tor``.

    Raises InputError when either is not what it should be.
    """
    baseline = read_plan(summaries)["baseline"]

    def rows_of(statistic: str) -> pl.DataFrame | None:
        known = statistics()[statistic]
        if not (summaries / known.file).is_file():
            return None
        return known.read(summaries).filter(pl.col(knob) == level for knob, level in baseline.items())

    measures, perf = rows_of("measures"), rows_of("perf_medians")
    used = _measured(measures, "utilisation_total")
    here = _here(measures, perf)
    rows = () if live_tor is None else tuple(_beside(here, read_public_tor(live_tor)))
    texts = {group: interval_text(interval) for group, interval in used.items()}
    return Likeness(texts, rows, live_tor.name if live_tor else None)


def likeness_lines(found: Likeness) -> Iterator[str]:
    """``found`` as lines to read."""
    for group, text in found.utilisation.items():
        yield f"utilisation of {group} relays, in runs of the baseline: {text}"
    if found.source is not None:
        rows = (LIVE_HEADER, *found.live)
        widths = [max(len(row[column]) for row in rows) for column in range(len(LIVE_HEADER))]
        for row in rows:
            yield "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()


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
    return t_interval(medians.fill_null(math.nan).to_numpy())


def _here(measures: pl.DataFrame | None, perf: pl.DataFrame | None) -> Iterator[_Here]:
    """What runs have, and the measure, kind and unit that it has in :mod:`torsweep.runsets.public_tor`."""
    # How soon the first byte comes does not depend on the size; today's OnionPerf asks for 5 MiB.
    metric = "ttfb_after_command"
    yield "request to first byte, s", _perf_median(perf, metric, PERF_KINDS[-1]), metric, None, 1
    metric = "ttlb_after_command"
    for kind in PERF_KINDS:
        yield (
            f"request to last byte of {KIND_NAMES[kind]}, s",
            _perf_median(perf, metric, kind),
            metric,
            kind,
            1,
        )
    built = _measured(measures, "build_time_median").get(ALL)
    yield "circuit build time, s", built, "circuit_build_time", None, 1
    for kind, part, name in GOODPUTS:
        rate = _measured(measures, name).get(kind)
        yield f"goodput of {part}, KiB/s", rate, "goodput", kind, 1024


def _beside(here: Iterable[_Here], public: pl.DataFrame) -> Iterator[tuple[str, str, str]]:
    """A row for each quantity of ``here`` that ``public`` has."""
    for what, interval, measure, kind, unit in here:
        values = public.filter(pl.col("measure") == measure, pl.col("kind").eq_missing(pl.lit(kind)))["value"]
        if values.len():
            low, middle, high = ((values / unit).quantile(share, "linear") for share in (0.25, 0.5, 0.75))
            text = interval_text(interval) if interval is not None else "–"
            yield what, text, f"{middle:.3f} [{low:.3f}, {high:.3f}]"
