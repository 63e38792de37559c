"""Tor's own unit tests, and answers of its functions to test cellsim's against: ``make test-tor``.

    python -m bench.tor_rules test [--jobs 4] [--source TARBALL] [GROUP ...]
    python -m bench.tor_rules oracle --out answers.txt [--cases 2000] [--seed 1] [--source TARBALL]

In: a release and the patch series. Out: the summary line of the tests; a file of answers to random cases,
which ``cellsim/tests/oracle`` compares with what the model says.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.writing import end_with
from torsweep.errors import TorsweepError
from torsweep.home import CHECKOUT
from torsweep.storage import write_text
from torsweep.storage.folders import TOOLS_FOLDER, folder_claimed
from torsweep.tor import DOWNLOADS, TOOLS
from torsweep.tor.compile import check_requirements, compile_tor, configure
from torsweep.tor.release import find_release, unpack
from torsweep.tor.series import apply_series, read_series

DRIVER = CHECKOUT / "cellsim/oracle/driver.c"
COMMITTED = {"bucket": 30, "ewma": 25, "roundrobin": 25, "vegas": 12, "activation": 60}
"""Cases of each kind in ``cellsim/oracle/vectors.txt``, drawn from seed 1."""
ANSWERING_FILES = (
    "lib/evloop/token_bucket",
    "core/or/circuitmux_ewma",
    "core/or/circuitmux",
    "core/or/congestion_control_common",
    "core/or/congestion_control_vegas",
    "core/or/relay",
    "lib/smartlist_core/smartlist_core",
    "lib/container/smartlist",
    "lib/malloc/malloc",
)
"""The files of tor, below src/, whose functions answer."""
INCLUDES = ("", "src", "src/ext", "src/ext/trunnel", "src/trunnel")
DEFINES = ("HAVE_CONFIG_H", 'SHARE_DATADIR="/"', 'LOCALSTATEDIR="/"', 'BINDIR="/"', "HAVE_MODULE_RELAY=1")


def build_oracle(source: Path, build: Path, out: Path) -> Path:
    """Compile the driver against the patched ``source``, configured in ``build``, into folder ``out``.

    Returns the program. Raises TorsweepError with the compiler's first line when it does not compile.
    """
    out.mkdir(parents=True, exist_ok=True)
    flags = ["-O1", "-w", "-fno-pie", "-ffunction-sections", "-fdata-sections", f"-I{build.resolve()}"]
    flags += [f"-I{(source / folder).resolve()}" for folder in INCLUDES]
    flags += [f"-D{name}" for name in DEFINES]
    objects = []
    for file in [*(source / "src" / f"{name}.c" for name in ANSWERING_FILES), DRIVER]:
        objects.append(str(out.resolve() / f"{file.stem}.o"))
        _cc([*flags, "-c", str(file.resolve()), "-o", objects[-1]])
    program = out.resolve() / "oracle"
    # Functions that no answer needs are removed by the linker, or stay unresolved.
    links = ["-no-pie", "-Wl,--gc-sections", "-Wl,--unresolved-symbols=ignore-all"]
    _cc([*links, *objects, "-lm", "-o", str(program)])
    return program


def _cc(arguments: list[str]) -> None:
    answer = subprocess.run(["cc", *arguments], capture_output=True, text=True, errors="replace", check=False)
    if answer.returncode:
        lines = answer.stderr.strip().splitlines() or ["it said nothing"]
        raise TorsweepError(f"tor's oracle does not compile: {lines[0]}")


def write_answers(program: Path, file: Path, seed: int, cases: dict[str, int]) -> None:
    """Write what ``program`` answers to ``cases`` (how many, by kind), drawn from ``seed``, into ``file``.

    Raises TorsweepError when the program does not end well.
    """
    text = ""
    for kind, count in cases.items():
        answer = subprocess.run(
            [program, kind, str(seed), str(count)], capture_output=True, text=True, check=False
        )
        if answer.returncode:
            raise TorsweepError(
                f"tor's oracle ended with {answer.returncode} at {kind}: {answer.stderr.strip()}"
            )
        text += answer.stdout
    write_text(file, text)


PROGRAM = "src/test/test"
TOUCHED_GROUPS = (
    "bwmgt",
    "cellqueue",
    "channel",
    "channeltls",
    "circuitmux",
    "circuitmux_ewma",
    "connection",
    "control",
    "options",
    "relay",
    "relaycell",
    "scheduler",
    "token_bucket",
    "util",
)
"""Groups of tests of the code that the patches change."""


def run_unit_tests(groups: Sequence[str], source: Path | None, jobs: int) -> str:
    """Build tor's test program and run ``groups``; return its last line.

    The build tree is kept, so that a second run compiles nothing, until the source or the series change.
    Raises the errors of :func:`torsweep.tor.build.build_tor`, and TorsweepError when a test fails.
    """
    with test_tree(source) as (_, build, log):
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
def test_tree(source: Path | None) -> Iterator[tuple[Path, Path, Path]]:
    """The patched source, the folder it is configured in for tests, and the log, while nobody else uses them.

    They lie below results/tools/tor/unit-tests and are made anew when the release or the series change.
    Raises the errors of :func:`torsweep.tor.build.build_tor`.
    """
    check_requirements()
    series = read_series()
    place = TOOLS / "unit-tests"
    with folder_claimed(place, TOOLS_FOLDER, wait=True):
        release = find_release(source, DOWNLOADS)
        tree, build, log, stamp = (place / name for name in ("source", "build", "build.log", "configured"))
        made_of = f"{release.identity} {series.sha256}\n"
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


def main(arguments: list[str] | None = None) -> None:
    """Run tor's tests, or write tor's answers."""
    parser = argparse.ArgumentParser(prog="python -m bench.tor_rules")
    parser.add_argument("what", choices=("test", "oracle"))
    parser.add_argument("groups", nargs="*", metavar="GROUP", help="of tests; those that the patches touch")
    parser.add_argument("--source", type=Path, help="tarball of tor's source")
    parser.add_argument("--jobs", type=int, default=1, help="compilations at a time")
    parser.add_argument("--out", type=Path, default=Path("answers.txt"), help="where tor's answers go")
    parser.add_argument("--cases", type=int, default=2_000, help="of each kind; 0: those in the repository")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    if options.what == "test":
        print(run_unit_tests(options.groups or TOUCHED_GROUPS, options.source, options.jobs))
        return
    with test_tree(options.source) as (tree, build, _):
        program = build_oracle(tree, build, TOOLS / "oracle")
    cases = dict.fromkeys(COMMITTED, options.cases) if options.cases else COMMITTED
    write_answers(program, options.out, options.seed, cases)
    print(f"{options.out}: tor's answers")


if __name__ == "__main__":
    end_with(main)
