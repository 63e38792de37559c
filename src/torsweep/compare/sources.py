"""Sources: sets of runs of one plan, each made by one engine in one way.

In: a text such as ``emulation`` or ``cellsim+tcp=linux_6_18``, and the tree of results. Out: a
:class:`Source`, the folders of its runs, and :class:`SourceRuns`, which are read and belong together.

The levels in a source's name are of knobs that the plan does not turn: all its variants get these levels.
``cellsim+replay=shadow`` is cellsim on the circuits that tor chose in the runs of ``shadow``, over its TCP.
Repeats and replays have trees of their own beside ``results/runs``, with the same levels below, so that no
table of an experiment ever takes them for its runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Self

from torsweep.config.experiment import Experiment, Plan
from torsweep.config.knobs import KNOBS
from torsweep.config.replicates import numbers_by_level
from torsweep.config.tor_settings import Droptail
from torsweep.config.variant import JOINED_BY, Variant
from torsweep.engines.selection import MODEL_ENGINE, RUN_ENGINES, find_engine
from torsweep.errors import InputError
from torsweep.pipeline.paths import RESULTS, network_key
from torsweep.provenance import PROVENANCE_FILE
from torsweep.runsets.run import Run, open_run

RUNS, REPEATS = "runs", "repeats"
"""The two series that a source can have: its runs, and the same with other seeds."""

REPLAY = "replay"
TRANSPORT = "transport"
"""The target of the knobs that a source's name may set."""

Key = tuple[Variant, int]
"""A variant of the plan, and the seed of the network that it ran on."""


@dataclass(frozen=True)
class Source:
    """An engine, the ``levels`` that its variants go on with, and the engine whose circuits it replays."""

    engine: str
    levels: tuple[tuple[str, str], ...] = ()
    replay: str | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """The source that ``text`` names; InputError when there can be none."""
        engine, _, rest = text.partition(JOINED_BY)
        replayed = rest.removeprefix(f"{REPLAY}=") if rest.startswith(f"{REPLAY}=") else None
        for name in (engine, *([] if replayed is None else [replayed])):
            if name not in RUN_ENGINES:
                raise InputError("is no engine", key="sources", value=name, accepted=", ".join(RUN_ENGINES))
        levels = Variant.parse(rest).levels if rest and replayed is None else ()
        for knob, _ in levels:
            if KNOBS[knob].target != TRANSPORT:
                accepted = ", ".join(name for name, one in KNOBS.items() if one.target == TRANSPORT)
                raise InputError("does not tell sources apart", key="sources", value=knob, accepted=accepted)
        if rest and engine != MODEL_ENGINE:
            raise InputError("has a transport of its own", key="sources", value=text, accepted=engine)
        if replayed is not None and not find_engine(replayed).runs_tor:
            raise InputError("chooses no circuits to replay", key="sources", value=text)
        return cls(engine, levels, replayed)

    @property
    def label(self) -> str:
        """The text that :meth:`parse` reads."""
        replay = f"+{REPLAY}={self.replay}" if self.replay else ""
        return self.engine + "".join(f"+{knob}={level}" for knob, level in self.levels) + replay

    @property
    def runs_tor(self) -> bool:
        """Whether its engine runs tor itself."""
        return find_engine(self.engine).runs_tor

    def above(self, experiment: Experiment, series: str = RUNS) -> Path:
        """The folder with its networks."""
        tree = RESULTS / "replays" / self.replay if self.replay else RESULTS / series
        return tree / experiment.name / self.engine / experiment.era

    def folder(
        self, experiment: Experiment, network: str, key: tuple[Variant, int | str], series: str = RUNS
    ) -> Path:
        """The folder of one run on the networks of the configuration ``network``."""
        variant, seed = key
        levels = Variant((*variant.levels, *self.levels))
        return self.above(experiment, series) / network_key(network, variant) / str(seed) / levels.key


