"""The runs of a plan by what carried their bytes: the model's TCPs, Shadow's kinds, an emulation's kernel.

In: the tree of results, an experiment and one of its plans. Out: a :class:`TransportRuns` for each transport
that has finished runs. Runs are told apart by what their run.json says, not by their folder: the runs of
``main`` are of the usual TCP, those whose variant goes on with ``+tcp=shadow`` are of another, and a run of
an older version may have had another usual one.

Left out, and counted, are runs that the experiment would not make today (another traffic, other settings of
tor) or that this version cannot read; and of what is left, all but the largest group of one version of the
engine and one duration.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from torsweep.config.experiment import Experiment, Plan
from torsweep.config.knobs import KNOBS
from torsweep.config.tor_settings import Droptail
from torsweep.config.variant import JOINED_BY, Variant
from torsweep.engines.prepare import run_settings
from torsweep.engines.run_spec import RunSpec
from torsweep.engines.selection import MODEL_ENGINE, RUN_ENGINES
from torsweep.errors import InputError
from torsweep.pipeline.paths import RESULTS, network_key, parse_network_key
from torsweep.provenance import PROVENANCE_FILE
from torsweep.tables.collect import Run, open_run

TRANSPORT = "transport"
"""The target of the knobs that choose a transport of the model."""

_ORDER = (f"{MODEL_ENGINE}, tcp=linux", f"{MODEL_ENGINE}, tcp=linux_6_18", "emulation")
"""The kernels first, the model of each beside it; then the model's other TCPs and their kinds of Shadow."""

Levels = tuple[tuple[str, str], ...]
Folder = tuple[Path, Variant, Levels]
"""A finished run's folder, the variant of the plan that it is, and the transport's knobs in its name."""


@dataclass(frozen=True)
class PlannedRun:
    """A finished run, the variant of the plan that it is, and the transport's knobs beside it."""

    run: Run
    variant: Variant
    more: Levels


