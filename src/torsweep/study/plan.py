"""What a comparison will take, before it starts: ``--dry-run``.

In: a study and how it is to be played. Out: builds, runs, hours, memory, and the smallest change that so many
networks can be expected to show, as lines of text. Nothing is written.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from torsweep.config.experiment import Experiment
from torsweep.config.replicates import AUTO
from torsweep.engines.selection import find_engine
from torsweep.provenance import PROVENANCE_FILE
from torsweep.stats.claims.downloads import AnyChange
from torsweep.stats.inference.planning import POWER, Spread, basis, spread_of
from torsweep.study.builds import standing_build
from torsweep.study.play import Play
from torsweep.study.verdict import MEASURES
from torsweep.units import rounded_duration

GIB = 2**30

BUILD_S = 240
"""A build of tor on two cores, its source at hand; docs/how-to/build-tor.md."""


@dataclass(frozen=True)
class Plan:
    """What is there and what is missing: ``builds`` by name, with whether each stands; numbers of runs.

    ``seconds`` is for what is missing, ``memory_bytes`` for the runs that go on at the same time.
    """

    builds: dict[str, bool]
    networks: int
    runs: int
    finished: int
    seconds: float
    memory_bytes: int
    at_once: int


def plan_of(play: Play, experiment: Experiment) -> Plan:
    """The plan of ``experiment`` as ``play`` plays it."""
    networks = experiment.interim[0] if experiment.replicates == AUTO else len(experiment.seeds)
    variants = experiment.plan().variants
    runs = [
        play.study.folder / play.plan.run_directory(variant, seed) / PROVENANCE_FILE
        for variant in variants
        for seed in experiment.seeds_of(networks)
    ]
    finished = sum(run.is_file() for run in runs)
    engine, network = find_engine(play.engine), play.study.network()
    at_once = 1 if engine.real_time else min(play.cores, len(runs))
    run_s = engine.run_seconds(network, (experiment.warm_up + experiment.measured) / 1e9)
    builds = dict(_builds(play))
    missing = sum(not stands for stands in builds.values())
    seconds = missing * BUILD_S + run_s * math.ceil((len(runs) - finished) / at_once)
    memory = at_once * engine.demand(network).memory_bytes
    return Plan(builds, networks, len(runs), finished, seconds, memory, at_once)


def _builds(play: Play) -> Iterator[tuple[str, bool]]:
    """Each tor of the comparison, and whether its build stands."""
    for name, tor in play.study.builds.items():
        yield name, standing_build(play.study, tor) is not None


def plan_lines(play: Play, experiment: Experiment, why: str) -> Iterator[str]:
    """The plan as lines for a terminal; ``why`` says why this engine plays it."""
    plan = plan_of(play, experiment)
    yield f"study     {play.study.folder}"
    yield f"engine    {play.engine}, network {experiment.network}: {why}"
    standing = (f"{name} {'stands' if stands else 'to be built'}" for name, stands in plan.builds.items())
    yield f"builds    {', '.join(standing)}"
    given = play.study.given
    over = f"2 on each of {plan.networks} networks"
    if given is not None:
        over = f"2 for each of {given.over(plan.networks)}"
    yield f"runs      {plan.runs} ({over}), {plan.finished} of them finished"
    if experiment.replicates == AUTO:
        most = experiment.precision.networks
        yield f"          and more networks, up to {most}, until each measure is decided"
    slots = "one run at a time" if plan.at_once == 1 else f"{plan.at_once} runs at a time"
    left = f"about {rounded_duration(plan.seconds)}" if plan.seconds else "nothing is missing"
    yield f"time      {left}, {slots}"
    yield f"memory    {plan.memory_bytes / GIB:.1f} GiB"
    yield from expected_lines(experiment, play.engine, plan.networks)


def expected_lines(experiment: Experiment, engine: str, networks: int) -> Iterator[str]:
    """The smallest changes that so many networks can be expected to show, and what runs say so."""
    era, pairing = experiment.era, experiment.pairing
    told, reasons = [], []
    for claim in (each for each in experiment.claims if isinstance(each, AnyChange)):
        for metric in claim.metrics:
            row = spread_of(experiment.network, engine, claim.kind, metric, era=era, pairing=pairing)
            if row is not None and networks > 1:
                size = row.smallest_change(networks, len(claim.metrics))
                least = f"about {100 * size:.0f} %" if size < 1 else "more than 100 %"
                told.append(f"{least} ({claim.kind}, {MEASURES[metric]})")
                reasons.append(f"{basis(row, engine, pairing)}{_other_time(row, experiment)}")
    if not told:
        one = (
            "one network has no interval" if networks < 2 else f"no pairs of runs on {experiment.network} yet"
        )
        yield f"shows     unknown: {one}"
        return
    yield f"shows     changes from {', '.join(told)}, with a chance of {100 * POWER:.0f} %"
    yield from (f"          {reason}" for reason in dict.fromkeys(reasons))


def _other_time(row: Spread, experiment: Experiment) -> str:
    """That the runs of ``row`` measured for another time than those of ``experiment``, where they did."""
    asked_s = experiment.measured / 1e9
    if row.measured_s == asked_s:
        return ""
    theirs, ours = rounded_duration(row.measured_s), rounded_duration(asked_s)
    return f"; they measured for {theirs}, these will measure for {ours}: more time shows smaller changes"
