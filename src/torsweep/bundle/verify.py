"""What is wrong with a published result, if anything, and what its runs come to when they are made again.

In: the folder that ``torsweep run publish`` wrote, or the zip of it; a checkout or a study. Out: the
:class:`Findings`. The checks without a run cannot find a change that somebody made in tables, summaries and
checksums alike: only making the runs again can.
"""

from __future__ import annotations

import filecmp
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field

from torsweep.bundle.description import bundle_files, read_sums
from torsweep.config.experiment import Experiment, load_experiment
from torsweep.config.reading import validate
from torsweep.config.variant import Variant
from torsweep.engines.selection import find_engine
from torsweep.errors import InputError, TorsweepError
from torsweep.formats.archives import unpack_zip
from torsweep.formats.json_file import read_json
from torsweep.network.model import NETWORK_FILE
from torsweep.pipeline.tree import PlanPath, network_directory
from torsweep.provenance import PROVENANCE_FILE, sha256_of_file, versions
from torsweep.report.repeat import repeat_overrides
from torsweep.runsets.reading import PlanTables, Provenance
from torsweep.stats.likeness import own_public_tor
from torsweep.stats.summarize import summarize, write_summary
from torsweep.stats.verdicts import read_claims
from torsweep.storage.folders import EXPERIMENT_FILE, MARKER, PAGE_FILE, SUMS_FILE

_NUMBERS_OF = ("torsweep", "numpy", "scipy", "polars")
"""The versions on which the last digit of a summary may depend."""


class PublishedWith(BaseModel):
    """The versions of torsweep and of libraries at the time."""

    versions: dict[str, str]


class _Run(BaseModel):
    """What the bundle says about a run: its place in the plan, and the checksums of its tables."""

    variant: dict[str, str]
    seed: int
    tables: dict[str, str]


class BundleProvenance(BaseModel):
    """A bundle's provenance.json; ``settings`` are keys of experiment.yaml that were replaced."""

    experiment: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
    settings: dict[str, str]
    published_with: PublishedWith
    runs: tuple[_Run, ...]


@dataclass(frozen=True)
class Findings:
    """What checks found: the ``lines`` to print, in order, and those of them that are ``problems``."""

    lines: tuple[str, ...]
    problems: tuple[str, ...]

    def __add__(self, other: Findings) -> Findings:
        return Findings(self.lines + other.lines, self.problems + other.problems)


@contextmanager
def opened(bundle: Path) -> Iterator[Path]:
    """The folder of ``bundle``, unpacked if it is a zip; InputError when it is neither."""
    if bundle.is_dir():
        yield bundle
        return
    with tempfile.TemporaryDirectory(prefix="torsweep-verify-") as scratch:
        unpack_zip(bundle, Path(scratch))
        yield Path(scratch)


def check_files(folder: Path) -> Findings:
    """Whether every file in ``folder`` is there and as SHA256SUMS says, and nothing else is."""
    stated = read_sums(folder)
    names = [name for name in bundle_files(folder) if name != SUMS_FILE]
    problems, right = [f"{name}: is missing" for name in stated if name not in names], 0
    for name in names:
        if name not in stated:
            problems.append(f"{name}: is not in {SUMS_FILE}")
        elif sha256_of_file(folder / name) != stated[name]:
            problems.append(f"{name}: has changed: its SHA-256 is not the one in {SUMS_FILE}")
        else:
            right += 1
    summary = f"files: {right} of {len(stated)} are as they were published"
    return Findings((*problems, summary), tuple(problems))


def require_whole(folder: Path) -> None:
    """InputError, with the first problem, unless every file in ``folder`` is as SHA256SUMS says."""
    problems = check_files(folder).problems
    if problems:
        raise InputError(problems[0], file=folder)


def check_claims(folder: Path) -> Findings:
    """Whether the summaries in ``folder``, and the verdicts in them, are what its tables give.

    What they have of public Tor, from a file of the user's own, is taken as it is: the file is not there.
    """
    with tempfile.TemporaryDirectory(prefix="torsweep-verify-") as scratch:
        again = Path(scratch, "summaries")
        tables, public = PlanTables.open(folder / "tables"), own_public_tor(folder / "summaries")
        summary = summarize(tables, experiment_of(folder), public)
        write_summary(summary, again)
        return _verdicts(folder / "summaries", again) + _summaries(folder, again)


def read_origin(folder: Path) -> BundleProvenance:
    """What the bundle in ``folder`` says of how it was made; InputError when it does not."""
    file = folder / PROVENANCE_FILE
    return validate(BundleProvenance, read_json(file), file)


def experiment_of(folder: Path) -> Experiment:
    """The experiment of the bundle in ``folder``, with what was replaced in it when it ran."""
    origin = read_origin(folder)
    with tempfile.TemporaryDirectory(prefix="torsweep-verify-") as scratch:
        # An experiment has the name of its folder.
        place = Path(scratch, origin.experiment)
        place.mkdir()
        (place / EXPERIMENT_FILE).write_bytes((folder / EXPERIMENT_FILE).read_bytes())
        return load_experiment(place / EXPERIMENT_FILE, origin.settings)


