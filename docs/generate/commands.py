"""The page of commands: each command of ``torsweep`` with its arguments, options and examples.

In: the tree of commands, as the command line builds it. Out: the page, in the words of ``--help``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

from docs.generate.markdown import code, prose, table
from torsweep.cli import EXAMPLES, app
from torsweep.errors import InputError, OutputError, ToolMissing, TorsweepError

HELP = "--help"
ENDS = (TorsweepError, InputError, OutputError, ToolMissing)


def commands_page() -> list[str]:
    """Every command, those of a group below it."""
    root = typer.main.get_command(app)
    context = typer.Context(root, info_name="torsweep")
    lines = ["# Commands", "", prose(root.help), "", *_parameters(root, context)]
    lines += ["Every command has `--help`. Each ends with 0, or with one line that says what is wrong:", ""]
    lines += [f"- {prose(str(end.__doc__).splitlines()[0])}" for end in ENDS]
    lines += [""]
    for command, inner in _commands(root, context):
        words = inner.command_path.split()[1:]
        lines += [f"{'#' * (1 + len(words))} {inner.command_path}", "", prose(command.help), ""]
        lines += _parameters(command, inner)
        if examples := EXAMPLES.get(" ".join(words)):
            lines += ["```sh", *examples, "```", ""]
    return lines


def _commands(group: Any, context: Any) -> Iterator[tuple[Any, Any]]:
    """Each command below ``group`` with its context; single commands come before groups."""
    for name, command in sorted(group.commands.items(), key=lambda each: hasattr(each[1], "commands")):
        inner = typer.Context(command, info_name=name, parent=context)
        yield command, inner
        if hasattr(command, "commands"):
            yield from _commands(command, inner)


def _parameters(command: Any, context: Any) -> list[str]:
    records = [parameter.get_help_record(context) for parameter in command.get_params(context)]
    shown = [record for record in records if record and not record[0].startswith((HELP, "-h"))]
    return table(("argument or option", "meaning"), [(code(name), prose(said)) for name, said in shown])
