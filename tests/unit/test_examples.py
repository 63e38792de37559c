"""The examples in ``--help``: each is a command line that torsweep takes."""

from __future__ import annotations

import shlex

import pytest
import typer

from tests.unit.test_outputs import COMMANDS
from torsweep.cli import EXAMPLES, app, with_examples


def test_examples_are_of_commands_that_there_are():
    assert set(EXAMPLES) <= {"", *COMMANDS}


@pytest.mark.parametrize("line", [line for lines in EXAMPLES.values() for line in lines])
def test_an_example_is_taken(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = shlex.split(line)
    assert words.pop(0) == "torsweep"
    name = next(name for name in COMMANDS if words[: len(name.split())] == name.split())
    given = words[len(name.split()) :]
    # Options that are wrong or missing are refused here; nothing runs.
    COMMANDS[name].make_context(name, given)


def test_examples_stand_at_the_end_of_help_line_by_line():
    tree = with_examples(typer.main.get_command(app))
    compare = tree.commands["compare"]
    text = compare.get_help(compare.make_context("compare", []))
    assert text.rstrip().endswith("\n".join(("Examples:", *(f"    {line}" for line in EXAMPLES["compare"]))))
