"""Versions that programs print at the start of their logs.

In: the version lines that a reader found. Out: the versions, checked to be no older than the reader needs.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from torsweep.engines.shadow.read.logs import Log


def check_versions(
    logs: Sequence[Log], found: pl.DataFrame, program: str, oldest: tuple[int, ...]
) -> tuple[str, ...]:
    """The versions in ``found`` (columns ``log``, ``line``, ``version``), sorted, each once.

    Raises InputError for a log without a version line, which is no log of ``program`` from its start on,
    and for a version below ``oldest``, whose lines mean something else.
    """
    accepted = f"{program} {'.'.join(map(str, oldest))} or later"
    missing = sorted(set(range(len(logs))) - set(found["log"]))
    if missing:
        raise logs[missing[0]].error(f"has no line that names the version of {program}", accepted=accepted)
    for log, line, version in found.select("log", "line", "version").iter_rows():
        numbers = tuple(int(part) if part.isdigit() else 0 for part in version.split("-")[0].split("."))
        if numbers < oldest:
            raise logs[log].error("is of another version", line=line, value=version, accepted=accepted)
    return tuple(sorted(set(found["version"])))
