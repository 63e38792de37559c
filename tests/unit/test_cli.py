"""What a user sees when a command fails: one line on standard error, a code, and no traceback."""

from __future__ import annotations

import errno
import subprocess
import sys
from collections.abc import Callable

import pytest
import typer

from torsweep import __version__, cli
from torsweep.ending import exit_code_of
from torsweep.errors import InputError, OutputError, ToolMissing, TorsweepError


def run_torsweep(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "torsweep", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def app_that_raises(monkeypatch):
    """Put a command that raises the given exception in the place of the real ones."""

    def install(error: BaseException) -> None:
        app = typer.Typer(pretty_exceptions_enable=False)

        @app.command()
        def fail() -> None:
            raise error

        monkeypatch.setattr(cli, "app", app)

    return install


@pytest.mark.parametrize(
    ("error", "exit_code", "line"),
    [
        (TorsweepError("the run has stopped"), 1, "torsweep: the run has stopped"),
        (
            InputError("has no unit", file="a.yaml", key="web.pause", value=100, accepted="'100 ms'"),
            2,
            "torsweep: a.yaml: web.pause: has no unit, got 100; accepted: '100 ms'",
        ),
        (
            OutputError("results: cannot be written: disk full"),
            2,
            "torsweep: results: cannot be written: disk full",
        ),
        (ToolMissing("shadow is not on PATH"), 3, "torsweep: shadow is not on PATH"),
        (OSError(errno.EACCES, "Permission denied", "x.csv"), 2, "torsweep: x.csv: Permission denied"),
    ],
)
def test_an_error_is_one_line_and_a_code(app_that_raises, capsys, error, exit_code, line):
    app_that_raises(error)
    with pytest.raises(SystemExit) as stopped:
        cli.main([])
    assert stopped.value.code == exit_code
    captured = capsys.readouterr()
    assert captured.err == line + "\n"
    assert captured.out == ""


def raising(error: BaseException) -> Callable[[], None]:
    def work() -> None:
        raise error

    return work


@pytest.mark.parametrize("error", [ZeroDivisionError(), OSError("no number"), RecursionError()])
def test_a_defect_passes_through(error):
    with pytest.raises(type(error)):
        exit_code_of(raising(error), "torsweep")


def test_an_interrupt_is_one_line(capsys):
    assert exit_code_of(raising(KeyboardInterrupt()), "plotting") == 130
    assert capsys.readouterr().err == "plotting: interrupted\n"


def test_a_long_value_is_cut_and_a_long_message_shows_its_beginning_and_its_end(capsys):
    assert len(str(InputError("is no level", value="x" * 1000))) < 120
    long = InputError("is no table", key="k" * 5000, accepted="streams")
    assert exit_code_of(raising(long), "torsweep") == 2
    said = capsys.readouterr().err
    assert len(said) < 1600
    assert said.startswith("torsweep: kkk") and said.endswith("accepted: streams\n")


def test_version():
    result = run_torsweep("--version")
    assert (result.returncode, result.stdout) == (0, f"torsweep {__version__}\n")


@pytest.mark.parametrize("arguments", [["--nonsense"], ["nonsense"], ["network", "nonsense"]])
def test_a_wrong_command_line_is_exit_code_2_without_a_traceback(arguments):
    result = run_torsweep(*arguments)
    assert result.returncode == 2
    assert "nonsense" in result.stderr
    assert "Traceback" not in result.stderr


def test_the_backend_of_a_notebook_stops_nothing(monkeypatch):
    """It may be of a package that is missing here; an experiment's own figures import matplotlib."""
    monkeypatch.setenv("MPLBACKEND", "module://no_such_package.backend")
    checked = run_torsweep("config", "check", "experiments/starvation/experiment.yaml")
    assert (checked.returncode, checked.stderr) == (0, "")
