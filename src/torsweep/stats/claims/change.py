"""A claim that clients notice a change, by four measures together: the verdict of `torsweep compare`.

In: a plan with two levels of a knob. Out: a question for each measure of a kind of client:

- how much longer the same download takes (:mod:`torsweep.stats.streams.differences`), which most clients
  notice;
- the mean, in which a client that waits all the time counts with its wait;
- the 90th percentile of downloads;
- the share of clients without progress in the last minute, and that of downloads that failed.

The first three are of first bytes and of last bytes. Two imports have other downloads on each side, and the
median takes the place of the same download. A change is shown by each measure whose interval excludes 0;
there is no difference where every measure lies within its bound, and every network within three times that
bound: a change in a few networks, or for a few clients, keeps a claim from ending with "no difference".

All intervals of a page hold together with 95 %. Most of the error goes to the same download, which is what
shows small changes; the other measures find large changes for clients that it misses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Annotated, Final, Literal

import numpy as np
import polars as pl
from pydantic import Field

from torsweep.runsets.plan_tables import IMPORT, at_levels
from torsweep.stats.claims import ClientClaim, ClockStart, Estimand
from torsweep.stats.claims.downloads import times_between
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
from torsweep.stats.measures.downloads import FAILED, downloads, progress_of_clients
from torsweep.stats.statistic import Analysis, Levels, MetricName
from torsweep.stats.streams.incidence import OPENING, metric_at

CoPrimary = Literal["paired", "median", "mean", "p90"]

TIME_MEASURES: Final[dict[Estimand, float]] = {"paired": 0.05, "median": 0.05, "mean": 0.10, "p90": 0.20}
"""Statistics of times that a verdict may rest on, and the relative difference within which there is none:
0.05 is a factor of 1.05 either way. How far two runs differ by chance alone says what is within reach."""

OF_MOST: Final = ("paired", "median")
"""Statistics that say what most downloads notice."""

SHARE_MEASURES: Final = {"without_progress": 0.02, "failed": 0.02}
"""Shares of clients and of downloads that a verdict may rest on, and the difference within which there is
none: 0.02 is two percentage points."""

WIDER = 3
"""There is no difference only where every network is within this many times the bound."""

OUTLIER_ERROR = 0.005
"""How often the test that names a network far from the others names one where all are alike."""

SAME_DOWNLOAD, BESIDE = "same download", "beside it"
ERROR_SHARES = {SAME_DOWNLOAD: 0.8, BESIDE: 0.2}
"""How the error of a page is divided between the same download and the other measures."""


def same_download_confidence(lines: int) -> float:
    """The confidence of an interval of the same download, of ``lines`` on a page."""
    return 1 - (1 - CONFIDENCE) * ERROR_SHARES[SAME_DOWNLOAD] / lines


@dataclass(frozen=True)
class MeasureQuestion(Question):
    """A question about ``measure``, where no difference is within ``bound``.

    ``values`` are those of ``networks``, by their seeds. ``differences_s`` are in seconds. ``counts`` are
    those of a share on both sides (:func:`~torsweep.stats.inference.intervals.share_interval`), whose
    differences ``values`` are. Independent samples have no ``networks``.
    """

    measure: str = ""
    bound: float = 0.0
    networks: tuple[int, ...] = ()
    differences_s: np.ndarray | None = None
    counts: tuple[np.ndarray, np.ndarray] | None = None

    def answer(self, together: float, design: Design = FIXED) -> Answer:
        """The answer, with the networks behind it."""
        answer = super().answer(together, design)
        if self.counts is not None:
            interval = self._share(together, design)
            answer = replace(answer, interval=interval, simultaneous=interval, can_show={})
            answer = replace(answer, shows=self.shows(interval, interval))
        far_out = self._far_out(answer.shows == NO_DIFFERENCE)
        if answer.shows == NO_DIFFERENCE and far_out:
            answer = replace(answer, shows=UNCLEAR)
        changes = np.expm1(self.values) if self.logarithms else self.values
        by_network = dict(zip(self.networks, map(float, changes), strict=True)) if self.networks else {}
        seconds = np.nan if self.differences_s is None else float(np.mean(self.differences_s))
        return replace(answer, behind=Behind(self.measure, by_network, seconds, self.bound, far_out))

    def _share(self, together: float, design: Design) -> Interval:
        assert self.counts is not None
        if not self.networks:
            return share_interval(*self.counts, together, independent=True)
        return design.interval(
            np.hstack(self.counts),
            together,
            lambda rows, level: share_interval(rows[:, :2], rows[:, 2:], level),
        )

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


class AnyChange(ClientClaim):
    """Clients of a kind notice that the knob has another level than the baseline's: any of the measures of
    :mod:`torsweep.stats.claims.change` shows it, higher or lower."""

    any_shows = True

    test: Literal["change"]
    metrics: Annotated[tuple[MetricName, ...], Field(min_length=1)] = ("ttfb", "ttlb")
    """Times to the first byte (``ttfb``), to the last (``ttlb``), or both."""
    statistics: Annotated[tuple[CoPrimary, ...], Field(min_length=1)] = ("paired", "mean", "p90")
    """By which statistics of times it is judged, together: how much longer the same download takes
    (``paired``), or the ``median`` where downloads are not the same; the ``mean``; the 90th percentile
    (``p90``)."""
    clock: ClockStart = OPENING
    """What starts the clock: the ``opening`` of the SOCKS connection, or the ``request``."""
    cannot_show: str = ""
    """Why the networks cannot show such a change, where that is known: then nothing makes no difference."""

    def questions(self, analysis: Analysis, levels: Levels) -> list[Question]:
        """Each other level against the baseline's, by each measure. Shown: the simultaneous interval excludes
        0. No difference: it lies within ± the bound. A change that is shown and smaller than the bound is
        shown."""
        reference = analysis.baseline[self.knob]
        return [
            question
            for other in other_levels(self, analysis, reference)
            for part in (self._times, self._shares)
            for question in part(analysis, levels, (reference, other))
        ]

    def _times(self, analysis: Analysis, levels: Levels, between: tuple[str, str]) -> Iterator[Question]:
        for statistic, metric in product(self.statistics, self.metrics):
            group = SAME_DOWNLOAD if statistic in OF_MOST else BESIDE
            found = times_between(self, analysis, metric_at(metric, self.clock), statistic, levels, between)
            yield MeasureQuestion(
                self._statement(f"{statistic} {metric}", between, levels),
                found.logs,
                "not 0",
                other_than_0,
                lambda interval: False,
                within_factor(TIME_MEASURES[statistic]),
                logarithms=True,
                reference=found.reference,
                group=group,
                error_share=ERROR_SHARES[group],
                measure=f"{statistic}_{metric}",
                bound=TIME_MEASURES[statistic],
                networks=found.networks,
                differences_s=found.differences_s,
            )

    def _shares(self, analysis: Analysis, levels: Levels, between: tuple[str, str]) -> Iterator[Question]:
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
                group=BESIDE,
                error_share=ERROR_SHARES[BESIDE],
                measure=name,
                bound=bound,
                networks=tuple(shared) if seeds[0] == seeds[1] else (),
                counts=(counts[0], counts[1]),
            )

    def _counts(self, analysis: Analysis, name: str, levels: Levels, seeds: Sequence[int]) -> np.ndarray:
        """Hits and total of clients or downloads at ``levels`` for each of ``seeds``; NaN where not known."""
        rows, counted = {
            "without_progress": (progress_of_clients, pl.col("stalled")),
            "failed": (downloads, FAILED),
        }[name]
        frame = at_levels(analysis.once(rows).filter(group=self.kind), levels)
        each = frame.group_by("seed").agg(hits=counted.sum(), of=pl.len(), unknown=counted.null_count())
        known = {seed: (hits, of) for seed, hits, of, unknown in each.iter_rows() if not unknown}
        return np.array([known.get(seed, (np.nan, np.nan)) for seed in seeds], np.float64).reshape(-1, 2)

    def _statement(self, what: str, between: tuple[str, str], levels: Levels) -> str:
        reference, other = between
        return f"{self.kind} {what}: {other} against {reference}{place_text(self, levels)}"


def other_than_0(interval: Interval) -> bool:
    """Whether it excludes 0."""
    return above(0)(interval) or below(0)(interval)
