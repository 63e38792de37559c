"""Where the runs of a comparison stand, and what Snakemake makes of it.

In: the names that tell a plan's results from others. Out: run directories by series; input functions of the
rules in ``rules/fidelity.smk``. Repeats and replays have trees of their own beside ``results/runs``, with
the same levels, so that no table of an experiment ever takes them for its runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from torsweep.config.variant import Variant
from torsweep.engines.run_spec import PROVENANCE_FILE
from torsweep.engines.selection import require_engine
from torsweep.errors import InputError
from torsweep.fidelity.matches import MODEL, MODEL_REPEAT, REFERENCE, REFERENCE_REPEAT, REPLAY, SERIES
from torsweep.pipeline.results_tree import RESULTS, Place
from torsweep.pipeline.sweep import FIGURE_SUFFIXES, Sweep, stopping_with_a_line

TREES = {
    REFERENCE: ("runs", "shadow"),
    MODEL: ("runs", "cellsim"),
    REPLAY: ("replays", "cellsim"),
    REFERENCE_REPEAT: ("repeats", "shadow"),
    MODEL_REPEAT: ("repeats", "cellsim"),
}
"""Tree and engine of each series."""


def run_directory(series: str, place: Place, variant: Variant, seed: int | str) -> Path:
    """The folder of a run of ``series``; the engine of ``place`` does not count."""
    tree, engine = TREES[series]
    there = Place(place.experiment, engine, place.era, place.network, place.plan)
    return RESULTS / tree / there.run_directory(variant, seed).relative_to(RESULTS / "runs")


def finished_runs(
    place: Place, variants: Sequence[Variant], seeds: Iterable[int | str]
) -> dict[str, list[Path]]:
    """The folders of all finished runs of the variants on the networks of ``seeds``, by series."""
    found: dict[str, list[Path]] = {series: [] for series in SERIES}
    for series, variant, seed in ((s, v, n) for s in SERIES for v in variants for n in seeds):
        directory = run_directory(series, place, variant, seed)
        if (directory / PROVENANCE_FILE).is_file():
            found[series].append(directory)
    return found


class FidelityPlan:
    """What a comparison is made of, under the overrides of a user.

    With ``compare=finished`` the reference's runs are taken as they stand, and none is started.
    """

    def __init__(self, sweep: Sweep) -> None:
        self.sweep = sweep
        self.only_finished = sweep.overrides.compare == "finished"

    @stopping_with_a_line
    def targets(self) -> list[str]:
        """The text of the comparison and its figures."""
        experiment = self.sweep.experiment(self.sweep.overrides.experiment)
        engines = {engine for _, engine in TREES.values()}
        unlisted = sorted(engines - set(experiment.engines))
        if unlisted:
            raise InputError(
                f"does not list the engine {unlisted[0]}",
                file=experiment.name,
                accepted="an experiment of both",
            )
        for engine in sorted(engines - ({"shadow"} if self.only_finished else set())):
            require_engine(engine)
        plan = experiment.plan(self.sweep.overrides.plan)
        folder = RESULTS.joinpath("fidelity", experiment.name, experiment.era, experiment.network, plan.name)
        place = Place(experiment.name, "shadow", experiment.era, experiment.network, plan.name)
        variants = plan.variants
        if self.only_finished:
            done = {path.name for path in finished_runs(place, variants, experiment.seeds)[REFERENCE]}
            variants = tuple(variant for variant in variants if variant.key in done)
            if not variants:
                raise InputError(
                    "no run in shadow is finished", file=place.run_directory(plan.baseline, "*").parents[1]
                )
        figures = ["overview", *(f"curves/{variant.key}" for variant in variants)]
        return [
            str(folder / "fidelity.md"),
            *(f"{folder}/{name}.{suffix}" for name in figures for suffix in FIGURE_SUFFIXES),
        ]

    @stopping_with_a_line
    def runs(self, wildcards: Any) -> list[str]:
        """The provenance of every run that the comparison waits for."""
        experiment = self.sweep.experiment(wildcards.experiment)
        place = Place(wildcards.experiment, "shadow", wildcards.era, wildcards.network, wildcards.plan)
        plan = experiment.plan(wildcards.plan)
        there = finished_runs(place, plan.variants, experiment.seeds)[REFERENCE]
        wanted = []
        for variant in plan.variants:
            for seed in experiment.seeds:
                original = run_directory(REFERENCE, place, variant, seed)
                if self.only_finished and original not in there:
                    continue
                series = [MODEL, MODEL_REPEAT]
                if not self.only_finished or (original / "circuits.parquet").is_file():
                    series.append(REPLAY)
                if not self.only_finished:
                    series.append(REFERENCE)
                    # A repeat of each variant would double what a comparison costs.
                    series += [REFERENCE_REPEAT] * (variant == plan.baseline)
                wanted += [run_directory(one, place, variant, seed) for one in series]
        return [str(directory / PROVENANCE_FILE) for directory in wanted]

    def replayed_run(self, wildcards: Any) -> list[str]:
        """The run whose circuits are replayed; one that only has to be there is not waited for."""
        return [] if self.only_finished else [f"{self.replayed_directory(wildcards)}/{PROVENANCE_FILE}"]

    def replayed_directory(self, wildcards: Any) -> str:
        """Its folder."""
        levels = (wildcards.era, wildcards.network, wildcards.seed, wildcards.variant)
        return str(RESULTS.joinpath("runs", wildcards.experiment, TREES[REFERENCE][1], *levels))

    @stopping_with_a_line
    def seeds(self, wildcards: Any) -> str:
        """The seeds of the networks, ``1-8``."""
        seeds = self.sweep.experiment(wildcards.experiment).seeds
        return f"{seeds[0]}-{seeds[-1]}"
