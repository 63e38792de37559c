"""What a comparison will take, before it starts (``--dry-run``), and the builds of tor that it shares.

In: a study and how it is to be run. Out: lines of text: builds, runs, hours, memory, and the changes that so
many networks can be expected to show. A study shares the builds of the working directory by a link, so that
both sides of a comparison are of one release of Debian's source.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from statistics import median

from torsweep.config.experiment import Experiment
from torsweep.config.network import NetworkConfig
from torsweep.config.tors import TorSource
from torsweep.engines import run_settings
from torsweep.errors import ToolMissing
from torsweep.pipeline.costs import UNCHECKED, Costs, Slots, build_seconds, timed_here, took_text
from torsweep.provenance import PROVENANCE_FILE
from torsweep.stats.claims import claims_of
from torsweep.stats.claims.change import EVERYONE, AnyChange, same_download_confidence
from torsweep.stats.comparison_rows import BYTES, short_name
from torsweep.stats.inference.interim import Design
from torsweep.stats.inference.moderation import Prior
from torsweep.stats.inference.planning import (
    POWER,
    Spread,
    basis,
    read_spreads,
    size_text,
    smallest_shown,
    spread_of,
    spreads_of,
)
from torsweep.storage.folders import TOOLS_FOLDER, own_folder
from torsweep.study.document import Study
from torsweep.study.named_tor import DEBIANS_TOR
from torsweep.study.play import Play
from torsweep.study.sight import blind_line
from torsweep.tor import TOOLS, builds
from torsweep.tor.build import planned_key, require_buildable
from torsweep.tor.builds import BuiltTor, marker_name
from torsweep.units import SECOND_NS, counted, rounded_duration


def standing_build(study: Study, tor: TorSource) -> BuiltTor | None:
    """The build of ``tor`` that the study has, or will share; None without one."""
    tools = study.folder / TOOLS if (study.folder / TOOLS).exists() else TOOLS
    return builds.standing_build(tools / marker_name(planned_key(tor)))


def share_builds(study: Study) -> None:
    """Link the working directory's builds into the study, unless it has a folder of its own for them."""
    place = study.folder / TOOLS
    if place.exists():
        return
    own_folder(TOOLS, TOOLS_FOLDER)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)  # A link that leads nowhere: the study has been moved.
    place.symlink_to(os.path.relpath(TOOLS.resolve(), place.parent.resolve()), target_is_directory=True)


def require_options(study: Study, experiment: Experiment) -> None:
    """Raise InputError, in tor's own words, for options that a finished build does not take."""
    standing = [standing_build(study, tor) for tor in study.builds.values()]
    programs = [built.program for built in standing if built is not None and not built.is_arti]
    run_settings.require_options(programs, experiment)


SIDES = 2
"""Runs on each network."""

Measure = tuple[str, str]
"""A group of downloads, and ``ttfb`` or ``ttlb``."""


def measure_name(kind: str, metric: str) -> str:
    """``5 MiB, last byte``."""
    return f"{short_name(kind)}, {BYTES[metric]}"


MOST_PROMISED = 1.0
"""Relative changes above this are no promise: twice as long."""


