"""What a comparison will take, before it starts: ``--dry-run``.

In: a study and how it is to be played. Out: builds, runs, hours, memory, and the changes that so many
networks can be expected to show, as lines of text. Nothing is written.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from torsweep.config.experiment import Experiment
from torsweep.config.replicates import AUTO
from torsweep.config.traffic import KIND_NAMES
from torsweep.pipeline.costs import BUILD_S, Costs, Slots
from torsweep.provenance import PROVENANCE_FILE
from torsweep.stats.claims.claim import claims_of
from torsweep.stats.claims.downloads import AnyChange
from torsweep.stats.inference.interim import Design
from torsweep.stats.inference.intervals import CONFIDENCE, bonferroni
from torsweep.stats.inference.planning import Spread, basis, spread_of
from torsweep.stats.inference.power import MULTIPLES, POWER, shown_by, size_text
from torsweep.study.build_copies import standing_build
from torsweep.study.play import Play
from torsweep.study.verdict import SHOWN_TIMES
from torsweep.units import rounded_duration

ARTI_BUILD_S = 480
"""A build of Arti on two cores: 12 minutes of processor time, the end of it on one core."""


@dataclass(frozen=True)
class Workload:
    """What stands and what is missing: ``builds`` by name, with whether each stands; numbers of runs.

    ``seconds`` is for what is missing, ``costs`` are those of all runs.
    """

    builds: dict[str, bool]
    networks: int
    runs: int
    finished: int
    seconds: float
    costs: Costs


def workload(play: Play, experiment: Experiment) -> Workload:
    """The work of ``experiment`` as ``play`` plays it."""
    networks = experiment.interim[0] if experiment.replicates == AUTO else len(experiment.seeds)
    runs = [
        play.study.folder / play.plan.run_directory(variant, seed) / PROVENANCE_FILE
        for variant in experiment.plan().variants
        for seed in experiment.seeds_of(networks)
    ]
    finished = sum(run.is_file() for run in runs)
    network = play.study.network()
    run_s, slots = (experiment.warm_up + experiment.measured) / 1e9, Slots(play.cores)
    costs = Costs.of(play.engine, [network] * len(runs), run_s, slots)
    left = [network] * (len(runs) - finished)
    left_s = Costs.of(play.engine, left, run_s, slots).seconds if left else 0
    builds = {name: standing_build(play.study, tor) is not None for name, tor in play.study.builds.items()}
    missing = (tor for name, tor in play.study.builds.items() if not builds[name])
    build_s = sum(ARTI_BUILD_S if tor.arti else BUILD_S for tor in missing)
    return Workload(builds, networks, len(runs), finished, build_s + left_s, costs)


def plan_lines(play: Play, experiment: Experiment, why: str) -> Iterator[str]:
    """The plan as lines for a terminal; ``why`` says why this engine plays it."""
    work, tornets = workload(play, experiment), play.study.tornets
    yield f"study     {play.study.folder}"
    yield f"engine    {play.engine}, network {experiment.network}: {why}"
    standing = (f"{name} {'stands' if stands else 'to be built'}" for name, stands in work.builds.items())
    yield f"builds    {', '.join(standing)}"
    each = f"on each of {work.networks} networks"
    each = each if tornets is None else f"for each of {tornets.over(work.networks)}"
    yield f"runs      {work.runs} (2 {each}), {work.finished} of them finished"
    if experiment.replicates == AUTO:
        most = experiment.precision.networks
        yield f"          and more networks, up to {most}, until each measure is decided"
    slots = "one run at a time" if work.costs.at_once == 1 else f"{work.costs.at_once} runs at a time"
    left = f"about {rounded_duration(work.seconds)}" if work.seconds else "nothing is missing"
    yield f"time      {left}, {slots}"
    yield f"takes     {work.costs.room}"
    yield from expected_lines(experiment, play.engine, work.networks)


def expected_lines(experiment: Experiment, engine: str, networks: int) -> Iterator[str]:
    """The changes that so many networks can be expected to show, and that more can, and what runs say so."""
    claims = [claim for claim in claims_of(experiment) if isinstance(claim, AnyChange)]
    each = bonferroni(CONFIDENCE, sum(len(claim.metrics) for claim in claims))
    confidences = _confidences(experiment, networks, each)
    era, pairing = experiment.era, experiment.pairing
    sizes, reasons = [], []
    for claim, metric in [(each, metric) for each in claims for metric in each.metrics]:
        row = spread_of(experiment.network, engine, claim.kind, metric, era=era, pairing=pairing)
        changes = {} if row is None else shown_by(row.log_ratio_sd, confidences)
        if row is not None and changes:
            texts = (size_text(math.expm1(size)) for size in changes.values())
            sizes.append(f"{KIND_NAMES[claim.kind]}, {SHOWN_TIMES[metric]}: {', '.join(texts)}")
            reasons.append(f"{basis(row, engine, pairing)}{_other_time(row, experiment)}")
    alone = networks < 2
    if alone or not sizes:
        reason = "one network has no interval" if alone else f"no pairs of runs on {experiment.network} yet"
        yield f"shows     unknown: {reason}"
        return
    numbers = ", ".join(str(number) for number in confidences if number > 1)
    yield f"shows     with a chance of {100 * POWER:.0f} %, by {numbers} networks, changes of"
    yield from (f"          {line}" for line in [*sizes, *dict.fromkeys(reasons)])


def _confidences(experiment: Experiment, networks: int, each: float) -> dict[int, float]:
    """The confidence of an interval by the number of networks: the planned ones, or the next look."""
    if experiment.interim:
        design = Design.of(experiment)
        return {number: design.confidence_at(number, each) for number in experiment.interim[::2]}
    looks = {number: share for number, share in experiment.precision.looks.items() if number < networks}
    design = Design(tuple(looks), tuple(looks.values()))
    numbers = [networks * multiple for multiple in MULTIPLES]
    return {number: design.look(number).confidence_at(number, each) for number in numbers}


def _other_time(row: Spread, experiment: Experiment) -> str:
    """That the runs of ``row`` measured for another time than those of ``experiment``, where they did."""
    measured_s = experiment.measured / 1e9
    if row.measured_s == measured_s:
        return ""
    theirs, ours = rounded_duration(row.measured_s), rounded_duration(measured_s)
    return f"; they measured for {theirs}, these will measure for {ours}: more time shows smaller changes"
