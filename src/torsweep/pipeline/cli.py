"""``torsweep config check``.

In: the command line. Out: a line on standard output about each configuration file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer


def check_command(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Networks or experiments, in YAML.")],
) -> None:
    """Say what each file configures, or stop at the first thing wrong."""
    from torsweep.config.experiment import load_experiment
    from torsweep.config.network import load_network_config
    from torsweep.config.replicates import replicates_text
    from torsweep.formats.yaml_file import read_yaml
    from torsweep.network.sampling import input_paths
    from torsweep.pipeline.paths import require_fitting_networks
    from torsweep.storage.folders import EXPERIMENT_FILE

    for file in files:
        # Only experiments ask a question; a file that is neither is told what a network lacks.
        if file.name == EXPERIMENT_FILE or "question" in read_yaml(file):
            experiment = load_experiment(file)
            for name in experiment.plan_names:
                for config in require_fitting_networks(experiment, name):
                    input_paths(config)
            plans = (f"{name} ({len(experiment.plan(name).variants)})" for name in experiment.plan_names)
            typer.echo(f"{file}: an experiment of {replicates_text(experiment.replicates)} replicates")
            typer.echo(f"  plans (variants): {', '.join(plans)}")
            for key, sections in (("tors", experiment.tors), ("options", experiment.options)):
                for name, section in sections.items():
                    said = section.model_dump(mode="json", exclude_unset=True)
                    typer.echo(f"  {key}.{name}: {json.dumps(said)}")
        else:
            network = load_network_config(file)
            input_paths(network)
            relays = f"{network.relay_count} of them relays"
            typer.echo(f"{file}: a network of {network.host_count} hosts, {relays}")