@dataclass(frozen=True)
class Workload:
    """How ``play`` would go with any number of networks: its time, and the changes that it can show."""

    play: Play

    @cached_property
    def experiment(self) -> Experiment:
        """The study's experiment."""
        return self.play.study.experiment()

    @cached_property
    def network(self) -> NetworkConfig:
        """The configuration of its networks."""
        return self.play.study.network()

    @property
    def blind(self) -> str:
        """What its networks cannot show."""
        return blind_line(self.experiment.network, self.network.relay_count)

    @cached_property
    def missing(self) -> dict[str, TorSource]:
        """What is still to be built, by name."""
        study = self.play.study
        return {name: tor for name, tor in study.builds.items() if standing_build(study, tor) is None}

    def costs(self, runs: int) -> Costs:
        """The expected costs of ``runs`` runs, one or more."""
        run_s = self.experiment.duration_ns / SECOND_NS
        return Costs.of(self.play.engine, [(self.network, runs)], run_s, Slots(self.play.cores))

    @cached_property
    def timed(self) -> list[float]:
        """How long the latest runs on this network took here, as parts of the reckoned time."""
        return timed_here(self.play.engine, self.experiment.network, self.network, self.play.study.folder)

    def seconds(self, networks: int, finished: int = 0) -> float:
        """The time that builds, and the runs on so many networks that are not ``finished``, take."""
        left = SIDES * networks - finished
        share = median(self.timed) if self.timed else 1
        return build_seconds(self.missing.values()) + (share * self.costs(left).seconds if left else 0)

    @cached_property
    def _claims(self) -> list[AnyChange]:
        """The claims on times of the kinds of download that are frequent."""
        asked = (claim for claim in claims_of(self.experiment) if isinstance(claim, AnyChange))
        return [claim for claim in asked if claim.kind != EVERYONE and not claim.secondary]

    @cached_property
    def about(self) -> Measure | None:
        """The measure that the comparison is about, where one was stated."""
        of_claims = ((claim.kind, claim.about) for claim in self._claims if claim.about)
        return next(((kind, about.partition("_")[2]) for kind, about in of_claims), None)

    @cached_property
    def _spreads(self) -> dict[Measure, list[Spread]]:
        """What is known of the same download, for each measured time; first of the measure it is about."""
        asked, engine, rows = self.experiment, self.play.engine, read_spreads()
        where = {"era": asked.era, "pairing": asked.pairing}
        spreads = {
            (claim.kind, metric): spreads_of(
                rows, asked.network, engine, claim.kind, f"paired_{metric}", **where
            )
            for claim in self._claims
            for metric in claim.metrics
        }
        return dict(sorted(spreads.items(), key=lambda item: item[0] != self.about))

    @cached_property
    def _long_enough(self) -> dict[Measure, list[Spread]]:
        """The spreads without measures for which too few downloads got there in the A/A runs of the measured
        time, or of a shorter one."""
        measured_s = self.experiment.measured / SECOND_NS
        every = [row for rows in self._spreads.values() for row in rows]
        short = {(row.engine, row.network, row.pairing) for row in every if row.measured_s <= measured_s}
        return {
            measure: rows
            for measure, rows in self._spreads.items()
            if any(row.measured_s <= measured_s for row in rows)
            or not any((row.engine, row.network, row.pairing) in short for row in rows)
        }

    @cached_property
    def known_times_s(self) -> list[int]:
        """The measured times, in seconds, for which the spread between two runs is known."""
        return sorted({row.measured_s for rows in self._spreads.values() for row in rows})

    def shown(self, networks: int) -> dict[Measure, tuple[float, Spread]]:
        """The relative change that so many networks are expected to show, and the row of the spread behind
        it, by measure; those without a known spread are left out."""
        measured_s = self.experiment.measured / SECOND_NS
        rows = {measure: spread_of(by_time, measured_s) for measure, by_time in self._long_enough.items()}
        priors: dict[tuple[str, str], float] = {
            (each.kind, each.measure): Prior(each.sd, each.networks).freedom
            for each in self.experiment.precision.spread
            if each.engine == self.play.engine
        }
        shown = {}
        for (kind, metric), row in rows.items():
            if row is not None and networks > 1:
                prior = priors.get((kind, f"paired_{metric}"), 0.0)
                confidence = self._confidence(networks, (kind, metric))
                size = smallest_shown(row.log_ratio_sd, networks, confidence, row.networks, prior=prior)
                shown[kind, metric] = (math.expm1(size), row)
        return shown

    @property
    def too_short(self) -> list[str]:
        """The measures for which the measured time is too short."""
        left_out = [measure for measure in self._spreads if measure not in self._long_enough]
        return [measure_name(*measure) for measure in left_out]

    def smallest_shown(self, networks: int) -> float | None:
        """The change that so many networks show of what the comparison is about; else in every time of the
        first kind of clients, web clients in most networks; None where nothing is known of them."""
        sizes = (
            size
            for measure, (size, _) in self.shown(networks).items()
            if (measure == self.about if self.about else measure[0] == self._claims[0].kind)
        )
        return max(sizes, default=None)

    def _confidence(self, networks: int, measure: Measure) -> float:
        """The confidence of an interval at the next look."""
        looks = {many: share for many, share in self.experiment.precision.looks.items() if many < networks}
        stated = None if self.about is None else measure == self.about
        each = same_download_confidence(len(self._spreads), stated)
        design = Design(tuple(looks), tuple(looks.values()))
        return design.look(networks).confidence_at(networks, each)


