"""What a change of the public network did to downloads there, from daily medians of several vantage points.

In: Tor Metrics' ``torperf.csv`` and ``onionperf-latencies.csv``, plain or packed, or OnionPerf's analysis
files as CollecTor names them, ``2022-04-24.op-nl7a.onionperf.analysis.json.xz``; and dates. Out: for each
quantity and vantage point the log ratio of the days after the change over the days before it, with an
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
import numpy.typing as npt
import polars as pl
from scipy import special

from torsweep.errors import InputError
from torsweep.formats.files import whole_text
from torsweep.runsets.public_tor import read_public_tor

SIZES = {51200: "50kib", 1048576: "1mib", 5242880: "5mib"}
ROUND_TRIP = "round_trip"
ALL_SOURCES = "all"
"""Stands for the mean over the vantage points that have both windows."""

SERIES = pl.Schema({"date": pl.Date, "source": pl.String, "quantity": pl.String, "median": pl.Float64})
"""A day's median at a vantage point, in any unit that stays the same; ``quantity`` is one of :data:`SIZES`
or :data:`ROUND_TRIP`."""

_ANALYSIS = re.compile(r"(\d{4}-\d\d-\d\d)\.(.+)\.onionperf\.analysis\.json")
_ACCEPTED = "torperf.csv or onionperf-latencies.csv of Tor Metrics, or an analysis of OnionPerf"
_STEP_DAYS = 7
_CONFIDENCE = 0.9


@dataclass(frozen=True)
class Event:
    """A change: the last day before it began, and the first day of which it was in place."""

    before_ends: date
    after_starts: date

    def __post_init__(self) -> None:
        if self.after_starts <= self.before_ends:
            raise InputError(
                "is not after the days before", key="after_starts", value=self.after_starts.isoformat()
            )


@dataclass(frozen=True)
class PublicChange:
    """``log_ratio`` is NaN where a window has too few days, its bounds where fewer than two windows without
    a change are apart from each other."""

    source: str
    quantity: str
    days_before: int
    days_after: int
    log_ratio: float
    low: float
    high: float
    placebo_sd: float
    """Root mean square of what the same windows give where nothing is listed; drift counts."""
    placebos: int
    apart: int
    """How many of these windows share no day."""


def read_series(files: Iterable[Path]) -> pl.DataFrame:
    """The daily medians in ``files``, in the columns of :data:`SERIES`; InputError for any other file."""
    frames = [_of_file(file) for file in files]
    if not frames:
        raise InputError("no file is named", accepted=_ACCEPTED)
    return pl.concat(frames).unique(["date", "source", "quantity"], keep="first", maintain_order=True)


def _of_file(file: Path) -> pl.DataFrame:
    if named := _ANALYSIS.match(file.name):
        return _of_analysis(file, date.fromisoformat(named[1]), named[2])
    lines = whole_text(file).splitlines()
    text = "\n".join(line for line in lines if not line.startswith("#"))
    try:
        table = pl.read_csv(io.StringIO(text), infer_schema_length=0)
    except pl.exceptions.PolarsError:
        raise InputError("is no CSV table", file=file, accepted=_ACCEPTED) from None
    if not {"date", "source", "md"} <= set(table.columns) or "position" in table.columns:
        raise InputError("is no table of times", file=file, value=table.columns, accepted=_ACCEPTED)
    is_of_sizes = "filesize" in table.columns
    named = _named_in_head(lines) or ("torperf" if is_of_sizes else file.name)
    # A table of throughput has the columns of one of latencies.
    if not named.startswith("torperf" if is_of_sizes else "onionperf-latencies"):
        raise InputError("is no table of times", file=file, value=named, accepted=_ACCEPTED)
    if "server" in table.columns:
        table = table.filter(pl.col("server") == "public")
    size = pl.col("filesize").cast(pl.Float64).cast(pl.Int64) if is_of_sizes else None
    try:
        return (
            table.filter(pl.col("source").fill_null("") != "")
            .select(
                pl.col("date").str.to_date(),
                "source",
                quantity=pl.lit(ROUND_TRIP) if size is None else size.replace_strict(SIZES, default=None),
                median=pl.col("md").cast(pl.Float64),
            )
            .filter(pl.col("median") > 0, pl.col("quantity").is_not_null())
            .cast({"source": pl.String})
        )
    except pl.exceptions.PolarsError as error:
        raise InputError(f"has a cell that is none: {str(error).splitlines()[0]}", file=file) from None


def _named_in_head(lines: Sequence[str]) -> str:
    """Which table of Tor Metrics it is by the address in its head; empty without one."""
    address = next((line for line in lines if line.startswith("# URL:")), "")
    stated = re.search(r"/([\w-]+)\.csv", address)
    return stated[1] if stated else ""


def _of_analysis(file: Path, day: date, source: str) -> pl.DataFrame:
    quantities = {f"perf_{size}": size for size in SIZES.values()} | {None: ROUND_TRIP}
    times = read_public_tor(file).filter(pl.col("measure").is_in(["ttlb_after_command", "round_trip"]))
    rows = [
        (day, source, quantities[kind], float(np.median(of_kind["value"])))
        for (kind,), of_kind in times.group_by("kind", maintain_order=True)
        if kind in quantities
    ]
    return pl.DataFrame(rows, SERIES, orient="row")


def changes(
    series: pl.DataFrame, event: Event, others: Sequence[Event] = (), days: int = 28
) -> list[PublicChange]:
    """What ``event`` changed in each quantity of ``series``, at each vantage point and over all of them.

    A window is the median of the logarithms of its days, and has half of them at least. The interval is
    90 %, from Student's t with as many degrees of freedom as there are windows apart, about a mean of 0.
    """
    found: list[PublicChange] = []
    for (quantity,), of_quantity in series.group_by("quantity", maintain_order=True):
        first, last = of_quantity["date"].min(), of_quantity["date"].max()
        assert isinstance(first, date) and isinstance(last, date)
        table = of_quantity.pivot("source", index="date", values="median").sort("date")
        sources = table.columns[1:]
        logs = np.full(((last - first).days + 1, len(sources)), np.nan)
        at = [(day - first).days for day in table["date"]]
        logs[at] = np.log(table.select(sources).cast(pl.Float64).to_numpy())
        calm = _calm_offsets(first, last, event, (event, *others), days)
        here, counts = _ratios(logs, (event.before_ends - first).days, event, days)
        placebos = [_ratios(logs, offset, event, days)[0] for offset in calm]
        for source, column in zip([*sources, ALL_SOURCES], [*range(len(sources)), slice(None)], strict=True):
            slid = [(offset, _mean(of[column])) for offset, of in zip(calm, placebos, strict=True)]
            known = [(offset, ratio) for offset, ratio in slid if np.isfinite(ratio)]
            of_days = counts[:, column].reshape(2, -1).sum(axis=1)
            name = source, str(quantity)
            found.append(_with_interval(name, of_days, _mean(here[column]), known, event, days))
    return found


def _mean(ratios: npt.ArrayLike) -> float:
    """Over the vantage points that have one; NaN where none has."""
    known = np.asarray(ratios, dtype=float).ravel()
    known = known[np.isfinite(known)]
    return float(known.mean()) if known.size else float("nan")


def _calm_offsets(first: date, last: date, event: Event, listed: Sequence[Event], days: int) -> list[int]:
    """Last days before, counted from ``first``, of windows in weekly steps that no listed change touches."""
    gap = (event.after_starts - event.before_ends).days
    start = (event.before_ends - first).days % _STEP_DAYS
    offsets = []
    for offset in range(start, (last - first).days + 1, _STEP_DAYS):
        begins = first + timedelta(days=offset - days + 1)
        ends = first + timedelta(days=offset + gap + days - 1)
        touched = any(begins < other.after_starts and ends > other.before_ends for other in listed)
        if begins >= first and ends <= last and not touched:
            offsets.append(offset)
    return offsets


def _ratios(
    logs: npt.NDArray[np.float64], before_ends: int, event: Event, days: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """The log ratio of each vantage point, and the days with a median in both windows, (2, sources)."""
    after = before_ends + (event.after_starts - event.before_ends).days
    windows = [
        logs[max(0, before_ends - days + 1) : max(0, before_ends + 1)],
        logs[max(0, after) : max(0, after + days)],
    ]
    counts = np.array([np.isfinite(window).sum(axis=0) for window in windows])
    enough = (counts >= days / 2).all(axis=0)
    ratios = np.full(logs.shape[1], np.nan)
    if enough.any():
        before, later = (np.nanmedian(window[:, enough], axis=0) for window in windows)
        ratios[enough] = later - before
    return ratios, counts


def _with_interval(
    name: tuple[str, str],
    counts: npt.NDArray[np.int64],
    log_ratio: float,
    placebos: Sequence[tuple[int, float]],
    event: Event,
    days: int,
) -> PublicChange:
    length = 2 * days + (event.after_starts - event.before_ends).days - 1
    apart, free_from = 0, -np.inf
    for offset, _ in placebos:
        if offset >= free_from:
            apart, free_from = apart + 1, offset + length
    spread = float(np.sqrt(np.mean([ratio**2 for _, ratio in placebos]))) if placebos else np.nan
    half = float(special.stdtrit(apart, 0.5 + _CONFIDENCE / 2)) * spread if apart > 1 else np.nan
    before, after = (int(count) for count in counts)
    bounds = log_ratio, log_ratio - half, log_ratio + half
    return PublicChange(*name, before, after, *bounds, spread, len(placebos), apart)
