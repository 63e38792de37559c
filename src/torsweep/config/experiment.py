"""Experiments: a question, the knobs that may answer it, and the claims to be judged.

In: ``experiments/NAME/experiment.yaml`` and overrides. Out: an :class:`Experiment`, and from it the
:class:`Plan` of variants to run: ``main``, or one of its sensitivities.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, PrivateAttr, StrictBool, model_validator
from pydantic.json_schema import SkipJsonSchema

from torsweep.config.conflux import CONFLUX
from torsweep.config.eras import EraName, tor_settings, usual_levels
from torsweep.config.knobs import CONSENSUS, DEFAULT_OPTIONS, NO_PROGRAMS, STOCK_TOR
from torsweep.config.network import NetworkName
from torsweep.config.option_bundle import OptionBundle
from torsweep.config.programs import Programs, check_times
from torsweep.config.reading import RefusedValue, Section, apply_overrides, suggestion, validate
from torsweep.config.replicates import (
    Precision,
    ReplicatesByLevel,
    check_levels,
    first_seeds,
    most_networks,
)
from torsweep.config.shadow_options import SHADOWS_DEFAULTS, ShadowOptions
from torsweep.config.tors import TorSource, VariantTors, all_tors, check_tors, variant_tors
from torsweep.config.tracing import PASSAGE_POINTS, Record, Tracing
from torsweep.config.traffic import GROUPS, MEASURING_TRAFFIC, Duration, Traffic
from torsweep.config.variant import (
    FREE,
    Grid,
    Level,
    Names,
    Pairing,
    Plan,
    Variant,
    check_contents,
    check_grid,
    check_names,
)
from torsweep.errors import InputError
from torsweep.formats.yaml_file import read_yaml
from torsweep.home import find, find_all
from torsweep.seeds import MOST_SEED
from torsweep.storage.folders import EXPERIMENT_FILE
from torsweep.units import Between, DurationNs

EXPERIMENTS_DIRECTORY = Path("experiments")
"""A study may have this folder beside the checkout's: see :mod:`torsweep.home`."""

MAIN_PLAN = "main"

FigureName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
Measured = Annotated[DurationNs, Between("1 s", "24 h")]
Seed = Annotated[int, Field(strict=True, ge=0, le=MOST_SEED)]
Era = Annotated[EraName, BeforeValidator(lambda value: str(value) if isinstance(value, int) else value)]
"""An era; YAML reads an unquoted ``2012`` as a number."""

Sentence = Annotated[str, Field(min_length=1, max_length=2_000, pattern=r"\S")]
PlanName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=64)]
LevelName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=64)]
"""A level that an experiment defines; paths contain it."""

_NEEDED: Mapping[Record, tuple[str, str]] = {
    "progress": ("the table of progress", "progress: true"),
    "cells": ("the times of cells", f"tracing, with hosts and the points {', '.join(PASSAGE_POINTS)}"),
    "breakdown": ("what followed downloads waited for", "tracing, with downloads: 1 or more"),
}
"""What a record is, and the keys that ask for it."""


class Report(Section):
    """The report that the experiment repeats or answers."""

    title: Sentence
    """What it is called, with the year."""
    source: Sentence
    """Where it is: an address of the web, or a text that names it."""
    names: Mapping[str, Sentence] = Field(default_factory=dict)
    """What figures and the page call levels that have other names here."""

    @property
    def address(self) -> str | None:
        """``source`` where it is an address of the web, None where it is a text."""
        return self.source if re.fullmatch(r"https?://[^\s<>\"]+", self.source) else None


