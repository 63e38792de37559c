"""``torsweep config``: check configuration files, write their schema, list the knobs.

    torsweep config check FILE...
    torsweep config schema [--out configs/schema.json]
    torsweep config knobs

In: the command line. Out: lines on standard output, or the schema in a file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from torsweep.output_options import OutputFile

config_app = typer.Typer(help="Check configuration files and write their schema.", no_args_is_help=True)


@config_app.command("schema")
def schema_command(
    out: Annotated[
        Path | None,
        typer.Option(
            parser=OutputFile("torsweep configuration"),
            help="File to write; standard output when left out.",
        ),
    ] = None,
) -> None:
    """Write the JSON schema of the configuration files."""
    from torsweep.config.schema import schema_text
    from torsweep.storage import write_text

    if out is None:
        typer.echo(schema_text(), nl=False)
    else:
        write_text(out, schema_text())


@config_app.command("knobs")
def knobs_command() -> None:
    """List the knobs: what each turns, the levels it accepts, its level in each era."""
    from torsweep.config.eras import ERAS
    from torsweep.config.knobs import KNOBS

    for knob in KNOBS.values():
        typer.echo(f"{knob.name}\n  {knob.meaning}\n  accepted: {knob.levels.accepted}")
        if knob.target == "tor":
            typer.echo("  " + "; ".join(f"{era}: {knob.usual_in(era)}" for era in ERAS))
