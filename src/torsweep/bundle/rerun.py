"""The runs of a published result, made again.

In: the folder of a bundle, and a checkout of torsweep. Out: the :class:`~torsweep.bundle.verify.Findings`:
which networks, runs, tables, summaries and figures are the same, byte for byte. The pipeline works in a
scratch folder, of which nothing is left.
"""

from __future__ import annotations

import filecmp
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import BaseModel

from torsweep.bundle.verify import Findings, experiment_of, read_origin
from torsweep.config.reading import validate
from torsweep.config.variant import Variant
from torsweep.engines.selection import find_engine
from torsweep.errors import InputError, TorsweepError
from torsweep.formats.json_file import read_json
from torsweep.network.model import NETWORK_FILE
from torsweep.pipeline.paths import PlanPath, network_directory, network_key
from torsweep.provenance import PROVENANCE_FILE, sha256_of_file
from torsweep.report.repeat import repeat_overrides
from torsweep.storage.published import EXPERIMENT_FILE, PAGE_FILE
from torsweep.tables.reading import PlanTables, Provenance

_NEEDED = ("Snakefile", "rules", "configs", "topologies", "plotting")
_OTHERS = ("profiles", "patches")
"""What a checkout has that the pipeline works in; patches only where tor runs."""

_STAGES = ("tables", "summaries", "figures")


class _Run(BaseModel):
    """What the bundle says about a run: its place in the plan, and the checksums of its tables."""

    variant: dict[str, str]
    seed: int
    tables: dict[str, str]


class _Runs(BaseModel):
    """The runs in provenance.json."""

    runs: tuple[_Run, ...]


def rerun(folder: Path, checkout: Path, cores: int) -> Findings:
    """Make the bundle in ``folder`` again with the pipeline of ``checkout`` and say what is the same.

    Raises InputError when ``checkout`` is none, TorsweepError when the pipeline fails.
    """
    experiment = experiment_of(folder)
    origin = PlanTables.open(folder / "tables").provenance
    if origin.experiment != experiment.name:
        accepted = experiment.name
        raise InputError(
            "are of another experiment", file=folder / "tables", value=origin.experiment, accepted=accepted
        )
    place = PlanPath(origin.experiment, origin.engine, origin.era, origin.network, origin.plan)
    with tempfile.TemporaryDirectory(prefix="torsweep-rerun-") as name:
        scratch = Path(name)
        _prepare(scratch, checkout, folder, origin.experiment)
        targets = [
            str(place.summary),
            *(str(place.stage("figures") / f"{figure}.pdf") for figure in experiment.figures),
            str(place.page),
        ]
        overrides = repeat_overrides(origin, experiment, read_origin(folder).settings)
        _run(scratch, targets, [f"{key}={value}" for key, value in overrides.items()], cores)
        return compare(folder, scratch)


def _prepare(scratch: Path, checkout: Path, folder: Path, experiment: str) -> None:
    for name in _NEEDED:
        if not (checkout / name).exists():
            raise InputError(f"is no checkout of torsweep: no {name} in it", file=checkout)
    for name in (*_NEEDED, *_OTHERS):
        if (checkout / name).exists():
            (scratch / name).symlink_to((checkout / name).resolve())
    place = scratch / "experiments" / experiment
    place.mkdir(parents=True)
    (place / EXPERIMENT_FILE).write_bytes((folder / EXPERIMENT_FILE).read_bytes())


def _run(scratch: Path, targets: Sequence[str], overrides: Sequence[str], cores: int) -> None:
    command = [sys.executable, "-m", "snakemake", "--cores", str(cores), *targets, "--config", *overrides]
    done = subprocess.run(command, cwd=scratch, stdout=subprocess.DEVNULL, check=False)
    if done.returncode:
        raise TorsweepError(
            f"the runs could not be made again: the pipeline ended with exit code {done.returncode}"
        )


def compare(folder: Path, scratch: Path) -> Findings:
    """What of the bundle in ``folder`` is the same below ``scratch``/results, made again there."""
    origin = PlanTables.open(folder / "tables").provenance
    place = PlanPath(origin.experiment, origin.engine, origin.era, origin.network, origin.plan)
    runs = validate(_Runs, read_json(folder / PROVENANCE_FILE), folder / PROVENANCE_FILE).runs
    counts = {
        "networks": list(_networks(scratch, place, origin)),
        "runs": list(_tables_of_runs(scratch, place, origin, runs)),
        **{stage: list(_files(folder / stage, scratch / place.stage(stage))) for stage in _STAGES},
        "page": [filecmp.cmp(folder / PAGE_FILE, scratch / place.page, shallow=False)],
    }
    said = tuple(f"made again, {what}: {sum(same)} of {len(same)} identical" for what, same in counts.items())
    different = any(not all(same) for same in counts.values())
    if different and find_engine(place.engine).real_time:
        said += (f"{place.engine} runs in real time: no two of its runs are the same",)
        return Findings(said, ())
    return Findings(said, ("made again, not all is identical",) if different else ())


def _networks(scratch: Path, place: PlanPath, origin: Provenance) -> Iterator[bool]:
    """Whether each network that the bundle's runs were on has been sampled the same again."""
    stated = {}
    for run in origin.runs:
        key = network_key(place.network, _variant(run["variant"], origin))
        stated[scratch / network_directory(key, run["seed"]) / NETWORK_FILE] = run["network_sha256"]
    yield from (file.is_file() and sha256_of_file(file) == sha256 for file, sha256 in stated.items())


def _tables_of_runs(
    scratch: Path, place: PlanPath, origin: Provenance, runs: Sequence[_Run]
) -> Iterator[bool]:
    """Whether the tables of each run have the checksums that the bundle states."""
    for run in runs:
        directory = scratch / place.run_directory(_variant(run.variant, origin), run.seed)
        file = directory / PROVENANCE_FILE
        yield file.is_file() and read_json(file).get("tables") == run.tables


def _variant(levels: Mapping[str, str], origin: Provenance) -> Variant:
    """The variant of these levels; runs are named by their knobs in the order of the experiment."""
    return Variant(tuple((knob, levels.get(knob, "")) for knob in origin.knobs))


def _files(published: Path, again: Path) -> Iterator[bool]:
    for file in sorted(published.iterdir()):
        other = again / file.name
        yield other.is_file() and filecmp.cmp(file, other, shallow=False)
