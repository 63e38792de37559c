"""``torsweep config``.

In: the command line. Out: lines on standard output about each configuration file, and about knobs.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

config_app = typer.Typer(help="Check configuration files and list the knobs.", no_args_is_help=True)


@config_app.command("knobs")
def knobs_command() -> None:
    """List the knobs: what each changes, the levels it accepts, its level in each era."""
    from torsweep.config.eras import ERAS
    from torsweep.config.knobs import KNOBS

    for knob in KNOBS.values():
        typer.echo(f"{knob.name}\n  {knob.meaning}\n  accepted: {knob.levels.accepted}")
        if knob.of_tor:
            typer.echo("  " + "; ".join(f"{era}: {knob.usual_in(era)}" for era in ERAS))


@config_app.command("check")
def check_command(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Networks or experiments, in YAML.")],
) -> None:
    """Say what each file configures, or stop at the first thing wrong."""
    from torsweep.config.network import load_network_config
    from torsweep.formats.yaml_file import read_yaml
    from torsweep.network.sampling import input_paths
    from torsweep.storage.folders import EXPERIMENT_FILE

    for file in files:
        # Only experiments ask a question; a file that is neither is told what a network lacks.
        if file.name == EXPERIMENT_FILE or "question" in read_yaml(file):
            _check_experiment(file)
        else:
            network = load_network_config(file)
            input_paths(network)
            relays = f"{network.relay_count} of them relays"
            typer.echo(f"{file}: a network of {network.host_count} hosts, {relays}")


def _check_experiment(file: Path) -> None:
    from torsweep.config.experiment import load_experiment
    from torsweep.config.replicates import replicates_text
    from torsweep.engines.run_settings import require_known_options
    from torsweep.network.sampling import input_paths
    from torsweep.pipeline.checks import require_answerable, require_fitting_networks

    experiment = load_experiment(file)
    require_answerable(experiment)
    for name in experiment.plan_names:
        require_known_options(experiment, experiment.plan(name).variants, experiment.all_tors.__getitem__)
        for config in require_fitting_networks(experiment, name):
            input_paths(config)
    plans = (f"{name} ({len(experiment.plan(name).variants)})" for name in experiment.plan_names)
    typer.echo(f"{file}: an experiment, replicates: {replicates_text(experiment.replicates)}")
    typer.echo(f"  plans (variants): {', '.join(plans)}")
    for key, sections in (("tors", experiment.tors), ("options", experiment.options)):
        for name, section in sections.items():
            keys = section.model_dump(mode="json", exclude_unset=True)
            typer.echo(f"  {key}.{name}: {json.dumps(keys)}")
