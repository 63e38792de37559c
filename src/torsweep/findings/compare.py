"""Claims and contrasts under each transport.

In: the runs of a plan by transport. Out: a :class:`~torsweep.stats.findings_file.FindingsFile`.

A claim is judged as in any summary (:mod:`torsweep.stats.claims.judging`), on the networks that every variant
of the plan has run on under the transport; where there is none, it has not been run. A contrast takes the
networks that both of its variants have run on: the mean of the logarithms of the ratios of their medians
within each network, with a t-interval. An interval within ± the experiment's margin shows that there is no
difference. Otherwise, an interval above 1 shows that times are longer, and one below 1 that they are shorter.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from torsweep.config.experiment import Experiment, Plan
from torsweep.config.knobs import KNOBS
from torsweep.config.traffic import KINDS
from torsweep.config.variant import one_knob_apart
from torsweep.engines.table_schema import STREAMS
from torsweep.findings.transports import TransportRuns, network_sha256
from torsweep.stats.claims.judging import NO_DIFFERENCE, Verdict, inquiries
from torsweep.stats.findings_file import (
    LONGER,
    NOT_RUN,
    SHORTER,
    UNCLEAR,
    ClaimUnderTransports,
    ContrastUnderTransports,
    FindingsFile,
    TransportColumn,
    TransportContrast,
    TransportVerdict,
    together,
)
from torsweep.stats.inference.interim import FIXED, Design
from torsweep.stats.inference.intervals import Interval, t_interval
from torsweep.stats.streams.differences import paired
from torsweep.stats.streams.incidence import STREAM_COLUMNS
from torsweep.stats.streams.medians import run_quantiles
from torsweep.stats.summarize import analyse
from torsweep.stats.text import SHOWN_METRICS
from torsweep.tables.collect import collect, read_table
from torsweep.tables.reading import PlanTables

_NETWORKS = "network_sha256"


def findings(experiment: Experiment, plan: Plan, found: Sequence[TransportRuns]) -> FindingsFile:
    """What ``plan`` says under each of the transports ``found``."""
    return FindingsFile(
        experiment=experiment.name,
        era=experiment.era,
        plan=plan.name,
        margin=experiment.precision.margin,
        baseline=dict(plan.baseline.levels),
        transports=tuple(_column(one) for one in found),
        claims=_claims(experiment, plan, found),
        contrasts=_contrasts(experiment, plan, found),
    )


def _column(runs: TransportRuns) -> TransportColumn:
    first = runs.runs[0].run
    return TransportColumn(
        transport=runs.name,
        engine=first.spec.engine,
        engine_version=str(first.provenance["engine_version"]),
        queue=runs.queue,
        network=runs.network,
        seeds=runs.seeds,
        networks=dict(network_sha256(runs)),
        warm_up_ns=first.spec.warm_up_ns,
        duration_ns=first.spec.duration_ns,
        runs=len(runs.runs),
        left_out=runs.left_out,
    )


def _claims(
    experiment: Experiment, plan: Plan, found: Sequence[TransportRuns]
) -> tuple[ClaimUnderTransports, ...]:
    if not experiment.claims:
        return ()
    judged = [_verdicts(experiment, plan, one) for one in found]
    settings = next((list(own) for _, own in judged if own), [])
    claims = []
    for claim, setting in settings:
        verdicts = tuple(
            _of_transport(one, seeds, own.get((claim, setting)), len(plan.variants))
            for one, (seeds, own) in zip(found, judged, strict=True)
        )
        text = next(each.text for each in experiment.claims if each.id == claim)
        said = together([each.verdict for each in verdicts])
        claims.append(
            ClaimUnderTransports(claim=claim, text=text, setting=setting, verdicts=verdicts, together=said)
        )
    return tuple(claims)


def _of_transport(
    runs: TransportRuns, seeds: Sequence[int], verdict: Verdict | None, variants: int
) -> TransportVerdict:
    if verdict is None:
        here = len({planned.variant.key for planned in runs.runs})
        reason = f"no network has all {variants} variants; {here} have run on some"
        return TransportVerdict(transport=runs.name, verdict=NOT_RUN, reason=reason, networks=0)
    return TransportVerdict(
        transport=runs.name, verdict=verdict.verdict, reason=verdict.reason, networks=len(seeds)
    )


def _verdicts(
    experiment: Experiment, plan: Plan, runs: TransportRuns
) -> tuple[list[int], dict[tuple[str, str], Verdict]]:
    """The seeds of the networks that every variant has run on, and the verdicts from these, by claim and
    setting; none without such a network."""
    seeds = _whole_networks(plan, runs)
    verdicts: dict[tuple[str, str], Verdict] = {}
    by_levels: dict[tuple[tuple[str, str], ...], list[Path]] = {}
    for planned in runs.runs:
        if planned.run.spec.seed in seeds:
            by_levels.setdefault(planned.more, []).append(planned.run.directory)
    if len(by_levels) != 1:
        return [], verdicts
    ((more, directories),) = by_levels.items()
    held, fixed = _holding(experiment, plan, dict(more)), {f"{knob}={level}" for knob, level in more}
    design = Design(experiment.looks) if len(seeds) in experiment.looks else FIXED
    with tempfile.TemporaryDirectory(prefix="torsweep-findings-") as scratch:
        tables = Path(scratch, "tables")
        collect(directories, tables, network=runs.network, plan=plan.name)
        opened = PlanTables.open(tables)
        for inquiry in inquiries(analyse(opened, held)):
            parts = (part for part in inquiry.setting.split(", ") if part not in fixed)
            setting = ", ".join(parts)
            verdicts[inquiry.claim.id, setting] = inquiry.verdict(design)
    return seeds, verdicts


def _holding(experiment: Experiment, plan: Plan, more: Mapping[str, str]) -> Experiment:
    """The experiment whose ``plan`` has the knobs ``more`` at one level each, after its own."""
    levels = {knob: (level,) for knob, level in more.items()}
    if plan.name in experiment.sensitivities:
        changed = {**experiment.sensitivities[plan.name], **levels}
        return experiment.model_copy(
            update={"sensitivities": {**experiment.sensitivities, plan.name: changed}}
        )
    knobs, baseline = {**experiment.knobs, **levels}, {**experiment.baseline, **more}
    return experiment.model_copy(update={"knobs": knobs, "baseline": baseline})


def _whole_networks(plan: Plan, runs: TransportRuns) -> list[int]:
    """The seeds that every variant has run with, each on one network but for knobs that change it."""
    there: dict[int, dict[str, str]] = {}
    for planned in runs.runs:
        there.setdefault(planned.run.spec.seed, {})[planned.variant.key] = planned.run.spec.network_sha256
    levels = {variant.key: tuple(variant.network_levels.items()) for variant in plan.variants}

    def is_whole(hashes: Mapping[str, str]) -> bool:
        if hashes.keys() != levels.keys():
            return False
        networks = {(levels[key], sha256) for key, sha256 in hashes.items()}
        return len(networks) == len(set(levels.values()))

    return sorted(seed for seed, hashes in there.items() if is_whole(hashes))


def _contrasts(
    experiment: Experiment, plan: Plan, found: Sequence[TransportRuns]
) -> tuple[ContrastUnderTransports, ...]:
    quantiles = [_quantiles(one, list(plan.knobs)) for one in found]
    pairs = one_knob_apart([dict(variant.levels) for variant in plan.variants])
    varying = {knob for knob, levels in plan.knobs.items() if len(levels) > 1}
    contrasts = []
    for kind in (kind for kind in KINDS if kind in experiment.traffic.kinds):
        for metric in SHOWN_METRICS:
            chosen = [runs.filter(pl.col("metric") == metric, pl.col("kind") == kind) for runs in quantiles]
            for one, other, knob in pairs:
                values = tuple(
                    _contrast(runs.name, section, (one, other, knob), experiment.precision.margin)
                    for runs, section in zip(found, chosen, strict=True)
                )
                if any(value.ratio is not None for value in values):
                    at = [level for name, level in one.items() if name in varying and name != knob]
                    contrasts.append(_row(kind, metric, (one, other, knob), at, values))
    return tuple(contrasts)


_Pair = tuple[Mapping[str, str], Mapping[str, str], str]


def _row(
    kind: str, metric: str, pair: _Pair, at: Sequence[str], values: tuple[TransportContrast, ...]
) -> ContrastUnderTransports:
    one, other, knob = pair
    return ContrastUnderTransports(
        kind=kind,
        metric=metric,
        knob=knob,
        at=", ".join(at),
        from_level=one[knob],
        to_level=other[knob],
        values=values,
        together=together([value.shows for value in values]),
    )


def _quantiles(runs: TransportRuns, knobs: Sequence[str]) -> pl.DataFrame:
    """The quantiles of every run, with its network's hash."""
    frames, networks = [], []
    for planned in runs.runs:
        spec = planned.run.spec
        # open_run has compared the checksums.
        frame = read_table(planned.run.directory, STREAMS, trusted=True)
        measured = frame.filter(pl.col("start_us") >= spec.warm_up_ns // 1000, pl.col("kind").is_in(KINDS))
        keys = {"seed": spec.seed, **dict(planned.variant.levels)}
        named = [pl.lit(value).alias(name) for name, value in keys.items()]
        frames.append(measured.select(*named, *STREAM_COLUMNS))
        networks.append({**keys, _NETWORKS: spec.network_sha256})
    by = ["seed", *knobs]
    all_runs = run_quantiles(pl.concat(frames).with_columns(pl.col("seed").cast(pl.Int64)), knobs)
    return all_runs.join(pl.DataFrame(networks), on=by, how="left", maintain_order="left")


def _contrast(name: str, section: pl.DataFrame, pair: _Pair, margin: float) -> TransportContrast:
    one, other, knob = pair
    sides = [section.filter(*(pl.col(key) == level for key, level in side.items())) for side in (one, other)]
    on = ["seed"] if KNOBS[knob].target == "network" else ["seed", _NETWORKS]
    shared = sides[0].join(sides[1], on=on, how="semi")["seed"].unique().sort()
    if shared.is_empty():
        return TransportContrast(transport=name, networks=0, ratio=None, low=None, high=None, shows=UNCLEAR)
    interval = t_interval(paired(section, "median_s", one, other, shared).log_ratio)
    ratio, low, high = (
        float(np.exp(bound)) if np.isfinite(bound) else None
        for bound in (interval.mean, interval.low, interval.high)
    )
    shows = _shows(interval, margin)
    return TransportContrast(
        transport=name, networks=len(shared), ratio=ratio, low=low, high=high, shows=shows
    )


def _shows(interval: Interval, margin: float) -> str:
    if not interval.known:
        return UNCLEAR
    if np.expm1(interval.low) > -margin and np.expm1(interval.high) < margin:
        return NO_DIFFERENCE
    if interval.low > 0:
        return LONGER
    return SHORTER if interval.high < 0 else UNCLEAR