@dataclass(frozen=True)
class TransportRuns:
    """The runs of one transport on networks of the configuration ``network``, all of one version.

    ``queue`` is the queue before down-links in the model; ``left_out`` counts runs that exist but do not fit.
    """

    name: str
    queue: str
    network: str
    runs: tuple[PlannedRun, ...]
    left_out: int

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds of the networks of all runs."""
        return tuple(sorted({planned.run.spec.seed for planned in self.runs}))


def transports(
    experiment: Experiment,
    plan: Plan,
    *,
    network: str | None = None,
    seeds: Sequence[int] | None = None,
) -> list[TransportRuns]:
    """Every transport with finished runs of ``plan``, each beside the model of it.

    With ``network``, all on networks of that configuration; else each on those of the experiment's where it
    has runs, or on those with the most. ``seeds`` limits the networks of that configuration. Raises
    InputError when the plan turns a knob of the transport itself: then its variants are the transports.
    """
    turned = transport_knobs(plan)
    if turned:
        raise InputError(
            f"{plan.name} turns {turned[0]} itself",
            key="plan",
            value=plan.name,
            accepted="a plan without knobs of the transport, such as main",
        )
    wanted = network or experiment.network
    found: dict[tuple[str, str], dict[str, TransportRuns]] = {}
    for engine in RUN_ENGINES:
        for key, runs in standing_runs(experiment, plan, engine, network).items():
            limited = runs if seeds is None or key != wanted else [r for r in runs if _seed(r) in set(seeds)]
            for named, group in _by_transport(limited).items():
                found.setdefault(named, {})[key] = _largest(group, named, key, experiment)
    chosen = []
    for by_network in found.values():
        own = {key: one for key, one in by_network.items() if one.runs}
        if own:
            most = max(own, key=lambda key: (len(own[key].seeds), len(own[key].runs), key))
            chosen.append(own[wanted if wanted in own else most])
    chosen.sort(key=lambda one: _ORDER.index(one.name) if one.name in _ORDER else len(_ORDER))
    return _with_names_of_their_own(chosen)


def transport_knobs(plan: Plan) -> list[str]:
    """The knobs of ``plan`` that choose a transport: where there are any, its variants are the transports."""
    return [knob for knob in plan.knobs if KNOBS[knob].target == TRANSPORT]


def transport_of(run: RunSpec) -> tuple[str, str]:
    """The transport of ``run``: engine and TCP, and the queue before down-links (empty: the engine's own)."""
    transport = run.transport
    if transport is None:
        return run.engine, ""
    queue = transport.link_queue
    size = f" of {queue.bytes:,} bytes" if isinstance(queue, Droptail) else ""
    return f"{run.engine}, tcp={transport.tcp}", f"{queue.kind}{size}"


def standing_runs(
    experiment: Experiment, plan: Plan, engine: str, network: str | None = None
) -> dict[str, list[Folder]]:
    """The folders of all finished runs of an engine by the configuration of their networks."""
    above = RESULTS / "runs" / experiment.name / engine / experiment.era
    names = dict.fromkeys(_name(folder) for folder in sorted(above.glob("*/")) if folder.is_dir())
    found: dict[str, list[Folder]] = {}
    for name in names:
        if network is not None and name != network:
            continue
        for variant in plan.variants:
            for folder in _numbered(above / network_key(name, variant)):
                own = [(run, variant, more) for run, more in _of_variant(folder, variant)]
                found.setdefault(name, []).extend(own)
    return found


def _name(folder: Path) -> str:
    try:
        return parse_network_key(folder.name)[0]
    except InputError:
        return folder.name


def _numbered(folder: Path) -> list[Path]:
    return sorted(
        (each for each in folder.glob("*/") if each.name.isdigit()), key=lambda each: int(each.name)
    )


def _seed(found: Folder) -> int:
    return int(found[0].parent.name)


def _of_variant(folder: Path, variant: Variant) -> Iterator[tuple[Path, Levels]]:
    """The finished runs of ``variant`` on a network: its own, then those with another transport."""
    for run in sorted(folder.glob(f"{variant.key}*/"), key=lambda each: (len(each.name), each.name)):
        rest = run.name.removeprefix(variant.key)
        if (rest and not rest.startswith(JOINED_BY)) or not (run / PROVENANCE_FILE).is_file():
            continue
        try:
            more = Variant.parse(rest[1:]).levels if rest else ()
        except InputError:
            continue
        if all(KNOBS[knob].target == TRANSPORT for knob, _ in more):
            yield run, more


def _by_transport(
    found: Sequence[Folder],
) -> dict[tuple[str, str], list[PlannedRun | None]]:
    """The runs by transport; None for one that this version cannot read, among those of every transport."""
    groups: dict[tuple[str, str], list[PlannedRun | None]] = {}
    unreadable = 0
    for folder, variant, more in found:
        try:
            planned = PlannedRun(open_run(folder), variant, more)
        except InputError:
            unreadable += 1
            continue
        groups.setdefault(transport_of(planned.run.spec), []).append(planned)
    for group in groups.values():
        group.extend([None] * unreadable)
    return groups


def _largest(
    group: Sequence[PlannedRun | None], named: tuple[str, str], network: str, experiment: Experiment
) -> TransportRuns:
    """The runs of ``group`` that are the experiment's, of the version and durations that most have."""
    fitting: dict[tuple[object, ...], dict[tuple[str, int], PlannedRun]] = {}
    for planned in group:
        if planned is not None and _is_of(planned, experiment):
            spec = planned.run.spec
            kind = (planned.run.provenance["engine_version"], spec.warm_up_ns, spec.duration_ns)
            # A run of the usual transport may stand a second time under the transport's name.
            fitting.setdefault(kind, {}).setdefault((planned.variant.key, spec.seed), planned)
    most = max(fitting, key=lambda kind: (len(fitting[kind]), *map(str, kind)), default=None)
    runs = fitting[most] if most else {}
    there = {(one.variant.key, one.run.spec.seed) for one in group if one is not None}
    left_out = len(there - runs.keys()) + sum(one is None for one in group)
    return TransportRuns(named[0], named[1], network, tuple(runs.values()), left_out)


def _is_of(planned: PlannedRun, experiment: Experiment) -> bool:
    """Whether the experiment would make this run today; its durations may differ."""
    spec = planned.run.spec
    asked = run_settings(experiment, spec.engine, spec.era, planned.variant)
    traffic = {kind: does for kind, does in spec.traffic.items() if kind in asked.traffic}
    return (spec.tor, traffic) == (asked.tor, dict(asked.traffic))


def _with_names_of_their_own(chosen: Sequence[TransportRuns]) -> list[TransportRuns]:
    """Add the queue to the names of transports that otherwise have the same name."""
    names = [one.name for one in chosen]
    return [
        replace(one, name=f"{one.name}, {one.queue}") if names.count(one.name) > 1 else one for one in chosen
    ]


def network_sha256(runs: TransportRuns) -> Mapping[int, tuple[str, ...]]:
    """The networks of each seed, by the hash of their network.json."""
    found: dict[int, set[str]] = {seed: set() for seed in runs.seeds}
    for planned in runs.runs:
        found[planned.run.spec.seed].add(planned.run.spec.network_sha256)
    return {seed: tuple(sorted(hashes)) for seed, hashes in found.items()}
