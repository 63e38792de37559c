"""What is wrong with a published result, if anything.

In: the folder that ``torsweep run publish`` wrote, or the zip of it. Out: the :class:`Findings`. These checks
cannot find a change that somebody made in tables, summaries and checksums alike: only making the runs again
can.
"""

from __future__ import annotations

import filecmp
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field

from torsweep.bundle.description import bundle_files, read_sums
from torsweep.config.experiment import Experiment, load_experiment
from torsweep.config.reading import validate
from torsweep.errors import InputError
from torsweep.formats.archives import unpack_zip
from torsweep.formats.json_file import read_json
from torsweep.provenance import PROVENANCE_FILE, sha256_of_file, versions
from torsweep.runsets.reading import PlanTables
from torsweep.stats.likeness import own_public_tor
from torsweep.stats.summarize import summarize, write_summary
from torsweep.stats.verdicts import read_claims
from torsweep.storage.folders import EXPERIMENT_FILE, MARKER, SUMS_FILE

_NUMBERS_OF = ("torsweep", "numpy", "scipy", "polars")
"""The versions on which the last digit of a summary may depend."""


class PublishedWith(BaseModel):
    """The versions of torsweep and of libraries at the time."""

    versions: dict[str, str]


class BundleProvenance(BaseModel):
    """A bundle's provenance.json; ``settings`` are keys of experiment.yaml that were replaced."""

    experiment: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
    settings: dict[str, str]
    published_with: PublishedWith


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
