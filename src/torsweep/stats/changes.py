"""How two imports differ: times of downloads, goodput, circuits, failures and traffic.

In: the tables of two imports of tornettools, of which the first is the baseline. Out: changes.csv, a row for
each measure; and the table of a comparison.

Where both imports have the same networks, or at least two of them in common, the difference of a measure is
taken within each of these and its t-interval is over them. Otherwise the two are independent samples, and the
interval is Welch's. Ratios are compared as logarithms. Intervals are at 97.5 %: the two times of a size are
covered together with 95 %.

Times count from the request, as in tornettools and in Tor's own measurements. Goodput is that of the last
half of 1 MiB and of the last fifth of 5 MiB. Simulations of the same network count as one: their downloads
are put together. Downloads from onion services are left out, and so are, from the share that failed, those
that the end cut off: parsed files do not have them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from torsweep.config.traffic import KIND_NAMES, PERF_KINDS
from torsweep.errors import InputError
from torsweep.formats.files import KIB
from torsweep.runsets.reading import IMPORT
from torsweep.stats.claims.judging import Question, above, below, within, within_factor
from torsweep.stats.inference.intervals import (
    CONFIDENCE,
    Interval,
    bonferroni,
    exponential,
    welch_interval,
)
from torsweep.stats.measures.downloads import goodput
from torsweep.stats.statistic import NETWORKS_COLUMN, Analysis, Statistic, numbers, texts
from torsweep.stats.streams.incidence import ENTRY, STREAM_COLUMNS, TIMES_FROM_REQUEST
from torsweep.stats.streams.medians import run_quantiles
from torsweep.stats.text import TextTable, percent_text
from torsweep.units import counted

RELATIVE_MARGIN, SHARE_MARGIN = 0.05, 0.01
"""A difference smaller than that is none: of a ratio, and of a share."""

TOGETHER = bonferroni(CONFIDENCE, len(TIMES_FROM_REQUEST))
_PERF = r"^perfclient\d+(exit)?$"
_GOODPUT_SINCE = {"perf_1mib": ("half_us", 0.5), "perf_5mib": ("most_us", 0.2)}


@dataclass(frozen=True)
class Changing:
    """A measure: ``values`` has the columns import, seed and value. Differences of the ``relative`` ones are
    ratios; of the others, differences."""

    name: str
    values: pl.DataFrame
    relative: bool = True

    def by_network(self, name: str) -> dict[int, float]:
        """The number of each network of the import ``name``."""
        chosen = self.values.filter(pl.col(IMPORT).cast(pl.String) == name)
        return dict(chosen.select("seed", "value").drop_nulls().iter_rows())


def changing(analysis: Analysis) -> Iterator[Changing]:
    """Every measure of two imports."""
    tables = replace(analysis.tables, kinds=PERF_KINDS)
    columns = [*dict.fromkeys((*STREAM_COLUMNS, "half_us", "most_us", "last_byte_us", "bytes_wanted"))]
    downloads = tables.streams((*columns, ENTRY)).filter(pl.col(ENTRY) == 0).drop(ENTRY)
    for name in analysis.levels[IMPORT]:
        if name not in downloads[IMPORT].unique():
            problem = f"leaves no download of a perf client in the import {name}"
            cut_s = f"{tables.provenance.warm_up_ns / 1e9:g} s"
            raise InputError(problem, key="--warm-up", value=cut_s, accepted="a shorter time")
    medians = run_quantiles(downloads, [IMPORT])
    for kind in PERF_KINDS:
        for metric, name in TIMES_FROM_REQUEST.items():
            chosen = medians.filter(pl.col("kind") == kind, pl.col("metric") == metric)
            yield Changing(f"{KIND_NAMES[kind]}, {name}", chosen.select(IMPORT, "seed", value="median_s"))
    for size, (since, share) in _GOODPUT_SINCE.items():
        rate = goodput(since, share).median() * KIB
        of_size = downloads.filter(pl.col("kind") == size)
        yield Changing(f"{KIND_NAMES[size]}, goodput (bytes/s)", _each(of_size, rate))
    circuits = tables.circuits(["client", "built_us", "launched_us"])
    took_s = (pl.col("built_us") - pl.col("launched_us")) / 1e6
    built = circuits.filter(
        pl.col("client").str.contains(_PERF), took_s.is_not_null(), pl.col("launched_us").is_not_null()
    )
    yield Changing("circuit build time (s)", _each(built, took_s.median()))
    ended = downloads.filter(pl.col("outcome") != "unfinished")
    failed = pl.col("outcome").is_in(["failed", "timeout"]).mean()
    yield Changing("failed downloads (points)", _each(ended, failed), relative=False)
    # All seconds of all simulations of a network: those of the relay that tells of most.
    relays = tables.relays(["relay", "bytes_out"]).group_by(IMPORT, "seed", "relay")
    sums = relays.agg(pl.col("bytes_out").sum(), seconds=pl.len())
    rate = pl.col("bytes_out").sum() / pl.col("seconds").max()
    yield Changing("bytes that relays wrote", _each(sums, rate))


def _each(rows: pl.DataFrame, value: pl.Expr) -> pl.DataFrame:
    return rows.group_by(IMPORT, "seed").agg(value=value).sort(IMPORT, "seed")


def shared_networks(analysis: Analysis) -> tuple[list[int], str]:
    """The networks to pair by, none where imports are independent samples; and that in a sentence."""
    one, other = (analysis.provenance.seeds_at({IMPORT: name}) for name in analysis.levels[IMPORT])
    shared = sorted(set(one) & set(other))
    if shared and (len(shared) > 1 or one == other):
        left = len(one) + len(other) - 2 * len(shared)
        rest = f"; {left} that only one of them has are left out" if left else ""
        return shared, f"paired on {counted(len(shared), 'network')} that both have{rest}"
    why = "only one network is in both" if shared else "no network is known to be in both"
    return [], f"unpaired (Welch), {len(one)} against {len(other)} networks: {why}"


def _changes(analysis: Analysis) -> list[dict[str, object]]:
    """The columns of :data:`CHANGES`, of the measures of which both imports have numbers."""
    shared, _ = shared_networks(analysis)
    names = analysis.levels[IMPORT]
    rows = []
    for measure in changing(analysis):
        values = [measure.by_network(name) for name in names]
        if not all(values):
            continue
        networks = [shared or analysis.provenance.seeds_at({IMPORT: name}) for name in names]
        sides = [
            np.array([of_side.get(number, np.nan) for number in numbers_of])
            for of_side, numbers_of in zip(values, networks, strict=True)
        ]
        rows.append({"measure": measure.name, **_compared(measure, sides, bool(shared))})
    return rows


def _compared(measure: Changing, sides: Sequence[np.ndarray], paired: bool) -> dict[str, object]:
    """Means of both sides (of ratios, geometric ones), the change, its interval and what it shows."""
    if measure.relative:
        sides = [np.log(side) for side in sides]
    means = [float(np.exp(side.mean()) if measure.relative else side.mean()) for side in sides]
    question = Question(
        measure.name,
        sides[1] - sides[0] if paired else np.empty(0),
        "not 0",
        lambda interval: above(0)(interval) or below(0)(interval),
        lambda _: False,
        within_factor(RELATIVE_MARGIN) if measure.relative else within(SHARE_MARGIN),
        confidence=TOGETHER,
        logarithms=measure.relative,
    )
    if paired:
        interval = question.answer(TOGETHER).interval
    else:
        interval = welch_interval(sides, (-1, 1), TOGETHER)
        interval = exponential(interval) if measure.relative else interval
    return {
        **dict(zip(("baseline", "candidate"), means, strict=True)),
        "change": interval.mean,
        "low": interval.low,
        "high": interval.high,
        "confidence": interval.confidence,
        "networks": interval.networks,
        "paired": paired,
        "verdict": verdict_text(interval, question.shows(interval, interval), paired),
    }


def verdict_text(interval: Interval, shows: str, paired: bool = True, unit: str = "network") -> str:
    """``shown``, ``no difference``, or why nothing is shown."""
    if shows in ("yes", "no difference"):
        return "shown" if shows == "yes" else shows
    if not paired:
        return "not shown"
    if interval.networks < 2:
        return f"not shown, as one {unit} has no interval"
    if interval.known:
        return "not shown"
    same = interval.mean == 0
    return f"the same in every {unit}" if same else f"not shown, as a {unit} had too few downloads"


def change_cells(row: Mapping[str, Any]) -> tuple[str, str]:
    """The change and its interval, as a reader expects them; dashes where there are none."""
    change, low, high = (row[name] for name in ("change", "low", "high"))
    known = isinstance(low, float) and isinstance(high, float)
    bounds = f"{percent_text(low)} to {percent_text(high)}" if known else "–"
    return percent_text(change) if isinstance(change, float) else "–", bounds


def _in_summary(analysis: Analysis, table: pl.DataFrame) -> list[TextTable]:
    baseline, candidate = analysis.levels[IMPORT]
    rows = [[row["measure"], *change_cells(row), row["verdict"]] for row in table.iter_rows(named=True)]
    header = ["measure", "change", f"interval ({100 * TOGETHER:.1f} %)", "verdict"]
    pairing = shared_networks(analysis)[1]
    notes = [f"{pairing[0].upper()}{pairing[1:]}."]
    return [TextTable(f"{candidate} against {baseline}", header, rows, notes)]


CHANGES = Statistic(
    "changes",
    "a measure of two imports: geometric means over networks (of shares, means) and the change",
    texts("what is measured", "measure")
    | numbers("mean of both sides", "baseline", "candidate")
    | numbers("change: candidate / baseline − 1, of shares the difference", "change")
    | numbers("its interval", "low", "high", "confidence")
    | NETWORKS_COLUMN
    | {"paired": (pl.Boolean, "whether both sides have the same networks")}
    | texts("shown, no difference or not shown", "verdict"),
    _changes,
    rests_on=IMPORT,
    in_summary=_in_summary,
    rank=5,
)