def plan_lines(plan: Workload, why: str) -> Iterator[str]:
    """The plan as lines for a terminal; ``why`` says why this engine plays it."""
    play, experiment, tornets = plan.play, plan.experiment, plan.play.study.tornets
    networks = len(experiment.seeds)
    yield f"study     {play.study.folder}"
    yield f"engine    {play.engine}, network {experiment.network}: {why}"
    names = {DEBIANS_TOR.name: DEBIANS_TOR.words}
    builds = ", ".join(
        f"{names.get(name, name)} {'to be built' if name in plan.missing else 'is built'}"
        for name in play.study.builds
    )
    yield f"builds    {builds}{_unbuilt(plan)}"
    each = f"on each of {networks} networks" if tornets is None else f"for each of {tornets.over(networks)}"
    runs, finished = SIDES * networks, _finished(play, experiment)
    measured = rounded_duration(experiment.measured / SECOND_NS)
    yield f"runs      {runs} ({SIDES} {each}), {measured} measured, {finished} of them finished"
    costs, seconds = plan.costs(runs), plan.seconds(networks, finished)
    slots = "one run at a time" if costs.at_once == 1 else f"{costs.at_once} runs at a time"
    left = f"about {rounded_duration(seconds)}" if seconds else "nothing is missing"
    yield f"time      {left}, {slots}{took_text(plan.timed)}; {costs.room(play.study.folder)}"
    yield from expected_lines(plan, networks)
    if plan.blind:
        yield f"blind to  {plan.blind}"


def _unbuilt(plan: Workload) -> str:
    """What builds need that is not here; else what they will show."""
    try:
        require_buildable(plan.missing.values())
    except ToolMissing as lack:
        return f"; missing: {lack}"
    return f"; {UNCHECKED}" if plan.missing else ""


def _finished(play: Play, experiment: Experiment) -> int:
    """How many runs of ``experiment`` are complete."""
    runs = (
        play.study.folder / play.plan.run_directory(variant, seed) / PROVENANCE_FILE
        for variant in experiment.plan().variants
        for seed in experiment.seeds
    )
    return sum(run.is_file() for run in runs)


def expected_lines(plan: Workload, networks: int) -> Iterator[str]:
    """The changes that so many networks can be expected to show, and what runs say so."""
    shown = plan.shown(networks)
    if not shown:
        nobody = f"no A/A runs on {plan.experiment.network} yet"
        yield f"shows     unknown: {'one network has no interval' if networks < 2 else nobody}"
        return
    sizes = ", ".join(f"{size_text(size)} ({measure_name(*measure)})" for measure, (size, _) in shown.items())
    if all(size > MOST_PROMISED for size, _ in shown.values()):
        yield f"shows     a change may be shown, but none is promised by {counted(networks, 'network')}"
        return
    yield f"shows     with a chance of {100 * POWER:.0f} %, changes of {sizes}"
    _, row = next(iter(shown.values()))
    why = basis(row, plan.play.engine, plan.experiment.pairing) + _other_time(row, plan.experiment)
    if left_out := plan.too_short:
        why += f"; too few downloads get there to say anything of {'; '.join(left_out)}"
    yield f"          {why}"


def _other_time(row: Spread, experiment: Experiment) -> str:
    """A remark if the runs of ``row`` measured for another time than those of ``experiment``; else empty."""
    measured_s = experiment.measured / SECOND_NS
    if row.measured_s == measured_s:
        return ""
    theirs, ours = rounded_duration(row.measured_s), rounded_duration(measured_s)
    return f"; they measured for {theirs}, these for {ours}: a longer time shows smaller changes"