class Experiment(Section):
    """One experiment; durations are nanoseconds of simulated time."""

    name: Annotated[SkipJsonSchema[str], Field(exclude=True)]
    """The name of its folder; no key of the file."""
    question: Sentence
    """What it asks, in a sentence."""
    report: Report
    """The report that it repeats or answers."""
    engines: Annotated[tuple[str, ...], Field(min_length=1)]
    """The engines that can run it; a run takes one of them."""
    era: Era
    """The settings of tor around the knobs: ``2012`` as the reports measured it, ``2019`` as OnionPerf met
    it, ``today`` with the consensus of a stated date."""
    network: NetworkName
    """A file of ``configs/networks/``, without its suffix."""
    replicates: ReplicatesByLevel
    """How many networks; or a number for each level of one knob that makes networks of its own."""
    precision: Precision = Precision()
    """The least difference that counts, and how often somebody has looked."""
    first_seed: Seed = 1
    """The seed of the first network; each further one has the next number."""
    warm_up: Duration
    """Simulated time at the start; downloads that start in it are left out of every result."""
    measured: Measured
    """Simulated time after the warm-up, in which downloads count."""
    client_start_window: Duration
    """Clients start at random within this time, each in the middle of its first download, as they would be
    found; with ``0 s`` all start at once, with whole downloads. It is never longer than the warm-up."""
    progress: StrictBool = False
    """Whether runs record how far each download was at what time."""
    pairing: Pairing = FREE
    """``paths``: circuits of a client take the same paths in every variant of a network; ``free``: tor
    chooses."""
    tracing: Tracing | None = None
    """Whose cells are recorded, and which downloads are followed."""
    knobs: Annotated[Grid, Field(min_length=1)]
    """The knobs and their levels, in the order of figures; every combination is a variant."""
    baseline: Mapping[str, Level]
    """One level of each knob: the variant that the others are compared with."""
    sensitivities: Mapping[PlanName, Grid] = Field(default_factory=dict)
    """Further plans by name; their knobs replace those of the main plan, or come after them."""
    tors: Mapping[LevelName, TorSource] = Field(default_factory=dict)
    """Tors by name, which are levels of the knob ``tor``."""
    options: Mapping[LevelName, OptionBundle] = Field(default_factory=dict)
    """Option bundles by name, which are levels of the knob ``options``."""
    programs: Mapping[LevelName, Programs] = Field(default_factory=dict)
    """Programs on hosts by name, which are levels of the knob ``programs``: one, or a list."""
    shadow: ShadowOptions = SHADOWS_DEFAULTS
    """Options of Shadow's own, for runs under Shadow."""
    traffic: Traffic
    """What clients download, and how long they pause."""
    figures: Annotated[tuple[FigureName, ...], Field(min_length=1)]
    """The figures to draw."""
    claims: tuple[Mapping[str, Any], ...] = ()
    """The findings of the report, each as a test."""

    _file: Path | None = PrivateAttr(None)

    @property
    def file(self) -> Path | None:
        """The file that it was read from."""
        return self._file

    @property
    def duration_ns(self) -> int:
        """How long a run lasts in simulated time."""
        return self.warm_up + self.measured

    @property
    def seeds(self) -> range:
        """The seeds of the networks: as many as the level with the most of them has."""
        return range(self.first_seed, self.first_seed + most_networks(self.replicates))

    def own_seeds(self, variant: Variant) -> range:
        """The seeds that ``variant`` runs on: all, or the first ones, as many as its level has."""
        return first_seeds(self.replicates, dict(variant.levels), self.seeds)

    @property
    def plan_names(self) -> tuple[str, ...]:
        """``main`` and the sensitivities."""
        return (MAIN_PLAN, *self.sensitivities)

    def plan(self, name: str = MAIN_PLAN) -> Plan:
        """The plan ``name``: a sensitivity's knobs replace those of the main grid, or come after them.

        Its baseline is the experiment's; for a knob that the experiment leaves alone, or whose level a
        sensitivity leaves out, it is the era's level, or else the first there is. InputError for an unknown
        plan.
        """
        if name not in self.plan_names:
            problem = f"{self.name} has no such plan{suggestion(name, self.plan_names)}"
            raise InputError(problem, key="plan", value=name, accepted=", ".join(self.plan_names))
        changed = {} if name == MAIN_PLAN else self.sensitivities[name]
        usual = {**usual_levels(self.era), **self.baseline}
        return Plan.over(name, {**self.knobs, **changed}, usual)

    def variant(self, text: str) -> Variant:
        """The variant ``text`` (``knob=level,…``) in this experiment's order, the baseline filled in;
        InputError for an unknown knob or level."""
        levels = dict(Variant.parse(text).levels) if text else {}
        check_names(levels, self.names)
        ordered = {knob: levels.pop(knob, self.baseline[knob]) for knob in self.knobs}
        return Variant((*ordered.items(), *levels.items()))

    @property
    def names(self) -> Names:
        """The levels whose names the experiment defines, by their knob."""
        return {
            "tor": tuple(self.all_tors),
            "options": tuple(self.bundles),
            "programs": tuple(self.all_programs),
        }

    @property
    def all_tors(self) -> Mapping[str, TorSource]:
        """The tors by name: ``stock``, which every experiment has, and the experiment's."""
        return all_tors(self.tors)

    def tors_of(self, variant: Variant) -> VariantTors:
        """The tors that ``variant`` runs."""
        level = dict(variant.levels).get("tor", STOCK_TOR)
        return variant_tors(self.all_tors, level, self.baseline.get("tor", STOCK_TOR))

    @property
    def bundles(self) -> Mapping[str, OptionBundle]:
        """The option bundles by name: ``default``, which is empty, and the experiment's."""
        return {DEFAULT_OPTIONS: OptionBundle(), **self.options}

    def bundle(self, variant: Variant) -> OptionBundle:
        """The torrc lines and consensus parameters of ``variant``: of its bundle and of its knobs."""
        bundle = self.bundles[dict(variant.levels).get("options", DEFAULT_OPTIONS)]
        parameters = {
            knob.removeprefix(CONSENSUS): int(level)
            for knob, level in variant.levels
            if knob.startswith(CONSENSUS)
        }
        return bundle.model_copy(update={"consensus": {**bundle.consensus, **parameters}})

    @property
    def all_programs(self) -> Mapping[str, Programs]:
        """The programs by name: ``none``, and the experiment's."""
        return {NO_PROGRAMS: (), **self.programs}

    def programs_of(self, variant: Variant) -> Programs:
        """What ``variant`` runs beside tor and its clients."""
        return self.all_programs[dict(variant.levels).get("programs", NO_PROGRAMS)]

    @model_validator(mode="after")
    def _levels_of_its_own_differ(self) -> Self:
        check_tors(self.all_tors)
        if self.bundles[DEFAULT_OPTIONS] != OptionBundle():
            problem, accepted = "is the bundle without options", "{}; another name for options"
            raise RefusedValue(problem, key=f"options.{DEFAULT_OPTIONS}", accepted=accepted)
        check_contents("options", {name: bundle.content for name, bundle in self.bundles.items()})
        if self.all_programs[NO_PROGRAMS]:
            accepted = "another name for programs"
            raise RefusedValue(
                "is the level without programs", key=f"programs.{NO_PROGRAMS}", accepted=accepted
            )
        check_contents("programs", self.all_programs)
        for name, programs in self.programs.items():
            check_times(f"programs.{name}", programs, self.duration_ns)
        knobs = {knob for grid in (self.knobs, *self.sensitivities.values()) for knob in grid}
        parameters = {knob.removeprefix(CONSENSUS): 0 for knob in knobs if knob.startswith(CONSENSUS)}
        changes = {f"options.{name}": bundle for name, bundle in self.bundles.items()}
        changes["knobs"] = OptionBundle.model_construct(consensus=parameters)
        for where, bundle in changes.items():
            if self.pairing != FREE and bundle.about_paths:
                problem = f"would hide what {where} changes: {bundle.about_paths} is about paths"
                raise RefusedValue(problem, key="pairing", value=self.pairing, accepted=FREE)
        if self.pairing != FREE and CONFLUX.name in knobs:
            problem = "is about circuits that take no common paths"
            raise RefusedValue(problem, key=f"knobs.{CONFLUX.name}", accepted=f"pairing: {FREE}")
        return self

    @model_validator(mode="after")
    def _somebody_downloads(self) -> Self:
        # A claim is only checked with its test: its kind may be anything here.
        groups = (group for group, kinds in GROUPS.items() if MEASURING_TRAFFIC.keys() >= set(kinds))
        measuring = (*MEASURING_TRAFFIC, *groups)
        measured = any(claim.get("kind") == kind for claim in self.claims for kind in measuring)
        if not self.traffic.kinds and not measured:
            raise RefusedValue("missing key", key="traffic.web", accepted="web, bulk")
        return self

    @model_validator(mode="after")
    def _seeds_are_seeds(self) -> Self:
        most = most_networks(self.replicates)
        if self.seeds[-1] > MOST_SEED:
            accepted = f"at most {MOST_SEED - most + 1} for {most} replicates"
            problem = "the seeds of the replicates are too large"
            raise RefusedValue(problem, key="first_seed", value=self.first_seed, accepted=accepted)
        return self

    @model_validator(mode="after")
    def _grids_are_sound(self) -> Self:
        check_grid("knobs", self.knobs, self.names)
        for name, grid in self.sensitivities.items():
            if name == MAIN_PLAN:
                raise RefusedValue("is the name of the experiment's own plan", key=f"sensitivities.{name}")
            check_grid(f"sensitivities.{name}", grid, self.names)
        check_levels(self.replicates, [(name, self.plan(name).knobs) for name in self.plan_names])
        return self

    @model_validator(mode="after")
    def _baseline_is_in_the_grid(self) -> Self:
        for knob in self.baseline:
            if knob not in self.knobs:
                accepted = ", ".join(self.knobs)
                problem = f"is none of the experiment's knobs{suggestion(knob, list(self.knobs))}"
                raise RefusedValue(problem, key=f"baseline.{knob}", accepted=accepted)
        for knob, levels in self.plan().knobs.items():
            if knob not in self.baseline:
                raise RefusedValue("missing key", key=f"baseline.{knob}", accepted=", ".join(levels))
            if self.baseline[knob] not in levels:
                problem, value = "is none of the knob's levels here", self.baseline[knob]
                raise RefusedValue(problem, key=f"baseline.{knob}", value=value, accepted=", ".join(levels))
        return self

    @model_validator(mode="after")
    def _variants_are_runnable(self) -> Self:
        for name in self.plan_names:
            for variant in self.plan(name).variants:
                try:
                    tor_settings(self.era, dict(variant.levels))
                except InputError as error:
                    key = "knobs" if name == MAIN_PLAN else f"sensitivities.{name}"
                    raise RefusedValue(str(error), key=key) from error
        return self

    @property
    def records(self) -> tuple[Record, ...]:
        """The records, beside downloads and relays, that statistics and claims of this experiment can use."""
        tracing = self.tracing
        cells = tracing is not None and bool(tracing.hosts) and not set(PASSAGE_POINTS) - set(tracing.points)
        recorded: dict[Record, bool] = {
            "progress": self.progress,
            "cells": cells,
            "breakdown": tracing is not None and tracing.downloads > 0,
        }
        return tuple(record for record, is_recorded in recorded.items() if is_recorded)

    def require_record(self, record: Record | None, key: str, value: str | None = None) -> None:
        """RefusedValue for ``key``, of a claim or figure, unless the runs record what it rests on."""
        if record is not None and record not in self.records:
            problem, accepted = _NEEDED[record]
            raise RefusedValue(f"needs {problem}", key=key, value=value, accepted=accepted)


