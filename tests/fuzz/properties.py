"""What no command may do with any input.

In: a command line, the folder of its inputs, the folder of its output. Out: nothing, or an AssertionError
that says what did not hold: the exit code is 0 or 2; what is refused is refused in one line, no panic and no
traceback shows, and nothing is displaced: the inputs are what they were, the output is whole or is not there,
and nothing else is left.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from torsweep.cli import main
from torsweep.config.experiment import load_experiment
from torsweep.ending import exit_code_of
from torsweep.runsets.collect import collect
from torsweep.runsets.reading import PlanTables
from torsweep.stats.summarize import make_summary


@dataclass(frozen=True)
class Target:
    """A file that a command reads: ``make`` writes the folder ``in``, ``file`` is what is damaged.

    ``arguments`` are torsweep's, with ``{in}`` and ``{out}`` for the folders; ``marker`` is the file of an
    output that is whole.
    """

    name: str
    file: str
    kinds: tuple[str, ...]
    arguments: tuple[str, ...]
    make: Callable[[Path], None]
    marker: str | None = None


class Outcome(NamedTuple):
    """Exit code, and the text on standard error."""

    code: object
    error: str


def require_sound(outcome: Outcome) -> None:
    """AssertionError unless the command ended with 0, or with 2 and one line."""
    error = outcome.error.strip("\n")
    assert outcome.code in (0, 2), f"exit code {outcome.code}: {error[-2000:]}"
    assert "panicked" not in error and "Traceback" not in error, error[-2000:]
    if outcome.code:
        assert len(error.splitlines()) == 1, f"not one line: {error[-2000:]}"
        assert len(error) < 2000, f"a line of {len(error)} characters: {error[:300]}"


def require_undisturbed(folder: Path, before: Mapping[str, bytes]) -> None:
    """AssertionError unless ``folder`` holds what it did."""
    after = contents(folder)
    assert after.keys() == before.keys(), f"left or gone: {sorted(after.keys() ^ before.keys())}"
    changed = [name for name in before if before[name] != after[name]]
    assert not changed, f"inputs changed: {changed}"


def require_whole_or_nothing(folder: Path, marker: str | None) -> None:
    """AssertionError unless ``folder`` holds nothing, or only ``out`` with its ``marker``."""
    held = sorted(os.listdir(folder))
    assert held in ([], ["out"]), f"left beside the output: {held}"
    if held and marker:
        assert (folder / "out" / marker).is_file(), "an output without its main file"


def contents(folder: Path) -> dict[str, bytes]:
    """The bytes of each file below ``folder``, by its name."""
    return {str(f.relative_to(folder)): f.read_bytes() for f in sorted(folder.rglob("*")) if f.is_file()}


def _summarize(tables: Path, out: Path) -> None:
    make_summary(PlanTables.open(tables), load_experiment("refill_sweep"), out)


SCRIPTS: dict[str, Callable[..., object]] = {
    "collect": lambda run, out: collect([run], out, network="tiny"),
    "summarize": _summarize,
}
"""What scripts of rules do, by name."""


def run_inside(arguments: Sequence[str]) -> Outcome:
    """Run torsweep's command line, or the script of a rule, in this process, as its launcher does."""
    with _standard_error() as error, contextlib.redirect_stdout(io.StringIO()):
        try:
            if arguments[0] in SCRIPTS:
                script, places = SCRIPTS[arguments[0]], map(Path, arguments[1:])
                sys.exit(exit_code_of(lambda: script(*places), "torsweep"))
            main(list(arguments))
        except SystemExit as stop:
            code = stop.code
    return Outcome(code, error.getvalue())


@contextlib.contextmanager
def _standard_error() -> Iterator[io.StringIO]:
    """What is written to descriptor 2, whichever language wrote it."""
    error = io.StringIO()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        try:
            with contextlib.redirect_stderr(
                io.TextIOWrapper(os.fdopen(os.dup(2), "wb"), "utf-8", "backslashreplace")
            ):
                yield error
                sys.stderr.flush()
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            file.seek(0)
            error.write(file.read().decode("utf-8", "replace"))
