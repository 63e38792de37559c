"""The command that makes a plan's results again.

In: what the tables of a plan say of themselves, its experiment, and which of its keys were replaced. Out: the
command line, quoted for a shell.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from torsweep import __version__
from torsweep.config.experiment import EXPERIMENTS_DIRECTORY, Experiment
from torsweep.config.replicates import numbers_by_level
from torsweep.home import CHECKOUT
from torsweep.runsets.public_tor import USUAL_PUBLIC_TOR
from torsweep.runsets.reading import SOURCES_JOINED_BY, Provenance
from torsweep.runsets.sources import SEPARATOR, parse_sources
from torsweep.storage.folders import EXPERIMENT_FILE
from torsweep.units import NANOSECONDS_PER, format_quantity

_PRECISION = "precision."


def repeat_overrides(
    provenance: Provenance,
    experiment: Experiment,
    settings: Mapping[str, object],
    live_tor: str | Path | None = None,
) -> dict[str, str]:
    """What ``snakemake --config`` has to say so that runs and verdicts are those of ``provenance``.

    ``experiment`` has ``settings``, such as ``precision.margin``, applied; ``live_tor`` the file of public
    Tor beside them.
    """
    engines = provenance.engine.replace(SOURCES_JOINED_BY, SEPARATOR)
    warm_up_ns, duration_ns = provenance.warm_up_ns, provenance.duration_ns
    precision = {key.removeprefix(_PRECISION): value for key, value in settings.items() if _PRECISION in key}
    replicates = str(len(provenance.seeds))
    listed = ", ".join(f"{key}: {value}" for key, value in precision.items())
    # Where nothing has run yet, runs of tor that others are compared with are not taken, but made.
    of_tor = SEPARATOR in engines and any(source.runs_tor for source in parse_sources(engines))
    return {
        "network": provenance.network,
        "engine": engines,
        **({"runs": "all"} if of_tor else {}),
        "era": provenance.era,
        "plan": provenance.plan,
        **({} if numbers_by_level(experiment.replicates) else {"replicates": replicates}),
        "first_seed": str(min(provenance.seeds)),
        "warm_up": format_quantity(warm_up_ns, NANOSECONDS_PER),
        "measured": format_quantity(duration_ns - warm_up_ns, NANOSECONDS_PER),
        **({"precision": f"{{{listed}}}"} if listed else {}),
        **({"live_tor": str(live_tor)} if live_tor not in (None, USUAL_PUBLIC_TOR.name) else {}),
    }


def repeat_command(overrides: Mapping[str, str], experiment: str) -> str:
    """The command line that makes runs, figures, page and bundle, with :func:`repeat_overrides`."""
    stated = {"experiment": experiment, **overrides}
    arguments = " ".join(shlex.quote(f"{key}={value}") for key, value in stated.items())
    return f"snakemake --cores 8 publish --config {arguments}"


def repeat_place(experiment: Experiment) -> str:
    """Where this command makes them: where the pipeline has the same experiment.yaml."""
    name = EXPERIMENTS_DIRECTORY / experiment.name / EXPERIMENT_FILE
    ships, own = CHECKOUT / name, experiment.file
    if own is None or (ships.is_file() and ships.read_bytes() == own.read_bytes()):
        return f"a checkout of torsweep {__version__}"
    return f"a study of torsweep {__version__} that has this experiment.yaml as {name}"
