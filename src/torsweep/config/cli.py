"""``torsweep config``: write the schema of configuration files, list the knobs.

In: the command line. Out: lines on standard output, or the schema in a file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from torsweep.output_options import OutputFile

DIALECT = "https://json-schema.org/draft/2020-12/schema"

config_app = typer.Typer(help="Check configuration files and write their schema.", no_args_is_help=True)


def schema_text() -> str:
    """The JSON schema of every configuration file: under ``$defs`` the sections, in ``knobs`` the levels.

    It is what ``configs/schema.json`` holds; a test fails when that file drifts.
    """
    from pydantic.json_schema import models_json_schema

    from torsweep.config.experiment import Experiment
    from torsweep.config.knobs import KNOBS
    from torsweep.config.network import NetworkConfig

    _, schema = models_json_schema(
        [(NetworkConfig, "validation"), (Experiment, "validation")], title="torsweep configuration"
    )
    document = {
        "$schema": DIALECT,
        "description": "Networks (configs/networks) fit NetworkConfig, experiments fit Experiment.",
        **schema,
        "anyOf": [{"$ref": "#/$defs/NetworkConfig"}, {"$ref": "#/$defs/Experiment"}],
        "knobs": {
            knob.name: {"description": knob.meaning, "accepted": knob.levels.accepted, **knob.levels.schema}
            for knob in KNOBS.values()
        },
    }
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


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
    from torsweep.storage import write_text

    if out is None:
        typer.echo(schema_text(), nl=False)
    else:
        write_text(out, schema_text())


@config_app.command("knobs")
def knobs_command() -> None:
    """List the knobs: what each changes, the levels it accepts, its level in each era."""
    from torsweep.config.eras import ERAS
    from torsweep.config.knobs import KNOBS

    for knob in KNOBS.values():
        typer.echo(f"{knob.name}\n  {knob.meaning}\n  accepted: {knob.levels.accepted}")
        if knob.target == "tor":
            typer.echo("  " + "; ".join(f"{era}: {knob.usual_in(era)}" for era in ERAS))
