"""Files that a pipeline would write and may not: said in one line, before any step has run.

In: Snakemake's jobs that are about to run. Out: nothing, or an OutputError that names the first such file.
Snakemake has a check of its own, of the files that the user may not write, and says what it finds over many
lines; :func:`take_over_check` turns that into the same one line.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from torsweep.errors import OutputError, TorsweepError
from torsweep.storage.folders import require_plain


def require_unprotected(jobs: Iterable[Any]) -> None:
    """Check that every output and log of ``jobs`` can be written.

    Raises OutputError for one that is write-protected, even where the user is root and may write it, or that
    is in the place of something else or in a folder that takes no files.
    """
    folders = set()
    for job in jobs:
        for file in (*job.output, *job.log):
            require_plain(Path(file))
            folders.add(Path(file).parent)
    for folder in sorted(folders):
        standing = next(place for place in (folder, *folder.parents) if place.exists())
        if not standing.is_dir():
            raise OutputError(f"{standing}: is no folder; results go there")
        if not (os.access(standing, os.W_OK | os.X_OK) and standing.stat().st_mode & 0o222):
            raise OutputError(f"{standing}: is write-protected")


def take_over_check(jobs: Any, stop: Callable[[TorsweepError], NoReturn]) -> None:
    """Let Snakemake's check of write-protected outputs end in ``stop`` instead of its own exception.

    ``jobs`` is the module ``snakemake.jobs``. The check runs while Snakemake plans, before any hook of a
    workflow.
    """

    def refuse(job: Any, files: Sequence[Any]) -> NoReturn:
        stop(OutputError(f"{files[0]}: is write-protected"))

    jobs.ProtectedOutputException = refuse