@dataclass(frozen=True)
class SourceRuns:
    """The finished runs of a source on networks of the configuration ``network``, and their repeats.

    All are by one version of the engine, over one transport, and of one duration.
    """

    source: Source
    network: str
    runs: Mapping[Key, Run]
    repeats: Mapping[Key, Run]

    @property
    def label(self) -> str:
        """The name of the source."""
        return self.source.label

    @property
    def first(self) -> Run:
        """One of the runs: what all have alike can be read from it."""
        return next(iter(self.runs.values()))

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds of the networks of all runs."""
        return tuple(sorted({seed for _, seed in self.runs}))

    def shared(self, other: SourceRuns) -> list[Key]:
        """The variants and networks that both have run, in the order of the plan."""
        return [key for key in self.runs if key in other.runs] if self.network == other.network else []


def parse_sources(text: str) -> tuple[Source, ...]:
    """The sources in ``text``, between commas, the reference first; InputError unless two or more differ."""
    sources = tuple(Source.parse(part.strip()) for part in text.split(","))
    if len(set(sources)) < len(sources) or len(sources) < 2:
        raise InputError("two or more are compared", key="sources", value=text, accepted="such as A,B")
    return sources


def require_same_networks(experiment: Experiment) -> None:
    """InputError where the variants have numbers of networks by level: claims are compared on networks on
    which every variant has run, and such a plan has more."""
    for knob in numbers_by_level(experiment.replicates):
        problem = "cannot be compared with numbers of networks by level"
        raise InputError(problem, key="replicates", value=f"by {knob}", accepted="a number of networks")


def finished_sources(experiment: Experiment, plan: Plan, network: str | None = None) -> tuple[Source, ...]:
    """Every source with finished runs of ``plan`` but for replays, those that run tor first.

    Raises InputError when there are fewer than two.
    """
    found: dict[str, None] = {}
    for engine in RUN_ENGINES:
        above = Source(engine).above(experiment)
        for name in [network] if network else _networks_in(above):
            for variant in plan.variants:
                for folder in (above / network_key(name, variant)).glob(f"*/{variant.key}*/"):
                    rest = folder.name.removeprefix(variant.key)
                    if folder.parent.name.isdigit() and (folder / PROVENANCE_FILE).is_file():
                        found[f"{engine}{rest}"] = None
    sources = []
    for text in found:
        # Levels of other knobs in a folder's name are of another plan.
        with suppress(InputError):
            sources.append(Source.parse(text))
    sources.sort(key=lambda one: (not one.runs_tor, one.engine, len(one.levels), one.label))
    if len(sources) < 2:
        raise InputError(
            f"fewer than two sources have finished runs of the plan {plan.name}",
            file=RESULTS / "runs" / experiment.name,
            value=", ".join(one.label for one in sources) or "none",
            accepted="runs of two engines, or of the model over two transports",
        )
    return tuple(sources)


def finished_runs(
    source: Source,
    experiment: Experiment,
    plan: Plan,
    network: str,
    seeds: Sequence[int] | None = None,
    series: str = RUNS,
) -> dict[Key, Path]:
    """The folders of the finished runs of a source, in the order of the plan; ``seeds`` limits them."""
    if source.replay and series == REPEATS:
        return {}
    found = {}
    for variant in plan.variants:
        above = source.folder(experiment, network, (variant, "0"), series).parents[1]
        there = sorted(int(each.name) for each in above.glob("*/") if each.name.isdigit())
        for seed in there if seeds is None else [seed for seed in there if seed in set(seeds)]:
            folder = source.folder(experiment, network, (variant, seed), series)
            if (folder / PROVENANCE_FILE).is_file():
                found[variant, seed] = folder
    return found


def usual_network(source: Source, experiment: Experiment, plan: Plan) -> str:
    """The experiment's network where the source has finished runs on it, else the one with most of them."""
    counts = {
        name: len(finished_runs(source, experiment, plan, name))
        for name in _networks_in(source.above(experiment))
    }
    if counts.get(experiment.network) or not counts:
        return experiment.network
    return max(counts, key=lambda name: (counts[name], name))


def read_sources(
    sources: Sequence[Source],
    experiment: Experiment,
    plan: Plan,
    network: str | None = None,
    seeds: Sequence[int] | None = None,
) -> list[SourceRuns]:
    """The finished runs of each source, the reference's first.

    With ``network``, all on networks of that configuration; else each on its usual one. ``seeds`` limits
    them. Raises InputError when the plan turns what tells sources apart, a source has no runs, a run is
    damaged, or runs are not alike but for what is compared.
    """
    turned = [knob for knob in plan.knobs if KNOBS[knob].target == TRANSPORT]
    if turned:
        raise InputError(
            f"{plan.name} turns {turned[0]} itself", key="plan", value=plan.name, accepted="such as main"
        )
    read = []
    for source in sources:
        own = network or usual_network(source, experiment, plan)
        series = [
            {
                key: open_run(folder)
                for key, folder in finished_runs(source, experiment, plan, own, seeds, each).items()
            }
            for each in (RUNS, REPEATS)
        ]
        if not series[0]:
            problem = f"no run of the plan {plan.name} is finished"
            raise InputError(problem, file=source.above(experiment), key="sources", value=source.label)
        read.append(SourceRuns(source, own, *series))
    _require_alike(read)
    return read


def transport_of(run: Run) -> str:
    """The TCP of a run of the model and its queue before down-links; empty for other engines."""
    transport = run.spec.transport
    if transport is None:
        return ""
    queue = transport.link_queue
    size = f" of {queue.bytes:,} bytes" if isinstance(queue, Droptail) else ""
    return f"tcp={transport.tcp}, {queue.kind}{size}"


def _networks_in(above: Path) -> list[str]:
    """The configurations of the networks in ``above``, without what knobs add to their names."""
    return list(dict.fromkeys(folder.name.split(JOINED_BY)[0] for folder in sorted(above.glob("*/"))))


def _require_alike(read: Sequence[SourceRuns]) -> None:
    """InputError unless runs differ in nothing but what is compared."""
    seen: dict[object, tuple[object, Run]] = {}
    for one in read:
        for (variant, seed), run in chain(one.runs.items(), one.repeats.items()):
            spec = run.spec
            durations = {"warm_up_ns": spec.warm_up_ns, "duration_ns": spec.duration_ns}
            version = {
                "engine": spec.engine,
                "engine_version": run.provenance["engine_version"],
                TRANSPORT: transport_of(run),
                "paths": "replayed" if spec.paths else "its own",
            }
            network = (one.network, seed, *variant.network_levels.items())
            alike: dict[object, dict[str, object]] = {
                # Each level of the knob tor is another build, which the version of the engine names.
                ("source", one.label, dict(variant.levels).get("tor")): version,
                ("source", one.label): {**durations},
                ("networks", one.network): {**durations},
                "all": {"era": spec.era},
                ("network", *network): {"network_sha256": spec.network_sha256},
                variant: {
                    "tor": spec.tor,
                    **{f"traffic.{kind}": does for kind, does in spec.traffic.items()},
                },
            }
            for scope, values in alike.items():
                for key, value in values.items():
                    first, by = seen.setdefault((scope, key), (value, run))
                    if value != first:
                        short = isinstance(value, str | int)
                        raise InputError(
                            f"cannot be compared with {by}",
                            file=run.directory,
                            key=key,
                            value=value if short else None,
                            accepted=f"{first if short else 'the same'}; or remove the folder",
                        )
