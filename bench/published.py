"""Make the model's published numbers again, and say which pages change.

    python -m bench.published             # every set of bench/published.yaml
    python -m bench.published refill_2012
    python -m bench.published --check     # which pages have numbers of another build of the model

In: ``bench/published.yaml``, which has for each set of numbers the commands that make it, the tables
that show it, and how long it takes; ``docs/tables/builds.csv``, the build of the model that made each table.
Out: the files of the tables, their builds, and the documents, rewritten; a line for each table and page.

A table whose build is not the installed model's is stale until its set has been made again, or until
``equal`` in published.yaml has both builds, with what has shown that their results are the same bytes.
``older`` in builds.csv marks those that may be: they say so on their page. With ``--check`` the exit code is
1 when another one is stale.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field

from bench.doc_tables import (
    BLOCK,
    BUILDS,
    DOCUMENTS,
    ROOT,
    TABLES,
    Build,
    pages_of,
    read_builds,
    read_specification,
    rewritten,
)
from bench.writing import csv_text, end_with
from torsweep.config.reading import Section, validate
from torsweep.errors import InputError, TorsweepError
from torsweep.formats.yaml_file import read_yaml
from torsweep.provenance import versions
from torsweep.storage import write_text

SETS = Path("bench/published.yaml")


class PublishedSet(Section):
    """Tables that the same commands make; ``minutes`` are of two cores that do nothing else."""

    minutes: Annotated[float, Field(gt=0)]
    commands: Annotated[tuple[str, ...], Field(min_length=1)]
    tables: Annotated[tuple[str, ...], Field(min_length=1)]


class EqualBuilds(Section):
    """Builds of the model with the same results, and what has shown it."""

    builds: Annotated[tuple[str, ...], Field(min_length=2)]
    shown: str


class PublishedSets(Section):
    """All sets, by name, and the builds that are equal."""

    sets: Mapping[str, PublishedSet]
    equal: tuple[EqualBuilds, ...] = ()


def todays_build() -> str:
    """The build of the installed model; InputError without one."""
    version = versions().get("cellsim")
    if version is None:
        raise InputError("is not installed", key="cellsim", accepted="`make setup`")
    return str(version).rpartition("+")[2]


def equal_builds(root: Path, today: str) -> set[str]:
    """``today`` and the builds whose results are the same bytes."""
    groups = validate(PublishedSets, read_yaml(root / SETS), root / SETS).equal
    return {today}.union(*(group.builds for group in groups if today in group.builds))


def read_sets(root: Path) -> dict[str, PublishedSet]:
    """The sets of ``root``; InputError for a table that none of its documents has."""
    sets = dict(validate(PublishedSets, read_yaml(root / SETS), root / SETS).sets)
    tables = read_specification(root).tables
    for name, one in sets.items():
        for table in one.tables:
            if table not in tables:
                raise InputError("no such table", file=root / SETS, key=f"sets.{name}.tables", value=table)
    return sets


def stale(builds: Mapping[str, Build], todays: Collection[str]) -> list[str]:
    """The tables whose build is none of ``todays`` and that are not marked as older."""
    return [table for table, build in builds.items() if build.build not in todays and not build.older]


def state_of_pages(root: Path, builds: Mapping[str, Build], today: str, tables: Iterable[str]) -> list[str]:
    """A line for each of ``tables``: its page, its build, and the set that makes it again."""
    pages, sets = pages_of(root), read_sets(root)
    by_table = {table: (name, one) for name, one in sets.items() for table in one.tables}
    lines = []
    for table in tables:
        name, one = by_table.get(table, ("", None))
        again = f"python -m bench.published {name}: {one.minutes:g} min" if one else "no command makes it"
        build = builds[table].build
        lines.append(f"{pages[table]}: {table} is of {build}, the model is {today}; {again}")
    return lines


def labels_in_text(root: Path, todays: Collection[str]) -> list[str]:
    """A line for each document whose own words name a build that is none of ``todays``."""
    lines = []
    for document in sorted({path for pattern in DOCUMENTS for path in root.glob(pattern)}):
        words = BLOCK.sub("", document.read_text(encoding="utf-8"))
        if others := sorted(set(re.findall(r"0\.1\.0\+([0-9a-f]{8})", words)) - set(todays)):
            lines.append(f"{document.relative_to(root)}: its text names {', '.join(others)}")
    return lines


def make(root: Path, name: str, one: PublishedSet) -> None:
    """Run the commands of a set; TorsweepError when one fails."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    print(f"{name}: about {one.minutes:g} min of two cores", flush=True)
    began = time.monotonic()
    for command in one.commands:
        print(f"  {command}", flush=True)
        done = subprocess.run(["bash", "-euc", command], cwd=root, check=False, env=environment)
        if done.returncode:
            raise TorsweepError(f"{name}: this ended with exit code {done.returncode}: {command}")
    print(f"{name}: took {(time.monotonic() - began) / 60:.1f} min", flush=True)


def write_builds(root: Path, builds: Mapping[str, Build]) -> None:
    """Write builds.csv."""
    rows = [
        {"table": table, "build": build.build, "older": "yes" if build.older else ""}
        for table, build in sorted(builds.items())
    ]
    write_text(root / BUILDS, csv_text(("table", "build", "older"), rows))


def make_again(root: Path, names: Sequence[str]) -> None:
    """Make the sets called ``names``, and rewrite builds and documents."""
    sets, tables = read_sets(root), read_specification(root).tables
    for name in names:
        if name not in sets:
            raise InputError("no such set", key="set", value=name, accepted=", ".join(sets))
    today = todays_build()
    print(f"{sum(sets[name].minutes for name in names):g} min in all", flush=True)
    for name in names:
        files = {table: root / TABLES / tables[table].file for table in sets[name].tables}
        before = {table: file.read_bytes() for table, file in files.items() if file.is_file()}
        make(root, name, sets[name])
        builds = read_builds(root)
        for table, file in files.items():
            equal = file.read_bytes() == before.get(table)
            print(f"{table}: {'equal' if equal else 'other numbers'}, build {today}")
            builds[table] = Build(today, older=False)
        write_builds(root, builds)
    for document, text, after in rewritten(root):
        if text != after:
            write_text(document, after)
            print(f"{document.relative_to(root)}: rewritten; read what it says of these numbers")


def main() -> None:
    """Make sets again, or check builds."""
    parser = argparse.ArgumentParser(prog="python -m bench.published")
    parser.add_argument("sets", nargs="*", help="all when left out")
    parser.add_argument("--check", action="store_true", help="make nothing; say what is of another build")
    options = parser.parse_args()
    if not options.check:
        make_again(ROOT, options.sets or list(read_sets(ROOT)))
        return
    builds, today = read_builds(ROOT), todays_build()
    todays = equal_builds(ROOT, today)
    others = [table for table, build in builds.items() if build.build not in todays]
    lines = state_of_pages(ROOT, builds, today, others) + labels_in_text(ROOT, todays)
    print("\n".join(lines) or f"all numbers are of {today}")
    sys.exit(1 if stale(builds, todays) else 0)


if __name__ == "__main__":
    end_with(main)
