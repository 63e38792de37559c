"""What a statistic is, and which there are (:mod:`torsweep.stats.listing` finds them).

In: an :class:`Analysis`, which is what statistics and claims are worked out from. Out: frames, each of which
is one CSV file of a summary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

import polars as pl

from torsweep.config.replicates import KnownSpread
from torsweep.config.tracing import Record
from torsweep.errors import InputError
from torsweep.formats.frames import read_csv
from torsweep.runsets.plan_tables import REPEAT, SOURCE, Dimension, PlanTables, Provenance
from torsweep.stats.inference.interim import FIXED, Design
from torsweep.stats.inference.intervals import FEWEST_FOR_BANDS
from torsweep.stats.listing import by_name, values
from torsweep.stats.text import TextTable
from torsweep.storage import verify_folder, whole_file

MetricName = Literal["ttfb", "ttlb"]
"""Time to the first, or to the last, payload byte of a download."""

T = TypeVar("T")
Levels = Mapping[str, str]
Columns = dict[str, tuple[type[pl.DataType], str]]
"""Type and meaning of each column, in order; ``KNOBS`` stands for a text column for each knob of the plan."""


@dataclass
class Analysis:
    """The tables of a plan, what its experiment asks of them, and what has been worked out from both.

    ``margin`` is the relative difference below which there is none, where a claim says nothing else;
    ``settings`` are the levels of knobs that the plan adds to the experiment's, in each of which the
    ``claims`` are judged.
    """

    tables: PlanTables
    baseline: Levels
    margin: float
    claims: Sequence[Any] = ()
    settings: Sequence[Levels] = ({},)
    grid: Sequence[Levels] = ()
    """The variants of the plan, whether they have run or not, without what made them."""
    names: Levels = field(default_factory=dict)
    """What levels are called, where figures do not call them by their own names."""
    design: Design = FIXED
    spread: Sequence[KnownSpread] = ()
    """What is known of chance, in every engine."""
    public: Path | None = None
    """A file of public Tor, to stand beside perf clients in place of the one that ships."""
    known: dict[Callable[[Analysis], Any], Any] = field(default_factory=dict)

    def once(self, work: Callable[[Analysis], T]) -> T:
        """The result of ``work`` on this analysis, computed once and then kept."""
        if work not in self.known:
            self.known[work] = work(self)
        return cast(T, self.known[work])

    @property
    def provenance(self) -> Provenance:
        """Where the rows come from."""
        return self.tables.provenance

    @property
    def levels(self) -> Mapping[str, Sequence[str]]:
        """The levels of each knob of the plan."""
        return self.provenance.knobs

    @property
    def knobs(self) -> list[str]:
        """Names of the plan's dimensions and knobs, in order."""
        return list(self.levels)

    @property
    def few(self) -> bool:
        """Whether there are too few networks for intervals."""
        return len(self.provenance.seeds) < FEWEST_FOR_BANDS

    @property
    def parts(self) -> Mapping[str, Analysis]:
        """By source, but for repeats, its part on the networks on which it has run every variant; a plan of
        one engine is its own part, of the name ""."""
        return self.once(_parts)

    def compared(self) -> list[tuple[Levels, list[Levels]]]:
        """The baseline, and the variants that are compared with it; of several sources, each one's own."""
        variants = list(self.provenance.variants())
        by_reference: dict[str, tuple[Levels, list[Levels]]] = {}
        for variant in variants:
            reference = dict(self.baseline)
            if SOURCE in variant:
                reference[SOURCE] = variant[SOURCE]
            others = by_reference.setdefault(str(reference), (reference, []))[1]
            if variant != reference and reference in variants:
                others.append(variant)
        return list(by_reference.values())


def _parts(analysis: Analysis) -> Mapping[str, Analysis]:
    if SOURCE not in analysis.levels:
        return {"": analysis}
    run = [(entry["variant"], entry["seed"]) for entry in analysis.provenance.runs]
    parts = {}
    for source in analysis.levels[SOURCE]:
        if not source.endswith(REPEAT):
            own: dict[str, str] = {SOURCE: source}
            grid = [{**own, **levels} for levels in analysis.grid]
            seeds = [seed for seed in analysis.provenance.seeds if all((one, seed) in run for one in grid)]
            parts[source] = replace(
                analysis,
                tables=analysis.tables.at(own, seeds),
                baseline={**analysis.baseline, **own},
                settings=[{**own, **setting} for setting in analysis.settings],
                known={},
            )
    return parts


