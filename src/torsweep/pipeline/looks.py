"""Networks in batches until the claims are decided: what ``replicates=auto`` means to the pipeline.

In: the overrides of a user, the wildcards of the rule that looks, and what looks found. Out: paths and
arguments, and the number of networks that a plan ends with.

A look is a checkpoint of the pipeline: what it found says whether the next batch is asked for. Each look is
kept as a file, so that a killed pipeline continues with the look that it had reached.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from torsweep.config.experiment import Experiment
from torsweep.errors import InputError
from torsweep.pipeline.results_tree import Place
from torsweep.pipeline.sweep import Sweep, place_of, set_arguments, stopping_with_a_line
from torsweep.pipeline.traced import run_files


class Looks:
    """The looks of a sweep. ``checkpoint`` is the rule that looks, once the pipeline has it."""

    def __init__(self, sweep: Sweep) -> None:
        self.sweep = sweep
        self.checkpoint: Any = None
        sweep.networks_enough = self.networks_enough

    def networks_enough(self, place: Place, looks: tuple[int, ...]) -> int:
        """The number of networks that the plan of ``place`` ends with.

        Snakemake ends the call at a look that has not been taken yet, and repeats it afterwards.
        """
        for networks in looks[:-1]:
            found = self.checkpoint.get(**asdict(place), networks=networks).output.look
            if json.loads(Path(found).read_text(encoding="utf-8"))["enough"]:
                return networks
        return looks[-1]

    @stopping_with_a_line
    def previous(self, wildcards: Any) -> list[str]:
        """The file of the look before; none for the first."""
        experiment, networks = self._asked(wildcards)
        earlier = [look for look in experiment.looks if look < networks]
        return [str(place_of(wildcards).stage("looks") / f"{earlier[-1]}.json")] if earlier else []

    @stopping_with_a_line
    def runs(self, wildcards: Any) -> list[str]:
        """Every file of the runs of the batch that the look waits for."""
        place = place_of(wildcards)
        files = run_files(self.sweep.experiment(place.experiment))
        return self.sweep.runs_on(place, self._batch(wildcards), files)

    @stopping_with_a_line
    def run_directories(self, wildcards: Any) -> str:
        """The directories of those runs as arguments of a command."""
        return self.sweep.run_directories_on(place_of(wildcards), self._batch(wildcards))

    def arguments(self, wildcards: Any) -> str:
        """``--set key=value`` for what the number of networks depends on."""
        return set_arguments(self.sweep.number_settings())

    def previous_argument(self, wildcards: Any, input: Any) -> str:
        """``--previous FILE``, but for the first look."""
        return f"--previous {input.previous[0]}" if input.previous else ""

    def _batch(self, wildcards: Any) -> range:
        """The seeds that the look is the first to see."""
        experiment, networks = self._asked(wildcards)
        before = max((look for look in experiment.looks if look < networks), default=0)
        return experiment.seeds_of(networks)[before:]

    def _asked(self, wildcards: Any) -> tuple[Experiment, int]:
        experiment, networks = self.sweep.experiment(wildcards.experiment), int(wildcards.networks)
        if networks not in experiment.looks:
            accepted = ", ".join(map(str, experiment.looks)) or "none, as replicates is a number"
            raise InputError("is no look", key="networks", value=networks, accepted=accepted)
        return experiment, networks
