"""A comparison: everything that was found of two or more sources, and the folder that keeps it.

In: the runs of sources. Out: a :class:`Comparison`, and in its folder ``comparison.md`` to read, a CSV file
for each table of :data:`TABLES` that applies, and last ``comparison.json``: what was compared, by which
versions, with the checksums of the other files.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from torsweep.compare.contrasts import contrasts
from torsweep.compare.distances import all_curves, distances, gaps, mean_curves
from torsweep.compare.sources import SourceRuns, transport_of
from torsweep.compare.streams import STARVED_NUMBERS, stream_frames
from torsweep.compare.verdicts import collect_whole, judge, verdicts_frame, whole_seeds
from torsweep.config.experiment import Experiment, Plan
from torsweep.config.reading import validate
from torsweep.errors import InputError
from torsweep.formats.csv_file import read_csv
from torsweep.stats.statistic import write_csv
from torsweep.storage import write_text
from torsweep.storage.folders import COMPARISON_FOLDER, own_folder
from torsweep.storage.manifest import verify_folder, with_checksums

FORMAT = "torsweep-comparison"
COMPARISON_FILE, TEXT_FILE = "comparison.json", "comparison.md"
NO_COMPARISON = "no such file: run `torsweep results compare` first"

TABLES = {
    "distances": "how far each run is from the reference's, and each repeat from its run",
    "gaps": "means of the distances over networks, with the floor, a verdict and ratios of quantiles",
    "curves": "the share of downloads that is complete by a time",
    "contrasts": "variants one knob apart, within each source and against the reference",
    "verdicts": "each claim under each source",
    "streams": "when each stream of a circuit was complete, on each network",
    "stream_means": "when each stream was complete, means over networks",
    "starved": "how many streams starved, how even the shares were",
}
"""What a comparison can have; only those that its sources, networks and experiment give rows for exist."""

_TEXTS = ("at", "from", "to", "setting", "noise_of", "agrees")
_NUMBERS = (
    *("ks", "gap", "floor", "own_floor", "ratio", "low", "high", "shared_ratio", "reference_ratio"),
    *("relative", "relative_low", "relative_high", "size", "noise", "completed_s", "first_byte_s", "share"),
    *(f"{name}{end}" for name in STARVED_NUMBERS for end in ("", "_low", "_high")),
)


@dataclass(frozen=True)
class SourceRecord:
    """One of the sources: what ran, on which networks; ``run_sha256`` is of each run.json, repeats' last."""

    label: str
    engine: str
    engine_version: str
    transport: str
    network: str
    seeds: tuple[int, ...]
    warm_up_ns: int
    duration_ns: int
    runs: int
    repeats: int
    run_sha256: tuple[str, ...]


@dataclass(frozen=True)
class Origin:
    """What was compared, the reference first; ``margin`` is the relative difference below which there is
    none."""

    experiment: str
    era: str
    plan: str
    margin: float
    baseline: Mapping[str, str]
    sources: tuple[SourceRecord, ...]

    @property
    def knobs(self) -> list[str]:
        """The knobs of the plan."""
        return list(self.baseline)


@dataclass(frozen=True)
class Comparison:
    """The tables that apply, by name, and where they come from."""

    origin: Origin
    tables: Mapping[str, pl.DataFrame]


def compare(read: Sequence[SourceRuns], experiment: Experiment, plan: Plan) -> Comparison:
    """Everything there is to say of the sources ``read``, the first of which is the reference."""
    origin = Origin(
        experiment=experiment.name,
        era=experiment.era,
        plan=plan.name,
        margin=experiment.precision.margin,
        baseline=dict(plan.baseline.levels),
        sources=tuple(map(_record, read)),
    )
    curves = all_curves(read)
    apart = distances(read, curves)
    tables = {
        "distances": apart,
        "gaps": gaps(apart, origin.knobs, read[0].label) if len(apart) else apart,
        "curves": mean_curves(read, curves),
        "contrasts": contrasts(read, curves, plan, origin.margin),
        **_of_whole_networks(read, experiment, plan),
    }
    return Comparison(origin, {name: tables[name] for name in TABLES if len(tables.get(name, ()))})


def _record(one: SourceRuns) -> SourceRecord:
    spec = one.first.spec
    runs = (*one.runs.values(), *one.repeats.values())
    return SourceRecord(
        label=one.label,
        engine=spec.engine,
        engine_version=str(one.first.provenance["engine_version"]),
        transport=transport_of(one.first),
        network=one.network,
        seeds=one.seeds,
        warm_up_ns=spec.warm_up_ns,
        duration_ns=spec.duration_ns,
        runs=len(one.runs),
        repeats=len(one.repeats),
        run_sha256=tuple(str(run.provenance["run_sha256"]) for run in runs),
    )


def _of_whole_networks(
    read: Sequence[SourceRuns], experiment: Experiment, plan: Plan
) -> dict[str, pl.DataFrame]:
    """The verdicts on the networks that every variant has run on, and the streams on those of all sources."""
    seeds = {one.label: whole_seeds(one, plan) for one in read}
    judged, frames = {}, {}
    with tempfile.TemporaryDirectory(prefix="torsweep-compare-") as scratch:
        for one in read:
            if experiment.claims and seeds[one.label]:
                tables = collect_whole(one, plan, seeds[one.label], Path(scratch, "claims"))
                judged[one.label] = judge(one, tables, experiment, plan)
        common = set.intersection(*(set(own) for own in seeds.values()))
        if experiment.progress and common and len({one.network for one in read}) == 1:
            tables_of = {
                one.label: collect_whole(one, plan, sorted(common), Path(scratch, one.label)) for one in read
            }
            frames = stream_frames(tables_of, list(plan.knobs))
    return {"verdicts": verdicts_frame(read, judged, seeds, len(plan.variants)), **frames}


def write_comparison(comparison: Comparison, text: str, out: Path) -> None:
    """Write the files of the module's docstring into ``out``, each as a whole; ``text`` is to read."""
    own_folder(out, COMPARISON_FOLDER)
    (out / COMPARISON_FILE).unlink(missing_ok=True)
    for left in out.glob("*.csv"):
        left.unlink()
    for name, table in comparison.tables.items():
        write_csv(table, out / f"{name}.csv")
    write_text(out / TEXT_FILE, text)
    document: dict[str, Any] = {"format": FORMAT, "format_version": 1, **asdict(comparison.origin)}
    document = with_checksums(document, out, [*(f"{name}.csv" for name in comparison.tables), TEXT_FILE])
    write_text(out / COMPARISON_FILE, json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def read_comparison(folder: Path) -> Comparison:
    """The comparison in ``folder``; InputError when there is none, it is damaged or of another version."""
    file = folder / COMPARISON_FILE
    document = verify_folder(folder, COMPARISON_FILE, NO_COMPARISON)
    found = document.pop("format", None), document.pop("format_version", None)
    if found != (FORMAT, 1):
        raise InputError("is no comparison", file=file, value=found[0], accepted=FORMAT)
    origin = validate(Origin, document, file)
    tables = {
        name: read_csv(folder / f"{name}.csv", (*origin.knobs, *_TEXTS), _NUMBERS)
        for name in TABLES
        if (folder / f"{name}.csv").exists()
    }
    return Comparison(origin, tables)