@dataclass(frozen=True)
class Statistic:
    """One file of a summary, in the order of ``rank``.

    ``name`` is that of the file without ``.csv``; ``meaning`` says what a row is. ``compute`` gives the rows;
    None, and no file, where a plan has nothing of the kind. ``rests_on`` is what runs have to record for it,
    or the dimension that the plan has to have. ``in_summary`` gives the tables that show the frame.
    """

    name: str
    meaning: str
    columns: Columns
    compute: Callable[[Analysis], pl.DataFrame | Sequence[Mapping[str, object]] | None]
    rests_on: Record | Dimension | None = None
    in_summary: Callable[[Analysis, pl.DataFrame], Sequence[TextTable]] | None = None
    rank: int = 100

    @property
    def file(self) -> str:
        """The name of its file in a folder of summaries."""
        return f"{self.name}.csv"

    def applies(self, provenance: Provenance) -> bool:
        """Whether a plan of runs with ``provenance`` has it."""
        return self.rests_on is None or self.rests_on in {*provenance.records, *provenance.knobs}

    def schema(self, knobs: Iterable[str]) -> pl.Schema:
        """Column name to polars type, for a plan with ``knobs``."""
        types: dict[str, type[pl.DataType]] = {}
        for name, (dtype, _) in self.columns.items():
            types |= dict.fromkeys(knobs, pl.String) if name == "KNOBS" else {name: dtype}
        return pl.Schema(types)

    def frame(self, analysis: Analysis) -> pl.DataFrame | None:
        """The rows for the plan of ``analysis`` in the columns that are declared; NaN is null."""
        rows = self.compute(analysis)
        return None if rows is None else self.as_frame(rows, analysis.knobs)

    def as_frame(
        self, rows: pl.DataFrame | Sequence[Mapping[str, object]], knobs: Iterable[str]
    ) -> pl.DataFrame:
        """``rows`` of a plan with ``knobs`` in the columns that are declared."""
        schema = self.schema(knobs)
        frame = rows if isinstance(rows, pl.DataFrame) else pl.DataFrame(rows, schema)
        return frame.select(list(schema)).cast(schema).with_columns(pl.col(pl.Float64).fill_nan(None))

    def read(self, folder: Path, knobs: Iterable[str] = ()) -> pl.DataFrame:
        """The rows in a folder of summaries, which has a column for each of ``knobs``, too; InputError when
        the file is missing, has no rows, lacks a column or has something else in it."""
        file = folder / self.file
        frame = read_csv(file, texts=None, missing=NO_SUMMARIES)
        if frame.is_empty():
            raise InputError("has no rows", file=file, accepted="one or more")
        columns = [
            (pl.col(name) == "true" if dtype == pl.Boolean else pl.col(name).cast(dtype)).alias(name)
            for name, dtype in self.schema(knobs).items()
        ]
        try:
            return frame.with_columns(columns)
        except pl.exceptions.PolarsError as error:
            raise InputError(str(error).splitlines()[0], file=file) from None


SEED_COLUMN: Columns = {"seed": (pl.Int64, "seed of the network")}
HOST_COLUMN: Columns = {"host": (pl.String, "name of the relay, as in network.json")}
KIND_COLUMN: Columns = {"kind": (pl.String, "kind of client")}
METRIC_COLUMN: Columns = {
    "metric": (pl.String, "time to the first or last byte (ttfb, ttlb), from opening or command")
}
NETWORKS_COLUMN: Columns = {"networks": (pl.Int64, "networks that the row is over")}
KNOB_COLUMNS: Columns = {"KNOBS": (pl.String, "level of each knob")}


def texts(meaning: str, *names: str) -> Columns:
    """Columns of text that share a meaning."""
    return dict.fromkeys(names, (pl.String, meaning))


def counts(meaning: str, *names: str) -> Columns:
    """Columns of whole numbers that share a meaning."""
    return dict.fromkeys(names, (pl.Int64, meaning))


def numbers(meaning: str, *names: str) -> Columns:
    """Columns of numbers that share a meaning."""
    return dict.fromkeys(names, (pl.Float64, meaning))


def mean_and_band(meaning: str, name: str) -> Columns:
    """The mean over networks and the bounds of its 95 % interval: ``NAME``, ``NAME_low``, ``NAME_high``."""
    return numbers(f"{meaning}: mean over networks and 95 % interval", name, f"{name}_low", f"{name}_high")


def statistics(experiment: str = "") -> Mapping[str, Statistic]:
    """Every statistic by its name, in the order of names: the shared ones, and those of ``experiment``."""
    found = (value for value in values(experiment) if isinstance(value, Statistic))
    return by_name("statistics", ((statistic.name, statistic) for statistic in found))


def write_csv(frame: pl.DataFrame, path: Path) -> None:
    """Write ``frame`` with six significant digits; an empty cell is a number that is not there."""
    with whole_file(path) as temporary:
        frame.with_columns(pl.col(pl.Float64).round_sig_figs(6)).write_csv(temporary)


PLAN_FILE = "plan.json"
"""The manifest: what the tables were collected from, the baseline, and the checksums of the other files."""

CLAIMS_FILE = "claims.json"
SUMMARY_TEXT, SUMMARY_TABLES = "summary.md", "summary.json"
"""All of it to read, and the same for the page."""

NO_SUMMARIES = "no such file: no summary is there"
BASELINE, NAMES = "baseline", "names"
"""What the manifest says beside where the tables come from: a level of each knob, and names of levels."""


def read_plan(summaries: Path) -> dict[str, Any]:
    """plan.json in the folder ``summaries``, all files of which are as they were made; else InputError."""
    return verify_folder(summaries, PLAN_FILE, NO_SUMMARIES)


def origin_of(plan: Mapping[str, Any]) -> dict[str, Any]:
    """Where the tables come from, of what :func:`read_plan` returns."""
    return {key: value for key, value in plan.items() if key not in (BASELINE, NAMES)}
