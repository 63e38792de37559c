"""One finished run, whoever made it, and the sources of a plan's runs where engines are side by side.

In: a folder with run.json, provenance.json and tables, named by its variant; a text such as
``emulation,cellsim+tcp=linux_6_18``. Out: :class:`Run` and its tables; each :class:`RunSource`, and its
finished runs as levels of ``source``.

The levels in a source's name are of knobs that the plan does not turn: all its variants get them. A repeat is
a run with another seed, which differs from its original by chance alone. Repeats have a tree of their own
beside ``results/runs``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import polars as pl

from torsweep.config.knobs import KNOBS, find_knob
from torsweep.config.tor_settings import Droptail
from torsweep.config.variant import JOINED_BY, Plan, Variant, variant_levels, variant_text
from torsweep.engines.registry import MODEL_ENGINE, RUN_ENGINES, find_engine
from torsweep.engines.run_spec import RunSpec, finished_run, read_run, write_run
from torsweep.engines.table_schema import CIRCUITS, TableSchema, validate, with_later_columns
from torsweep.errors import InputError
from torsweep.formats.frames import read_frame
from torsweep.provenance import PROVENANCE_FILE
from torsweep.runsets.plan_tables import REPEAT, SOURCE, SOURCES_JOINED_BY
from torsweep.seeds import repeat_seed

GIVEN = "tornettools"
"""The key of the checksum of a network that tornettools made, in the provenance of a run on it."""


@dataclass(frozen=True)
class Run:
    """A finished run. ``variant`` has its level of each dimension and knob, in order; ``seed`` and
    ``network_sha256`` tell its network. ``spec`` is its run.json, None for an import."""

    directory: Path
    variant: Mapping[str, str]
    seed: int
    network_sha256: str
    run_sha256: str
    experiment: str
    engine: str
    engine_version: str
    era: str
    warm_up_ns: int
    duration_ns: int
    provenance: Mapping[str, Any]
    spec: RunSpec | None = None

    def __str__(self) -> str:
        return str(self.directory)

    @property
    def transport(self) -> str:
        """The TCP of a run of the model and its queue before down-links; empty for other engines."""
        transport = self.spec.transport if self.spec else None
        if transport is None:
            return ""
        queue = transport.link_queue
        size = f" of {queue.bytes:,} bytes" if isinstance(queue, Droptail) else ""
        return f"tcp={transport.tcp}, {queue.kind}{size}"


def open_run(directory: Path) -> Run:
    """The run in ``directory``; InputError when it is not finished, has changed since, was written by another
    version, or is in a folder that is not named by its variant."""
    spec, provenance = read_run(directory), finished_run(directory)
    version, variant = provenance.get("engine_version"), variant_levels(directory.name)
    if not isinstance(version, str):
        raise InputError("missing key", file=directory / PROVENANCE_FILE, key="engine_version")
    if variant != dict(spec.variant):
        accepted = variant_text(spec.variant)
        raise InputError("is not named by its variant", file=directory, accepted=accepted)
    return Run(
        directory,
        variant,
        spec.seed,
        spec.network_sha256,
        str(provenance["run_sha256"]),
        spec.experiment,
        spec.engine,
        version,
        spec.era,
        spec.warm_up_ns,
        spec.duration_ns,
        provenance,
        spec,
    )


def read_table(run_directory: Path, schema: TableSchema) -> pl.DataFrame:
    """The table of a run, warm-up and all; InputError when it is missing, damaged, or does not fit
    ``schema``."""
    file = run_directory / schema.file
    return validate(with_later_columns(read_frame(file), schema), schema, file)


def with_paths(streams: pl.DataFrame, run_directory: Path) -> pl.DataFrame:
    """``streams`` of a run with the relays of their circuits, which may have been launched in the warm-up:
    the columns ``in_plans`` of the table."""
    columns = ["client", "circuit", "path"]
    circuits = pl.DataFrame(schema=CIRCUITS.polars).select(columns)
    if (run_directory / CIRCUITS.file).exists():
        circuits = read_frame(run_directory / CIRCUITS.file, columns)
    parts = {"guard": "^([^,]+)", "middle": "^[^,]+,(.+),[^,]+$", "exit": "([^,]+)$"}
    names = {name: pl.col("path").str.extract(pattern) for name, pattern in parts.items()}
    paths = circuits.select("client", "circuit", **names)
    return streams.join(paths, on=["client", "circuit"], how="left", maintain_order="left")


SEPARATOR = ","
TRANSPORT = "transport"
"""The target of the knobs that a source's name may set."""

_SOURCE = rf"(?:{'|'.join(RUN_ENGINES)})(?:\+[a-z_]+=[A-Za-z0-9_.-]+)*"
SOURCES_PATTERN = f"{_SOURCE}(?:{SOURCES_JOINED_BY}{_SOURCE})*"
"""The engine's level in the tree of results: one engine, or several sources."""


