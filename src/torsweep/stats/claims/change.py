"""A claim that clients notice a change, by several measures together: the verdict of `torsweep compare`.

In: a plan with two levels of a knob. Out: questions of three kinds about a group of downloads:

- how much longer the same download takes (:mod:`torsweep.stats.streams.differences`);
- the slow ones: the mean, in which a client that waits all the time counts with its wait, and the 90th
  percentile;
- who gets nothing, of all clients and downloads together: the share of clients without progress in the last
  minute, and that of downloads that failed.

The first two are of first bytes and of last bytes. Two imports have other downloads on each side, and the
median takes the place of the same download. A change is shown by each measure whose interval excludes 0,
where the intervals of all measures of a page hold together with 95 %. There is no difference where the 90 %
interval of each measure lies within its bound (two one-sided tests: Schuirmann, Journal of Pharmacokinetics
and Biopharmaceutics 15, 1987, 657–680; all have to pass, so that each may err in 5 %), and every network
within three times that bound. Most of the error goes to the same download, which is what shows small changes,
or to the one measure that the comparison is about.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Annotated, Final, Literal

import numpy as np
import polars as pl
from pydantic import Field, StrictBool

from torsweep.config.traffic import GROUPS, MEASURED_KINDS, DownloadGroup, MeasuredKind
from torsweep.runsets.plan_tables import IMPORT, at_levels
from torsweep.stats.claims import ClientClaim, ClockStart
from torsweep.stats.claims.downloads import TimesBetween, changes, networks_of
from torsweep.stats.claims.judging import (
    NO_DIFFERENCE,
    UNCLEAR,
    Answer,
    Behind,
    Question,
    above,
    below,
    other_levels,
    place_text,
    within,
    within_factor,
)
from torsweep.stats.inference.interim import FIXED, Design
from torsweep.stats.inference.intervals import CONFIDENCE, Interval, farthest_outlier, share_interval
from torsweep.stats.inference.moderation import Prior, moderated_interval
from torsweep.stats.measures.downloads import FAILED, downloads, progress_of_clients
from torsweep.stats.statistic import Analysis, Levels, MetricName
from torsweep.stats.streams.differences import PAIR
from torsweep.stats.streams.incidence import OPENING, measured_downloads, metric_at
from torsweep.stats.streams.medians import run_quantiles

CoPrimary = Literal["paired", "median", "mean", "p90"]

TimeMeasure = Literal[
    "paired_ttfb",
    "paired_ttlb",
    "median_ttfb",
    "median_ttlb",
    "mean_ttfb",
    "mean_ttlb",
    "p90_ttfb",
    "p90_ttlb",
]

TIME_MEASURES: Final[Mapping[CoPrimary, tuple[float, float]]] = {
    "paired": (0.05, 0.15),
    "median": (0.05, 0.15),
    "mean": (0.10, 0.20),
    "p90": (0.20, 0.30),
}
"""Statistics of times that a verdict may rest on, and the relative differences within which there is none, of
clients of which there are many and of all others: 0.05 is a factor of 1.05 either way. How far two runs
differ by chance alone says what is within reach."""

OF_MANY: Final = ("web", "onion")

OF_MOST: Final = ("paired", "median")
"""Statistics that say what most downloads notice."""

SHARE_MEASURES: Final = {"without_progress": 0.02, "failed": 0.02}
"""Shares of clients and of downloads that a verdict may rest on, and the difference within which there is
none: 0.02 is two percentage points."""

EVERYONE: Final = "everyone"

WIDER = 3
"""There is no difference only where every network is within this many times the bound."""

OUTLIER_ERROR = 0.005
"""How often the test that names a network far from the others names one where all are alike."""

EQUIVALENCE_CONFIDENCE = 0.9
"""That of the interval that lies within a bound."""

STATED, SAME_DOWNLOAD, BESIDE, NOTHING = "stated", "same download", "beside it", "who gets nothing"
ERROR_SHARES = {SAME_DOWNLOAD: 0.8, BESIDE: 0.1, NOTHING: 0.1}
"""How the error of a page is divided between groups of questions."""
ERROR_BESIDE_STATED = {STATED: 0.8, SAME_DOWNLOAD: 0.1, BESIDE: 0.05, NOTHING: 0.05}
"""How it is divided where one question was stated beforehand."""

COUNTS_PRIOR = 1000
"""By how many networks the chance of counts is known: it is binomial."""


def same_download_confidence(lines: int, stated: bool | None = None) -> float:
    """The confidence of an interval of the same download, of ``lines`` on a page; where one was stated
    beforehand, of that one or of the others."""
    if stated is None:
        share = ERROR_SHARES[SAME_DOWNLOAD] / lines
    else:
        share = ERROR_BESIDE_STATED[STATED] if stated else ERROR_BESIDE_STATED[SAME_DOWNLOAD] / (lines - 1)
    return 1 - (1 - CONFIDENCE) * share


@dataclass(frozen=True)
class MeasureQuestion(Question):
    """A question about ``measure``, where no difference is within ``bound``.

    ``values`` are those of ``networks``, by their seeds; independent samples have none. ``counts`` are those
    of a share on both sides, whose differences ``values`` are. ``identical``: both sides have the same
    downloads, to the microsecond.
    """

    measure: str = ""
    bound: float = 0.0
    networks: tuple[int, ...] = ()
    differences_s: np.ndarray | None = None
    counts: tuple[np.ndarray, np.ndarray] | None = None
    identical: bool = False

    def error_share(self, groups: Collection[str]) -> float:
        """The part of its group."""
        return (ERROR_BESIDE_STATED if STATED in groups else ERROR_SHARES)[self.group]

    def interval(self, confidence: float, design: Design) -> Interval:
        """The interval of a time, or of a share."""
        if self.identical:
            return Interval(0.0, 0.0, 0.0, len(self.networks), confidence)
        if self.counts is None:
            return super().interval(confidence, design)
        if not self.networks:
            return share_interval(*self.counts, confidence)

        def of(rows: np.ndarray, level: float) -> Interval:
            prior = _chance_of_counts(rows)
            return share_interval(
                rows[:, :2],
                rows[:, 2:],
                level,
                lambda differences, level: moderated_interval(differences, level, prior),
            )

        return design.interval(np.hstack(self.counts), confidence, of)

    def answer(self, together: float, design: Design = FIXED) -> Answer:
        """The answer, with the networks behind it; that of no difference has the interval of 90 %."""
        answer = super().answer(together, design)
        whole, narrow = answer.interval, self.interval(EQUIVALENCE_CONFIDENCE, design)
        if answer.shows == UNCLEAR and narrow.known and self.nothing and self.nothing(narrow):
            answer = replace(answer, shows=NO_DIFFERENCE)
        if answer.shows == NO_DIFFERENCE:
            answer = replace(answer, interval=narrow)
        if self.counts is not None:
            answer = replace(answer, can_show={})
        far_out = self._far_out(answer.shows == NO_DIFFERENCE)
        if answer.shows == NO_DIFFERENCE and far_out:
            answer = replace(answer, shows=UNCLEAR, interval=whole)
        changes = np.expm1(self.values) if self.logarithms else self.values
        by_network = dict(zip(self.networks, map(float, changes), strict=True)) if self.networks else {}
        seconds = np.nan if self.differences_s is None else float(np.mean(self.differences_s))
        return replace(answer, behind=Behind(self.measure, by_network, seconds, self.bound, far_out))

    def _far_out(self, within_bound: bool) -> tuple[int, ...]:
        """The networks outside three times the bound: all if ``within_bound``, else only an outlier."""
        if not self.networks:
            return ()
        bound = float(np.log1p(self.bound)) if self.logarithms else self.bound
        far = np.abs(self.values - (0 if within_bound else np.median(self.values))) > WIDER * bound
        outlier = farthest_outlier(self.values, OUTLIER_ERROR)
        return tuple(
            seed
            for position, seed in enumerate(self.networks)
            if far[position] and (within_bound or position == outlier)
        )


def _chance_of_counts(rows: np.ndarray) -> Prior | None:
    """The spread by chance of the difference between two sides' shares, for counts as in ``rows``; None if
    every share is 0 or 1."""
    variance = 0.0
    for side in (rows[:, :2], rows[:, 2:]):
        share = side[:, 0].sum() / side[:, 1].sum()
        variance += float(np.mean(share * (1 - share) / side[:, 1]))
    return Prior(variance**0.5, COUNTS_PRIOR) if variance > 0 else None


class AnyChange(ClientClaim):
    """Clients notice that the knob has another level than the baseline's: any of the measures of
    :mod:`torsweep.stats.claims.change` shows it, higher or lower."""

    any_shows = True

    test: Literal["change"]
    kind: DownloadGroup | MeasuredKind  # type: ignore[assignment]
    """Whose downloads: a group of kinds of client, or one kind; of ``everyone`` who gets nothing."""
    metrics: Annotated[tuple[MetricName, ...], Field(min_length=1)] = ("ttfb", "ttlb")
    """Times to the first byte (``ttfb``), to the last (``ttlb``), or both."""
    statistics: Annotated[tuple[CoPrimary, ...], Field(min_length=1)] = ("paired", "mean", "p90")
    """By which statistics of times it is judged, together: how much longer the same download takes
    (``paired``), or the ``median`` where downloads are not the same; the ``mean``; the 90th percentile
    (``p90``)."""
    clock: ClockStart = OPENING
    """What starts the clock: the ``opening`` of the SOCKS connection, or the ``request``."""
    about: TimeMeasure | None = None
    """The measure that the comparison is about, which was stated before anything was seen: it has most of the
    error of the page."""
    secondary: StrictBool = False
    """Whether its downloads are few: then it has little of the error, and *no difference* of the page does
    not wait for it."""
    cannot_show: str = ""
    """Why the networks cannot show such a change, where that is known: then nothing makes no difference."""

    def questions(self, analysis: Analysis, levels: Levels) -> list[Question]:
        """Each other level against the baseline's, by each measure. Shown: the simultaneous interval excludes
        0. No difference: the 90 % interval lies within ± the bound. A change that is shown and smaller than
        the bound is shown."""
        reference = analysis.baseline[self.knob]
        ask = self._shares if self.kind == EVERYONE else self._times
        return [
            replace(question, identical=self.knob != IMPORT and self._identical(analysis, levels, between))
            for between in ((reference, other) for other in other_levels(self, analysis, reference))
            for question in ask(analysis, levels, between)
        ]

    def bound(self, statistic: CoPrimary) -> float:
        """The relative difference of ``statistic`` within which there is none."""
        return TIME_MEASURES[statistic][0 if self.kind in OF_MANY else 1]

    def _identical(self, analysis: Analysis, levels: Levels, between: tuple[str, str]) -> bool:
        streams = analysis.once(_all_downloads)
        one, other = (
            at_levels(streams, {**levels, self.knob: level}).drop(analysis.knobs).sort(PAIR)
            for level in between
        )
        return not one.is_empty() and one.equals(other)

    def _times(
        self, analysis: Analysis, levels: Levels, between: tuple[str, str]
    ) -> Iterator[MeasureQuestion]:
        downloads_of_kind = analysis.once(_GROUP_DOWNLOADS[self.kind])
        here = (analysis.provenance.engine, self.kind)
        priors = {
            each.measure: Prior(each.sd, each.networks)
            for each in analysis.spread
            if (each.engine, each.kind) == here
        }
        sides = [{**levels, self.knob: level} for level in between]
        for statistic, metric in product(self.statistics, self.metrics):
            measure = f"{statistic}_{metric}"
            if downloads_of_kind is None:
                nothing = np.full(len(analysis.provenance.seeds), np.nan)
                found = TimesBetween(nothing, nothing, tuple(analysis.provenance.seeds))
            else:
                streams, runs = downloads_of_kind
                shared = networks_of(self.knob, analysis, runs, levels, between)
                found = changes(streams, runs, metric_at(metric, self.clock), statistic, sides, shared)
            yield MeasureQuestion(
                self._statement(f"{statistic} {metric}", between, levels),
                found.logs,
                "not 0",
                other_than_0,
                lambda interval: False,
                within_factor(self.bound(statistic)),
                logarithms=True,
                reference=found.reference,
                prior=priors.get(measure),
                group=self._group(statistic, measure),
                measure=measure,
                bound=self.bound(statistic),
                networks=found.networks,
                differences_s=found.differences_s,
            )

    def _group(self, statistic: CoPrimary, measure: str) -> str:
        if measure == self.about:
            return STATED
        return SAME_DOWNLOAD if statistic in OF_MOST and not self.secondary else BESIDE

    def _shares(
        self, analysis: Analysis, levels: Levels, between: tuple[str, str]
    ) -> Iterator[MeasureQuestion]:
        seeds = [analysis.provenance.seeds] * 2
        if self.knob == IMPORT:
            seeds = [analysis.provenance.seeds_at({**levels, IMPORT: name}) for name in between]
        shared = sorted(set(seeds[0]) & set(seeds[1]))
        if len(shared) > 1 or seeds[0] == seeds[1]:
            seeds = [shared, shared]
        for name, bound in SHARE_MEASURES.items():
            if self.knob == IMPORT and name == "without_progress":
                # Not all programs whose results are imported say when a client's latest byte came.
                continue
            counts = [
                self._counts(analysis, name, {**levels, self.knob: level}, of_level)
                for level, of_level in zip(between, seeds, strict=True)
            ]
            one, two = (side[:, 0] / side[:, 1] for side in counts)
            yield MeasureQuestion(
                self._statement(name.replace("_", " "), between, levels),
                two - one if seeds[0] == seeds[1] else two,
                "not 0",
                other_than_0,
                lambda interval: False,
                within(bound),
                group=NOTHING,
                measure=name,
                bound=bound,
                networks=tuple(shared) if seeds[0] == seeds[1] else (),
                counts=(counts[0], counts[1]),
            )

    def _counts(self, analysis: Analysis, name: str, levels: Levels, seeds: Sequence[int]) -> np.ndarray:
        """Hits and total of all clients or downloads at ``levels`` for each of ``seeds``; NaN where not
        known."""
        rows, counted = (downloads, FAILED)
        if name == "without_progress":
            rows, counted = (progress_of_clients, pl.col("stalled"))
        frame = at_levels(analysis.once(rows), levels)
        each = frame.group_by("seed").agg(hits=counted.sum(), of=pl.len(), unknown=counted.null_count())
        known = {seed: (hits, of) for seed, hits, of, unknown in each.iter_rows() if not unknown}
        return np.array([known.get(seed, (np.nan, np.nan)) for seed in seeds], np.float64).reshape(-1, 2)

    def _statement(self, what: str, between: tuple[str, str], levels: Levels) -> str:
        reference, other = between
        return f"{self.kind} {what}: {other} against {reference}{place_text(self, levels)}"


def other_than_0(interval: Interval) -> bool:
    """Whether it excludes 0."""
    return above(0)(interval) or below(0)(interval)


def _of_kinds(analysis: Analysis, kinds: Sequence[MeasuredKind]) -> Analysis | None:
    """The plan with the clients of ``kinds`` alone; None where it has none."""
    tables = replace(analysis.tables, kinds=tuple(kinds))
    return None if tables.streams(["kind"]).is_empty() else replace(analysis, tables=tables, known={})


def _all_downloads(analysis: Analysis) -> pl.DataFrame:
    of_all = _of_kinds(analysis, MEASURED_KINDS)
    return pl.DataFrame(schema=[*PAIR, *analysis.knobs]) if of_all is None else measured_downloads(of_all)


def _group_downloads(
    analysis: Analysis, name: str, kinds: Sequence[MeasuredKind]
) -> tuple[pl.DataFrame, pl.DataFrame] | None:
    """The downloads of ``kinds`` as those of one kind ``name``, and the quantiles of runs."""
    own = _of_kinds(analysis, kinds)
    if own is None:
        return None
    streams, clients = (
        frame.with_columns(kind=pl.lit(name)) for frame in (measured_downloads(own), own.tables.clients())
    )
    return streams, run_quantiles(streams, analysis.knobs, clients)


_KINDS_OF: list[tuple[str, Sequence[MeasuredKind]]] = [
    *((kind, (kind,)) for kind in MEASURED_KINDS),
    *GROUPS.items(),
]
_GROUP_DOWNLOADS = {name: partial(_group_downloads, name=name, kinds=kinds) for name, kinds in _KINDS_OF}