def _verdicts(published: Path, again: Path) -> Findings:
    stated, computed = (
        {(c.claim, c.setting): c.verdict for c in read_claims(p).claims} for p in (published, again)
    )
    problems = tuple(
        f"claim {' '.join(filter(None, claim))}: {stated.get(claim, 'none')} is stated, "
        f"the tables give {computed.get(claim, 'none')}"
        for claim in {**stated, **computed}
        if stated.get(claim) != computed.get(claim)
    )
    right = sum(stated.get(claim) == verdict for claim, verdict in computed.items())
    summary = f"claims: {right} of {len(computed)} verdicts are what the tables give"
    return Findings((*problems, summary), problems)


def _summaries(folder: Path, again: Path) -> Findings:
    published, then = folder / "summaries", read_origin(folder).published_with.versions
    names = sorted({file.name for place in (published, again) for file in place.iterdir()} - {MARKER})
    other = [name for name in names if not _same(published / name, again / name)]
    summary = f"summaries: {len(names) - len(other)} of {len(names)} are what the tables give"
    differ = [name for name in _NUMBERS_OF if then.get(name) != versions().get(name)]
    if other and differ:
        which = ", ".join(f"{name} {then.get(name)} then, {versions().get(name)} here" for name in differ)
        line = f"{summary}; the others may differ in last digits ({which}): {', '.join(other)}"
        return Findings((line,), ())
    problems = tuple(f"summaries/{name}: is not what the tables give" for name in other)
    return Findings((*problems, summary), problems)


def _same(one: Path, other: Path) -> bool:
    return one.is_file() and other.is_file() and filecmp.cmp(one, other, shallow=False)


def _same_files(published: Path, again: Path) -> list[bool]:
    return [_same(file, again / file.name) for file in published.iterdir()]


_SNAKEFILE = "Snakefile"
TAKEN = (_SNAKEFILE, "rules", "configs", "topologies", "plotting", "profiles", "patches")
"""What the pipeline works in, as far as it is there: a study has only what is its own."""

_STAGES = ("tables", "summaries", "figures")


def make_again(folder: Path, home: Path, cores: int) -> Findings:
    """Make the bundle in ``folder`` again with the pipeline of ``home`` and say what is the same.

    ``home`` is a checkout or a study. Raises InputError when it is neither, TorsweepError when the pipeline
    fails.
    """
    experiment = experiment_of(folder)
    origin = PlanTables.open(folder / "tables").provenance
    if origin.experiment != experiment.name:
        problem, accepted = "are of another experiment", experiment.name
        raise InputError(problem, file=folder / "tables", value=origin.experiment, accepted=accepted)
    place = PlanPath(origin.experiment, origin.engine, origin.era, origin.network, origin.plan)
    with tempfile.TemporaryDirectory(prefix="torsweep-rerun-") as name:
        scratch = Path(name)
        _prepare(scratch, home, folder, origin.experiment)
        targets = [
            str(place.summary),
            *(str(place.stage("figures") / f"{figure}.pdf") for figure in experiment.figures),
            str(place.page),
        ]
        public = own_public_tor(folder.resolve() / "summaries")
        overrides = repeat_overrides(origin, experiment, read_origin(folder).settings, public)
        _run(scratch, targets, [f"{key}={value}" for key, value in overrides.items()], cores)
        return compare(folder, scratch)


def _prepare(scratch: Path, home: Path, folder: Path, experiment: str) -> None:
    if not (home / _SNAKEFILE).is_file():
        raise InputError(f"is no checkout of torsweep and no study: no {_SNAKEFILE} in it", file=home)
    for name in TAKEN:
        if (home / name).exists():
            (scratch / name).symlink_to((home / name).resolve())
    place = scratch / "experiments" / experiment
    place.mkdir(parents=True)
    (place / EXPERIMENT_FILE).write_bytes((folder / EXPERIMENT_FILE).read_bytes())


def _run(scratch: Path, targets: Sequence[str], overrides: Sequence[str], cores: int) -> None:
    command = [sys.executable, "-m", "snakemake", "--cores", str(cores), *targets, "--config", *overrides]
    done = subprocess.run(command, cwd=scratch, stdout=subprocess.DEVNULL, check=False)
    if done.returncode:
        problem = f"the pipeline ended with exit code {done.returncode}"
        raise TorsweepError(f"the runs could not be made again: {problem}")


def compare(folder: Path, scratch: Path) -> Findings:
    """What of the bundle in ``folder`` is the same below ``scratch``/results, made again there."""
    origin = PlanTables.open(folder / "tables").provenance
    place = PlanPath(origin.experiment, origin.engine, origin.era, origin.network, origin.plan)
    counts = {
        "networks": list(_networks(scratch, place, origin)),
        "runs": list(_tables_of_runs(scratch, place, origin, read_origin(folder).runs)),
        **{stage: _same_files(folder / stage, scratch / place.stage(stage)) for stage in _STAGES},
        "page": [filecmp.cmp(folder / PAGE_FILE, scratch / place.page, shallow=False)],
    }
    lines = tuple(
        f"made again, {what}: {sum(same)} of {len(same)} identical" for what, same in counts.items()
    )
    different = any(not all(same) for same in counts.values())
    if different and find_engine(place.engine).real_time:
        return Findings((*lines, f"{place.engine} runs in real time: no two of its runs are the same"), ())
    return Findings(lines, ("made again, not all is identical",) if different else ())


def _networks(scratch: Path, place: PlanPath, origin: Provenance) -> Iterator[bool]:
    """Whether each network that the bundle's runs were on has been sampled the same again."""
    stated = {}
    for run in origin.runs:
        key = _variant(run["variant"], origin).network_key(place.network)
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
