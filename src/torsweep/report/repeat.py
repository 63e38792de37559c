"""The command that makes a plan's results again.

In: what the tables of a plan say of themselves, its experiment, and which of its keys were replaced. Out: the
command line, quoted for a shell.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from torsweep.config.experiment import Experiment
from torsweep.config.replicates import AUTO, numbers_by_level
from torsweep.runsets.reading import SOURCES_JOINED_BY, Provenance
from torsweep.units import NANOSECONDS_PER, format_quantity

_PRECISION = "precision."


def repeat_overrides(
    provenance: Provenance, experiment: Experiment, settings: Mapping[str, object]
) -> dict[str, str]:
    """What ``snakemake --config`` has to say so that runs and verdicts are those of ``provenance``.

    ``experiment`` has ``settings``, such as ``precision.batch``, applied.
    """
    warm_up_ns, duration_ns = provenance.warm_up_ns, provenance.duration_ns
    precision = {key.removeprefix(_PRECISION): value for key, value in settings.items() if _PRECISION in key}
    replicates = AUTO if experiment.interim else str(len(provenance.seeds))
    listed = ", ".join(f"{key}: {value}" for key, value in precision.items())
    return {
        "network": provenance.network,
        "engine": provenance.engine.replace(SOURCES_JOINED_BY, ","),
        "era": provenance.era,
        "plan": provenance.plan,
        **({} if numbers_by_level(experiment.replicates) else {"replicates": replicates}),
        "first_seed": str(min(provenance.seeds)),
        "warm_up": format_quantity(warm_up_ns, NANOSECONDS_PER),
        "measured": format_quantity(duration_ns - warm_up_ns, NANOSECONDS_PER),
        **({"precision": f"{{{listed}}}"} if listed else {}),
    }


def repeat_command(overrides: Mapping[str, str], *targets: str) -> str:
    """``snakemake --cores 8 TARGETS --config …`` with :func:`repeat_overrides`."""
    arguments = " ".join(shlex.quote(f"{key}={value}") for key, value in overrides.items())
    return f"snakemake --cores 8 {' '.join(targets)} --config {arguments}"
