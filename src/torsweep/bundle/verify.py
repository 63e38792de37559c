"""What is wrong with a published result, if anything.

In: the folder that ``torsweep run publish`` wrote, or the zip of it. Out: the :class:`Findings`: files that
are not what SHA256SUMS says, and verdicts or summaries that are not what the tables give.

The checks tell whether a result is as it was published, and whether its verdicts follow from its tables. They
cannot find a change that somebody made in tables, summaries and checksums alike: only making the runs again
can (:mod:`torsweep.bundle.rerun`).
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

from torsweep.bundle.sums import bundle_files, packing_order, read_sums
from torsweep.config.experiment import Experiment, load_experiment
from torsweep.config.reading import validate
from torsweep.errors import InputError
from torsweep.formats.archives import unpack_zip, write_zip
from torsweep.formats.json_file import read_json
from torsweep.formats.parquet import read_metadata
from torsweep.provenance import PROVENANCE_FILE, sha256_of_file, versions
from torsweep.stats.summarize import summarize, write_summary
from torsweep.stats.verdicts import read_claims
from torsweep.storage.folders import MARKER
from torsweep.storage.published import EXPERIMENT_FILE, SUMS_FILE
from torsweep.tables.reading import PlanTables

_NUMBERS_OF = ("torsweep", "numpy", "scipy", "polars")
"""The versions on which the last digit of a summary may depend."""


class PublishedWith(BaseModel):
    """The versions of torsweep and of libraries at the time."""

    versions: dict[str, str]


class Origin(BaseModel):
    """The part of a bundle's provenance.json that says whose results these are, and how the claims were
    judged.

    ``settings`` are keys of experiment.yaml that were replaced.
    """

    experiment: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
    settings: dict[str, str]
    published_with: PublishedWith


@dataclass(frozen=True)
class Findings:
    """What was found: ``said`` in order, and those of it that are ``problems``."""

    said: tuple[str, ...]
    problems: tuple[str, ...]

    def __add__(self, other: Findings) -> Findings:
        return Findings(self.said + other.said, self.problems + other.problems)


@contextmanager
def opened(bundle: Path) -> Iterator[tuple[Path, Findings]]:
    """The folder of ``bundle``, unpacked if it is a zip, and what is to say of its packing.

    Raises InputError when it is neither a folder nor a zip.
    """
    if bundle.is_dir():
        yield bundle, Findings((), ())
        return
    with tempfile.TemporaryDirectory(prefix="torsweep-verify-") as scratch:
        folder = Path(scratch, "bundle")
        folder.mkdir()
        names = unpack_zip(bundle, folder)
        again = Path(scratch, "again.zip")
        write_zip(folder, packing_order(names), again)
        same = filecmp.cmp(bundle, again, shallow=False)
        again.unlink()
        problem = (
            f"{bundle.name}: its files, or the bytes between them, do not lie as torsweep writes them",
        )
        yield folder, Findings((), ()) if same else Findings(problem, problem)


def check_files(folder: Path) -> Findings:
    """Whether every file in ``folder`` is there and as SHA256SUMS says, and nothing else is."""
    stated = read_sums(folder)
    there = {file.relative_to(folder).as_posix(): file for file in bundle_files(folder)}
    problems, right = [f"{name}: is missing" for name in stated if name not in there], 0
    for name, file in there.items():
        if name == SUMS_FILE:
            continue
        if name not in stated:
            problems.append(f"{name}: is not in {SUMS_FILE}")
        elif sha256_of_file(file) != stated[name]:
            problems.append(f"{name}: is not what it was: its SHA-256 is another than in {SUMS_FILE}")
        else:
            right += 1
    return Findings(
        (*problems, f"files: {right} of {len(stated)} are as they were published"), tuple(problems)
    )


def require_whole(folder: Path) -> None:
    """InputError, with the first problem, unless every file in ``folder`` is as SHA256SUMS says."""
    problems = check_files(folder).problems
    if problems:
        raise InputError(problems[0], file=folder)


def check_claims(folder: Path) -> Findings:
    """Whether the summaries in ``folder``, and the verdicts in them, are what its tables give."""
    for table in sorted((folder / "tables").glob("*.parquet")):
        # Checksums from a stranger prove nothing, so another process reads each table first.
        read_metadata(table)
    with tempfile.TemporaryDirectory(prefix="torsweep-verify-") as scratch:
        again = Path(scratch, "summaries")
        summary = summarize(PlanTables.open(folder / "tables"), experiment_of(folder))
        write_summary(summary, again)
        return _verdicts(folder / "summaries", again) + _summaries(folder, again)


def read_origin(folder: Path) -> Origin:
    """What the bundle in ``folder`` says of how it was made; InputError when it does not."""
    file = folder / PROVENANCE_FILE
    return validate(Origin, read_json(file), file)


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
    stated, found = (
        {(c.claim, c.setting): c.verdict for c in read_claims(p).claims} for p in (published, again)
    )
    problems = tuple(
        f"claim {' '.join(filter(None, claim))}: {stated.get(claim, 'none')} is stated, "
        f"the tables give {found.get(claim, 'none')}"
        for claim in {**stated, **found}
        if stated.get(claim) != found.get(claim)
    )
    right = sum(stated.get(claim) == verdict for claim, verdict in found.items())
    return Findings(
        (*problems, f"claims: {right} of {len(found)} verdicts are what the tables give"), problems
    )


def _summaries(folder: Path, again: Path) -> Findings:
    published, then = folder / "summaries", read_origin(folder).published_with.versions
    names = sorted({file.name for place in (published, again) for file in place.iterdir()} - {MARKER})
    other = [name for name in names if not _same(published / name, again / name)]
    said = f"summaries: {len(names) - len(other)} of {len(names)} are what the tables give"
    differ = [name for name in _NUMBERS_OF if then.get(name) != versions().get(name)]
    if other and differ:
        told = ", ".join(f"{name} {then.get(name)} then, {versions().get(name)} here" for name in differ)
        return Findings((f"{said}; the others may differ in last digits ({told}): {', '.join(other)}",), ())
    problems = tuple(f"summaries/{name}: is not what the tables give" for name in other)
    return Findings((*problems, said), problems)


def _same(one: Path, other: Path) -> bool:
    return one.is_file() and other.is_file() and filecmp.cmp(one, other, shallow=False)
