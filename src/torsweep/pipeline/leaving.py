"""Results for others: the page of a plan, its published folder and its bundle.

In: the overrides of a user, the wildcards of the rules. Out: paths, and arguments of the commands.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from torsweep.config.fitting import require_fitting_networks
from torsweep.errors import InputError
from torsweep.pipeline.results_tree import TABLE_FILES, Place, network_directory, network_key
from torsweep.pipeline.sweep import (
    FIGURE_SUFFIXES,
    PACKAGE,
    Sweep,
    place_of,
    set_arguments,
    stopping_with_a_line,
)
from torsweep.stats.files import SUMMARY_FILES
from torsweep.storage.published import TOP_FILES

PAGE_TEMPLATES = tuple(
    str(file.relative_to(PACKAGE)) for file in sorted((PACKAGE / "report/templates").glob("*.*"))
)
"""Files that a page depends on beside the modules that make it."""


def published_files(figures: Sequence[str]) -> list[str]:
    """Every file of a published folder, for an experiment that draws ``figures``."""
    return [
        *TOP_FILES,
        *(f"tables/{name}" for name in TABLE_FILES),
        *(f"summaries/{name}" for name in SUMMARY_FILES),
        *(f"figures/{name}.{suffix}" for name in figures for suffix in FIGURE_SUFFIXES),
    ]


class Leaving:
    """The pages and bundles of a sweep, whose ``config`` may name the only experiment that is asked for."""

    def __init__(self, sweep: Sweep, config: Mapping[str, Any]) -> None:
        self.sweep = sweep
        self._only = sweep.overrides.experiment if "experiment" in config else None

    @stopping_with_a_line
    def pages(self, *experiment_names: str) -> list[str]:
        """The page of each experiment that has the plan and can run on the network, and what it is made of.

        When no experiment has a page, the error says why the first one has none.
        """
        return self._of_each(experiment_names, lambda place: [place.page])

    @stopping_with_a_line
    def bundles(self, *experiment_names: str) -> list[str]:
        """What is published of each of these that can run: a folder, and the same as a zip."""

        return self._of_each(
            experiment_names, lambda place: [*self._published(place), place.page, place.bundle]
        )

    @stopping_with_a_line
    def published(self, wildcards: Any) -> list[str]:
        """Every file of the published folder of a plan."""
        return list(map(str, self._published(place_of(wildcards))))

    def _published(self, place: Place) -> list[Path]:
        figures = self.sweep.experiment(place.experiment).figures
        return [place.stage("publish") / name for name in published_files(figures)]

    def _of_each(self, names: tuple[str, ...], more: Callable[[Place], list[Path]]) -> list[str]:
        asked = names if self._only is None else (self._only,)
        having = [name for name in asked if self._can_run(name)]
        files = []
        for name in having or asked:
            experiment, place = self.sweep.asked(name)
            files += [*self.sweep.plan_files(experiment, place), *map(str, more(place))]
        return files

    def _can_run(self, experiment_name: str) -> bool:
        experiment = self.sweep.experiment(experiment_name)
        try:
            require_fitting_networks(experiment, self.sweep.overrides.plan)
        except InputError:
            return False
        return True

    @stopping_with_a_line
    def network_directories(self, wildcards: Any) -> str:
        """The folders of a plan's networks as arguments; Bash expands the seeds, as it does those of runs."""
        place = place_of(wildcards)
        seeds = self.sweep.seeds_of(place)
        variants = self.sweep.experiment(place.experiment).plan(place.plan).variants
        keys = dict.fromkeys(network_key(place.network, variant) for variant in variants)
        braces = f"{{{seeds[0]}..{seeds[-1]}}}"
        return " ".join(str(network_directory(key, braces)) for key in keys)

    def settings(self, wildcards: Any) -> str:
        """``--set key=value`` for what the claims were judged with."""
        return set_arguments(self.sweep.number_settings())

    def credit(self, wildcards: Any) -> str:
        """``--author`` and ``--licence``, where the user says who made the results and how they may be
        used."""
        overrides = self.sweep.overrides
        authors = [name.strip() for name in (overrides.authors or "").split(";")]
        arguments = [f"--author {shlex.quote(name)}" for name in authors if name]
        if overrides.licence is not None:
            arguments.append(f"--licence {shlex.quote(overrides.licence)}")
        return " ".join(arguments)
