"""The commands ``torsweep network``, ``latency``, ``bandwidth`` and ``relays``.

In: command lines. Out: network directories and imported tables, and what there is to say about them
on standard output. Modules that only one command needs are imported inside it, so that sampling a
network does not wait for them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from torsweep.errors import InputError

network_app = typer.Typer(help="Sample networks and describe them.", no_args_is_help=True)
latency_app = typer.Typer(help="Import measured latencies.", no_args_is_help=True)
bandwidth_app = typer.Typer(help="Import measured client bandwidths.", no_args_is_help=True)
relays_app = typer.Typer(help="Import relay populations from a directory's documents.", no_args_is_help=True)

Out = Annotated[Path, typer.Option("--out", help="Folder to write; replaced when it exists.")]


@network_app.command()
def sample(
    config: Annotated[str, typer.Argument(help="Name of a network, or path of its YAML file.")],
    seed: Annotated[int, typer.Option(min=0, help="Which network of this configuration.")],
    out: Out,
    overrides: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Override a key of CONFIG.")
    ] = None,
) -> None:
    """Sample a network: the same bytes for the same configuration and seed."""
    from torsweep.config.network import load_network_config
    from torsweep.network.model import write_network
    from torsweep.network.sampling import sample_network

    sampled = sample_network(load_network_config(config, _overrides(overrides or [])), seed)
    write_network(sampled.network, sampled.latency.blocks(), out)


def _overrides(settings: list[str]) -> dict[str, object]:
    """``KEY=VALUE`` settings as a mapping. Raises InputError for anything else."""
    pairs = [setting.partition("=") for setting in settings]
    for key, equals, value in pairs:
        if not (key and equals and value):
            raise InputError(
                "not a setting", key="--set", value=f"{key}{equals}{value}", accepted="KEY=VALUE"
            )
    return {key: value for key, _, value in pairs}


@network_app.command()
def describe(
    directory: Annotated[Path, typer.Argument(help="A network directory.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Say what a network is like: capacity, latencies, bandwidths, and its regime."""
    import json

    from torsweep.network import describe as description
    from torsweep.network.model import read_network

    found = description.describe(*read_network(directory))
    if as_json:
        print(json.dumps(found.document(), indent=1))
    else:
        from torsweep.network.description_text import print_description

        print_description(found)