def experiment_names() -> list[str]:
    """The experiments that there are: those of the study and those that ship, in alphabetical order."""
    return [file.parent.name for file in find_all(EXPERIMENTS_DIRECTORY, f"*/{EXPERIMENT_FILE}")]


def experiment_path(name_or_path: str | Path) -> Path:
    """The experiment.yaml of an experiment given by name, by folder or by file; InputError, with the names
    there are, when there is none."""
    path = Path(name_or_path)
    if path.suffix in (".yaml", ".yml"):
        return find(path)
    folder = path if len(path.parts) > 1 else EXPERIMENTS_DIRECTORY / path
    file = find(folder / EXPERIMENT_FILE)
    if not file.is_file():
        names = experiment_names()
        problem = f"no such experiment{suggestion(folder.name, names)}"
        accepted = ", ".join(names) or f"a folder in {EXPERIMENTS_DIRECTORY}"
        raise InputError(problem, value=str(name_or_path), accepted=accepted)
    return file


def load_experiment(name_or_path: str | Path, overrides: Mapping[str, object] | None = None) -> Experiment:
    """The experiment of that name (that of its folder) or in that file, with ``overrides`` applied;
    InputError naming file, key and value where one is wrong."""
    file = experiment_path(name_or_path)
    document: dict[str, Any] = read_yaml(file)
    overrides = overrides or {}
    if "name" in {**document, **overrides}:
        raise InputError("unknown key: an experiment is named by its folder", file=file, key="name")
    # Where the folder is a link, the link names the experiment.
    document = {"name": file.absolute().parent.name, **document}
    experiment = validate(Experiment, apply_overrides(document, overrides), file)
    experiment._file = file
    return experiment
