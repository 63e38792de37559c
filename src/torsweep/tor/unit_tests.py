"""tor's own unit-test program, with the tests that the patches add, built and run.

In: a release and the patch series. Out: the program's summary line, or a TorsweepError that names the
first test that failed.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from torsweep.errors import TorsweepError
from torsweep.folder_lock import folder_claimed
from torsweep.storage.folders import TOR_TOOLS
from torsweep.tor.compile import compile_tor, configure
from torsweep.tor.release import find_release, unpack
from torsweep.tor.requirements import check_requirements
from torsweep.tor.series import apply_series, read_series

PROGRAM = "src/test/test"
TOUCHED_GROUPS = (
    "bwmgt",
    "cellqueue",
    "channel",
    "channeltls",
    "circuitmux",
    "circuitmux_ewma",
    "control",
    "options",
    "relay",
    "relaycell",
    "scheduler",
    "token_bucket",
    "util",
)
"""Groups of tests of the code that the patches change."""


def run_unit_tests(
    groups: Sequence[str], source: Path | None, out: Path, jobs: int, sha256: str | None = None
) -> str:
    """Build tor's test program below ``out/unit-tests`` and run ``groups``; return its last line.

    The build tree is kept, so that a second run compiles nothing, until the source or the series change.
    Raises the errors of :func:`torsweep.tor.build.build_tor`, and TorsweepError when a test fails.
    """
    with test_tree(source, out, sha256) as (_, build, log):
        # tor's Makefile knows that tor needs this file, but not that its tests do.
        compile_tor(build, log, ["micro-revision.i"], 1)
        compile_tor(build, log, [PROGRAM], jobs)
        answer = subprocess.run(
            [build.resolve() / PROGRAM, *(f"{group}/.." for group in groups)],
            cwd=build,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    return judge(answer.stdout + answer.stderr, answer.returncode)


@contextmanager
def test_tree(source: Path | None, out: Path, sha256: str | None = None) -> Iterator[tuple[Path, Path, Path]]:
    """The patched source, the folder it is configured in for tests, and the log, while nobody else uses them.

    They lie below ``out/unit-tests`` and are made anew when the release or the series change. Raises the
    errors of :func:`torsweep.tor.build.build_tor`.
    """
    check_requirements()
    series = read_series()
    place = out / "unit-tests"
    with folder_claimed(place, TOR_TOOLS, wait=True):
        release = find_release(source, out / "downloads", sha256)
        tree, build, log, stamp = (place / name for name in ("source", "build", "build.log", "configured"))
        made_of = f"{release.sha256} {series.sha256}\n"
        if not stamp.is_file() or stamp.read_text() != made_of:
            for leftover in (tree, build):
                shutil.rmtree(leftover, ignore_errors=True)
            for file in (stamp, log):
                file.unlink(missing_ok=True)
            unpack(release, tree)
            apply_series(series, tree)
            configure(tree, build, log, tests=True)
            stamp.write_text(made_of)
        yield tree, build, log


def judge(report: str, code: int) -> str:
    """The summary of a run of tor's test program; TorsweepError naming the first failure when it failed."""
    lines = [line.strip() for line in report.splitlines() if line.strip()]
    if code == 0 and lines:
        return lines[-1]
    failed = [line for line in lines if re.search(r"\bFAIL\b", line)]
    raise TorsweepError(f"tor's own tests failed: {(failed or lines or ['they said nothing'])[0]}")
