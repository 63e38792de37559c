"""What the pipeline needs on a cluster: Snakemake's plugin for its scheduler.

In: the environment that Snakemake runs in. Out: nothing, or the process ends with one line and exit code 3.
The profile calls this while Snakemake reads it (profiles/slurm/config.yaml); Snakemake alone would say that
``slurm`` is an invalid choice.
"""

from __future__ import annotations

import importlib.util

from torsweep.errors import ToolMissing
from torsweep.pipeline.sweep import stop

SLURM_PLUGIN = "snakemake-executor-plugin-slurm"


def require_slurm_plugin() -> None:
    """End the process with a line that says what to install when Snakemake cannot send jobs to Slurm."""
    if importlib.util.find_spec(SLURM_PLUGIN.replace("-", "_")) is None:
        stop(
            ToolMissing(
                f"profiles/slurm: {SLURM_PLUGIN} is not installed; `make setup` installs it,"
                f" elsewhere pip install {SLURM_PLUGIN}"
            )
        )
