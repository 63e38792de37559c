"""What a change did to downloads in the public network, from daily medians of several vantage points.

In: Tor Metrics' ``torperf.csv`` and ``onionperf-latencies.csv``, and dates. Out: for each quantity the mean
over vantage points of the log ratio of the days after the change over the days before it, with a 90 %
interval from the same windows slid over weeks without a listed change.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import polars as pl
from scipy import special

from torsweep.errors import InputError
from torsweep.formats.files import whole_text

SIZES = {51200: "50kib", 1048576: "1mib", 5242880: "5mib"}
_ACCEPTED = "torperf.csv or onionperf-latencies.csv of Tor Metrics"
_CONFIDENCE = 0.9


@dataclass(frozen=True)
class Event:
    """A change: the last day before it began, and the first day of which it was in place."""

    before_ends: date
    after_starts: date

    def touches(self, first: date, last: date) -> bool:
        """Whether the change was under way between two days."""
        return first < self.after_starts and last > self.before_ends


@dataclass(frozen=True)
class PublicChange:
    """``sd`` is the root mean square of what the ``placebos`` windows give where nothing is listed; the
    interval is NaN where fewer than two of them, ``apart``, share no day."""

    quantity: str
    ratio: float
    low: float
    high: float
    sd: float
    placebos: int
    apart: int


def read_series(files: Iterable[Path]) -> pl.DataFrame:
    """Daily medians: date, source, quantity, median in any unit that stays the same; InputError for any other
    file."""
    return pl.concat([_of_file(file) for file in files]).unique(
        ["date", "source", "quantity"], keep="first", maintain_order=True
    )


def _of_file(file: Path) -> pl.DataFrame:
    lines = whole_text(file).splitlines()
    head = "".join(line for line in lines if line.startswith("# URL:"))
    text = "\n".join(line for line in lines if not line.startswith("#"))
    try:
        table = pl.read_csv(io.StringIO(text), infer_schema_length=0)
        # A table of throughput has the columns of one of latencies: the address in its head tells them apart.
        wanted = "torperf" if "filesize" in table.columns else "onionperf-latencies"
        named = re.search(r"/([\w-]+)\.csv", head)
        if named is not None and named[1] != wanted:
            raise InputError("is no table of times", file=file, value=named[1], accepted=_ACCEPTED)
        if "position" in table.columns or (named is None and not file.name.startswith(wanted)):
            raise InputError("is no table of times", file=file, accepted=_ACCEPTED)
        if "server" in table.columns:
            table = table.filter(pl.col("server") == "public")
        size = pl.lit("round_trip")
        if "filesize" in table.columns:
            size = pl.col("filesize").cast(pl.Float64).cast(pl.Int64).replace_strict(SIZES, default=None)
        columns = pl.col("date").str.to_date(), "source", pl.col("md").cast(pl.Float64).alias("median")
        found = table.filter(pl.col("source").fill_null("") != "").select(*columns, quantity=size)
    except pl.exceptions.PolarsError as error:
        first = str(error).splitlines()[0]
        raise InputError(f"is no such table: {first}", file=file, accepted=_ACCEPTED) from None
    return found.drop_nulls().filter(pl.col("median") > 0).cast({"source": pl.String, "quantity": pl.String})


def changes(series: pl.DataFrame, event: Event, others: Sequence[Event], days: int) -> list[PublicChange]:
    """What ``event`` changed in each quantity of ``series``; none where the windows have too few days.

    A window is the median of the logarithms of its days, and has half of them at least. The interval is from
    Student's t with as many degrees of freedom as there are windows apart, about a mean of 0.
    """
    found = []
    gap = (event.after_starts - event.before_ends).days
    for (quantity,), of_quantity in series.group_by("quantity", maintain_order=True):
        medians = {
            str(source): {day: float(np.log(median)) for day, median in each.select("date", "median").rows()}
            for (source,), each in of_quantity.group_by("source")
        }
        ratio = _ratio(medians.values(), event.before_ends, gap, days)
        if not np.isfinite(ratio):
            continue
        first, last = min(of_quantity["date"]), max(of_quantity["date"])
        weeks = range(-((event.before_ends - first).days // 7), (last - event.before_ends).days // 7 + 1)
        placebos, apart, free_from = [], 0, date.min
        for end in (event.before_ends + timedelta(days=7 * week) for week in weeks):
            begins, ends = end - timedelta(days=days - 1), end + timedelta(days=gap + days - 1)
            calm = not any(one.touches(begins, ends) for one in (event, *others))
            slid = _ratio(medians.values(), end, gap, days)
            if calm and begins >= first and ends <= last and np.isfinite(slid):
                placebos.append(slid)
                if begins > free_from:
                    apart, free_from = apart + 1, ends
        sd = float(np.sqrt(np.mean(np.square(placebos)))) if placebos else np.nan
        half = float(special.stdtrit(apart, 0.5 + _CONFIDENCE / 2)) * sd if apart > 1 else np.nan
        bounds = ratio, ratio - half, ratio + half
        found.append(PublicChange(str(quantity), *bounds, sd, len(placebos), apart))
    return found


def _ratio(sources: Iterable[dict[date, float]], before_ends: date, gap: int, days: int) -> float:
    """The mean over vantage points that have both windows; NaN where none has."""
    ratios = []
    for medians in sources:
        before = [medians.get(before_ends - timedelta(days=n)) for n in range(days)]
        after = [medians.get(before_ends + timedelta(days=gap + n)) for n in range(days)]
        windows = [[each for each in window if each is not None] for window in (before, after)]
        if min(map(len, windows)) >= days / 2:
            ratios.append(float(np.median(windows[1]) - np.median(windows[0])))
    return float(np.mean(ratios)) if ratios else np.nan