@dataclass(frozen=True)
class RunSource:
    """An engine, the ``levels`` that its variants go on with; and whether these are repeats of its runs."""

    engine: str
    levels: tuple[tuple[str, str], ...] = ()
    repeat: bool = False

    @classmethod
    def parse(cls, text: str) -> Self:
        """The source that ``text`` names; InputError when there can be none."""
        engine, _, rest = text.partition(JOINED_BY)
        if engine not in RUN_ENGINES:
            raise InputError("is no engine", key="engine", value=engine, accepted=", ".join(RUN_ENGINES))
        levels = Variant.parse(rest).levels if rest else ()
        for knob, _ in levels:
            if find_knob(knob).target != TRANSPORT:
                accepted = ", ".join(name for name, one in KNOBS.items() if one.target == TRANSPORT)
                raise InputError("does not tell sources apart", key="engine", value=knob, accepted=accepted)
        if rest and engine != MODEL_ENGINE:
            raise InputError("has a transport of its own", key="engine", value=text, accepted=engine)
        return cls(engine, levels)

    @property
    def label(self) -> str:
        """The level of the dimension ``source``; but for repeats, the text that :meth:`parse` reads."""
        levels = "".join(f"+{knob}={level}" for knob, level in self.levels)
        return f"{self.engine}{levels}{REPEAT if self.repeat else ''}"

    @property
    def runs_tor(self) -> bool:
        """Whether its engine runs tor itself."""
        return find_engine(self.engine).runs_tor

    def repeated(self) -> Self:
        """The repeats of its runs."""
        return replace(self, repeat=True)

    @property
    def tree(self) -> Path:
        """The tree of its runs, below that of results."""
        return Path("repeats" if self.repeat else "runs")

    def variant(self, variant: Variant) -> Variant:
        """How its runs of a variant of the plan are named."""
        return Variant((*variant.levels, *self.levels))


def parse_sources(text: str) -> tuple[RunSource, ...]:
    """The sources in ``text``, between commas or as a folder's name has them, the reference first; InputError
    unless two or more differ."""
    sources = tuple(
        RunSource.parse(part.strip()) for part in text.replace(SOURCES_JOINED_BY, SEPARATOR).split(SEPARATOR)
    )
    if len(set(sources)) < len(sources) or len(sources) < 2:
        raise InputError("two or more are compared", key="engine", value=text, accepted="such as A,B")
    return sources


def joined(sources: Iterable[RunSource]) -> str:
    """The name of a set of runs of these sources, which takes the place of an engine's."""
    return SOURCES_JOINED_BY.join(source.label for source in sources)


def require_held(plan: Plan) -> None:
    """InputError where the plan turns what tells sources apart."""
    for knob in plan.knobs:
        if find_knob(knob).target == TRANSPORT:
            problem = f"{plan.name} turns {knob} itself"
            raise InputError(problem, key="plan", value=plan.name, accepted="such as main")


def open_runs(directories: Sequence[Path], sources: Sequence[RunSource]) -> list[Run]:
    """The runs in ``directories``, each by the source that its place in the tree of results names; InputError
    for one that no source has, and for what is wrong with a run."""
    every = [*sources, *(source.repeated() for source in sources)]
    runs = [_open(directory, every) for directory in directories]
    order = [source.label for source in every]
    return sorted(runs, key=lambda run: order.index(run.variant[SOURCE]))


def _open(directory: Path, sources: Sequence[RunSource]) -> Run:
    seed, _, _, engine, _, tree = (folder.name for folder in list(directory.parents)[:6])
    run = open_run(directory)
    levels = list(run.variant.items())
    fitting = [
        source
        for source in sources
        if source.engine == run.engine == engine
        and source.tree.name == tree
        and levels[len(levels) - len(source.levels) :] == list(source.levels)
    ]
    if not fitting or not seed.isdigit():
        accepted = ", ".join(source.label for source in sources)
        raise InputError("is no run of a source", file=directory, accepted=accepted)
    source = max(fitting, key=lambda each: len(each.levels))
    variant = {SOURCE: source.label, **dict(levels[: len(levels) - len(source.levels)])}
    return replace(run, variant=variant, seed=int(seed))


def repeat_run(original: Path, out: Path, *, wait: bool = False) -> RunSpec:
    """Write the repeat of the run in ``original`` into ``out`` and return it; OutputError when ``out`` cannot
    be written or an engine is at work in it."""
    run = read_run(original)

    def seen_from_out(folder: str) -> str:
        return os.path.relpath((original / folder).resolve(), out.resolve())

    update: dict[str, object] = {"seed": repeat_seed(run.seed), "network": seen_from_out(run.network)}
    if run.programs.programs:
        folder = seen_from_out(run.programs.folder)
        update["programs"] = run.programs.model_copy(update={"folder": folder})
    repeat = run.model_copy(update=update)
    write_run(repeat, out, wait=wait)
    return repeat
