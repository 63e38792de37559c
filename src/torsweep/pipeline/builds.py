"""Which builds of tor runs wait for.

In: experiments and their variants, the user's source of the tor ``stock``. Out: the key of each build, its
marker (the file that names the build when it is done), and the source of a key.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from torsweep.config.eras import tor_settings
from torsweep.config.experiment import Experiment
from torsweep.config.knobs import STOCK_TOR
from torsweep.config.tors import TorSource
from torsweep.config.variant import Plan, Variant
from torsweep.engines.programs import require_programs
from torsweep.engines.run_settings import require_known_options, require_options
from torsweep.errors import InputError, TorsweepError
from torsweep.tor import TOOLS
from torsweep.tor.arti import require_arti
from torsweep.tor.build import overridden_stock, planned_key
from torsweep.tor.builds import marker_name, read_build, read_stamp
from torsweep.tor.program import ask_version, options_of
from torsweep.tor.series import read_series
from torsweep.tor.torrc import lacking, option_names


class Builds:
    """The builds of tor under the override ``tor_source``, which is the source of ``stock``."""

    def __init__(self, tor_source: str | None) -> None:
        self._override = None if tor_source is None else overridden_stock(tor_source)
        self._sources: dict[str, TorSource] = {}

    def source(self, experiment: Experiment, name: str) -> TorSource:
        """What the tor ``name`` of ``experiment`` is built from."""
        if name == STOCK_TOR and self._override is not None:
            return self._override
        return experiment.all_tors[name]

    def key(self, experiment: Experiment, name: str) -> str:
        """The key of the tor ``name``; InputError, which names it, where its source cannot be read."""
        source = self.source(experiment, name)
        try:
            planned = planned_key(source)
        except InputError as error:
            if source.is_stock or name not in experiment.tors:
                raise
            raise InputError(str(error), key=f"tors.{name}") from None
        self._sources[planned] = source
        return planned

    def keys(self, experiment: Experiment, variant: Variant) -> dict[str, str]:
        """The key of each tor that runs in ``variant``, by its name, that of most hosts first."""
        return {name: self.key(experiment, name) for name in experiment.tors_of(variant).names}

    def source_of(self, key: str, experiments: Iterable[Experiment]) -> TorSource:
        """The source that ``key`` is of: one that was asked for, or else one of ``experiments``.

        A job on a node of a cluster asks for nothing but its build. Raises InputError where none has the key.
        """
        for experiment in experiments:
            if key in self._sources:
                break
            for name, tor in experiment.all_tors.items():
                if not tor.named:
                    # What another experiment needs and lacks does not matter here.
                    with suppress(TorsweepError):
                        self.key(experiment, name)
        if key not in self._sources:
            raise InputError("is the key of no tor of an experiment", key="build", value=key)
        return self._sources[key]

    def require_playable(self, experiment: Experiment, plan: Plan) -> None:
        """InputError for what can be known of a plan before its builds are done: a program that is not here
        or is no tor, two tors with the same content, a knob or a bundle's option that a tor does not know."""
        self._require_different(experiment, plan)
        require_programs(experiment, plan.variants)
        require_known_options(experiment, plan.variants, lambda name: self.source(experiment, name))
        self._require_programs(experiment, plan)
        self._require_knobs(experiment, plan)
        programs = (self._program(experiment, name) for name in _names(experiment, plan))
        require_options(filter(None, programs), experiment, plan.variants)

    def _require_different(self, experiment: Experiment, plan: Plan) -> None:
        seen: dict[str, str] = {}
        for name in _names(experiment, plan):
            # Which release Debian's package is, is known once it has been built.
            key = self._version(experiment, name) or self.key(experiment, name)
            if key in seen:
                problem, accepted = f"has the same content as {seen[key]}", "each content once; same: NAME"
                raise InputError(problem, key=f"tors.{name}", accepted=accepted)
            seen[key] = name
        for variant in plan.variants:
            tors = experiment.tors_of(variant)
            if tors.mix and tors.names == (tors.main,):
                problem = f"runs {tors.main} on every host: that is the tor around the mix, too"
                key = f"tors.{dict(variant.levels)['tor']}"
                raise InputError(problem, key=key, accepted=f"a mix of other tors; {tors.main} by itself")

    def _require_programs(self, experiment: Experiment, plan: Plan) -> None:
        for name in _names(experiment, plan):
            source = self.source(experiment, name)
            if self._version(experiment, name) is None:
                try:
                    if source.arti is not None:
                        require_arti(source)
                    elif source.program is not None:
                        ask_version(source.program)
                except InputError as error:
                    raise InputError(str(error), key=f"tors.{name}") from None

    def _require_knobs(self, experiment: Experiment, plan: Plan) -> None:
        tracing = experiment.tracing
        for variant in plan.variants:
            settings = tor_settings(experiment.era, dict(variant.levels))
            tors = experiment.tors_of(variant)
            # In a mix it is the network that says which tor a traced relay runs.
            traced = tracing is not None and bool(tracing.hosts) and not tors.mix
            for name in tors.names:
                if (known := self._known(experiment, name)) is None:
                    continue
                if problem := lacking(settings, known, build=f"tor {name}", traced=traced):
                    raise problem

    def _known(self, experiment: Experiment, name: str) -> frozenset[str] | None:
        """The options that the tor ``name`` knows; None where that is not known yet, where all are, and for
        Arti."""
        source = self.source(experiment, name)
        if program := self._program(experiment, name):
            return options_of(program)
        without_series = source.arti is None and source.series == "none"
        return option_names() - read_series().options if without_series else None

    def _version(self, experiment: Experiment, name: str) -> str | None:
        """The version of the current build; None if there is no build."""
        with suppress(InputError):
            return read_stamp(Path(marker(self.key(experiment, name))))
        return None

    def _program(self, experiment: Experiment, name: str) -> Path | None:
        """A program that is the tor ``name``; None where it is still to be built, and for Arti."""
        if self.source(experiment, name).arti is not None:
            return None
        version = self._version(experiment, name)
        build = None if version is None else read_build(TOOLS / version)
        return self.source(experiment, name).program if build is None else build.program


def _names(experiment: Experiment, plan: Plan) -> list[str]:
    """The tors of a plan, each once."""
    return list(dict.fromkeys(name for one in plan.variants for name in experiment.tors_of(one).names))


def marker(key: str) -> str:
    """The file that names the build of ``key`` when it is done."""
    return str(TOOLS / marker_name(key))
