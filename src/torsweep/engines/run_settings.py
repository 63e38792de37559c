"""What a run of an experiment's variant is, but for its network: its settings, and the builds of tor.

In: an experiment, an era, an engine, a variant; files that name builds. Out: the settings; the build of each
tor by its name; a refusal of what the engine or a build does not have, or what would change nothing.
"""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import get_args

from torsweep.config.conflux import CONFLUX
from torsweep.config.eras import require_modelled, tor_settings
from torsweep.config.experiment import Experiment
from torsweep.config.knobs import find_knob
from torsweep.config.option_bundle import OptionBundle, Role
from torsweep.config.shadow_options import SHADOWS_DEFAULTS
from torsweep.config.tor_settings import TorSettings, Transport
from torsweep.config.tors import DEBIAN, TorSource
from torsweep.config.traffic import ClientKind, ClientTraffic
from torsweep.config.variant import Variant
from torsweep.engines.contract import Engine
from torsweep.engines.registry import ENGINES, MODEL_ENGINE, find_engine, real_engines
from torsweep.engines.run_spec import RunSettings, RunTables, RunTraffic
from torsweep.errors import InputError, ToolMissing
from torsweep.network.model import Network
from torsweep.tor import TOOLS
from torsweep.tor.build import planned_key
from torsweep.tor.builds import find_build, marker_name, read_stamp
from torsweep.tor.names import require_known
from torsweep.tor.program import refuse_options
from torsweep.tor.series import read_series


def run_settings(experiment: Experiment, engine: str, era: str, variant: Variant) -> RunSettings:
    """All of a run of ``variant`` but its network; InputError where it asks for what is not there."""
    require_knobs(engine, variant)
    tor = engine_tor_settings(engine, era, dict(variant.levels))
    transport = Transport.model_validate(variant.overrides("transport")) if engine == MODEL_ENGINE else None
    _require_effect(engine, tor)
    window_ns = min(experiment.client_start_window, experiment.warm_up)
    return RunSettings(
        experiment=experiment.name,
        engine=engine,
        era=era,
        variant=dict(variant.levels),
        warm_up_ns=experiment.warm_up,
        duration_ns=experiment.duration_ns,
        client_start_window_ns=window_ns,
        tor=tor,
        transport=transport,
        traffic={
            kind: _traffic(kind, traffic, variant, began=window_ns > 0)
            for kind, traffic in experiment.traffic.kinds.items()
        },
        tables=RunTables(progress=experiment.progress),
        tracing=experiment.tracing,
        pairing=experiment.pairing,
        shadow=experiment.shadow if find_engine(engine).name == "shadow" else SHADOWS_DEFAULTS,
    )


def engine_tor_settings(engine: str, era: str, levels: Mapping[str, str]) -> TorSettings:
    """The settings of tor as ``engine`` reads them: the model has the parameters of an era's consensus in
    it. InputError as of :func:`~torsweep.config.eras.tor_settings`, and where an era has others than the
    model."""
    tor = tor_settings(era, levels)
    if engine != MODEL_ENGINE:
        return tor
    require_modelled(tor.consensus)
    return tor.model_copy(update={"consensus": {}, "torrc": {}})


def require_knobs(engine: str, variant: Variant) -> None:
    """InputError for a knob that ``engine`` does not have."""
    for knob, _ in variant.levels:
        target = find_knob(knob).target
        if not find_engine(engine).turns(target):
            problem = "is of tor itself, and this engine is a model of it"
            if target == "transport":
                problem = "is of the model alone: this engine has a TCP and queues of its own"
            accepted = " or ".join(f"engine {name}" for name, each in ENGINES.items() if each.turns(target))
            raise InputError(problem, key=knob, value=engine, accepted=accepted)


def _require_effect(engine: str, tor: TorSettings) -> None:
    """InputError for a level that would change nothing: it would look like a finding."""
    if tor.refill.keeps_remainder and tor.refill.mode == "burst":
        problem = "has no effect: refills in a burst have no remainder"
        raise InputError(problem, key="refill_remainder", value="kept", accepted="refill_mode=lazy")
    if tor.conflux and tor.congestion.kind != "vegas":
        problem, accepted = "has no effect under this congestion", "congestion=vegas"
        raise InputError(problem, key=CONFLUX.name, value="on", accepted=accepted)
    if tor.conflux and not find_engine(engine).runs_tor:
        raise InputError("is not in the model", key=CONFLUX.name, value="on", accepted=real_engines())
    if not (tor.nagle or find_engine(engine).kinds[engine].has_nagle):
        problem = f"has no effect: the TCP of {engine} has no such algorithm"
        having = (name for name, each in ENGINES.items() if each.kinds[name].has_nagle)
        raise InputError(problem, key="nagle", value="off", accepted=f"engine {' or '.join(having)}")


def _traffic(kind: ClientKind, traffic: ClientTraffic, variant: Variant, *, began: bool) -> RunTraffic:
    """What clients of ``kind`` do in ``variant``, which have ``began`` when a run starts; InputError where a
    knob sets what a table or sites give."""
    does, changed = RunTraffic.of(traffic), variant.overrides("traffic")
    drawn = {"response_bytes": does.response_quantiles or does.sites, "think_step_ns": does.think_quantiles}
    for knob, _ in variant.levels:
        if drawn.get(find_knob(knob).sets) is not None:
            problem = f"{kind} clients draw what this knob sets"
            raise InputError(problem, key=knob, accepted=f"traffic.{kind} without quantiles or sites there")
    # A part of a site would have the site's label.
    return does.model_copy(update={**changed, "under_way_at_start": began and does.sites is None})


def read_stamps(texts: Sequence[str], main: str) -> dict[str, Path]:
    """``NAME=FILE`` texts as files by the name of a tor; without a name, the file is of the tor ``main``."""
    named = (re.fullmatch(r"(?:([a-z][a-z0-9_]*)=)?(.*)", text, re.DOTALL) for text in texts)
    return {match[1] or main: Path(match[2]) for match in named if match is not None}


def tor_builds(
    engine: Engine, sources: Mapping[str, TorSource], names: Sequence[str], stamps: Mapping[str, Path]
) -> dict[str, str]:
    """The build of each tor in ``names``: what its file in ``stamps`` names, else the current one; none for a
    model, and for ``stock`` where there is no build: the run is then not bound to one. InputError when a file
    names no build; ToolMissing when another tor is not built."""
    if not engine.runs_tor:
        return {}
    for name in stamps:
        if name not in names:
            raise InputError("is no tor of this run", key="--tor", value=name, accepted=", ".join(names))
    versions = {}
    for name in names:
        if name in stamps:
            versions[name] = read_stamp(stamps[name])
        elif sources[name].is_stock:
            with suppress(ToolMissing):
                versions[name] = find_build().version
        else:
            versions[name] = _standing(name, sources[name])
    return versions


def _standing(name: str, source: TorSource) -> str:
    stamp = TOOLS / marker_name(planned_key(source))
    if not stamp.is_file():
        command = shlex.join(["torsweep", "tor", "build", *source.arguments(), "--stamp", str(stamp)])
        raise ToolMissing(f"tors.{name}: is not built; `{command}` builds it")
    return read_stamp(stamp)


def require_options(
    programs: Iterable[Path],
    experiment: Experiment,
    variants: Iterable[Variant] = (),
    network: Network | None = None,
) -> None:
    """Raise InputError, which names the bundle, the line and the nearest option, unless each of ``programs``
    takes each option bundle of the experiment's own plan and of ``variants`` in every role concerned. Without
    a network, a bundle for hosts by name is taken for one of relays."""
    levels = [dict(variant.levels).get("options") for variant in variants]
    names = dict.fromkeys([*experiment.plan().knobs.get("options", ()), *filter(None, levels)])
    bundles = {name: experiment.bundles[name] for name in names if experiment.bundles[name].torrc}
    for program in programs if bundles else ():
        for name, bundle in bundles.items():
            lines = [f"{option} {value}" for option, value in bundle.torrc.items()]
            for role in _roles(bundle, network):
                try:
                    refuse_options(program, lines, role)
                except InputError as error:
                    raise InputError(str(error), key=f"options.{name}.torrc") from None


def require_known_options(
    experiment: Experiment, variants: Iterable[Variant], source_of: Callable[[str], TorSource]
) -> None:
    """InputError for an option or a parameter of a variant whose tors, each of ``source_of``, are all
    Debian's, and which these do not know. What other tors know is asked of them when they are built."""
    for variant in variants:
        bundle = experiment.bundle(variant)
        if not (bundle.torrc or bundle.consensus):
            continue
        sources = [source_of(name) for name in experiment.tors_of(variant).names]
        if any(source.source != DEBIAN or source.patches for source in sources):
            continue
        level = dict(variant.levels).get("options")
        above = "knobs" if level is None else f"options.{level}"
        more = read_series().options if all(source.series == "project" for source in sources) else ()
        key = functools.partial("{}.{}.{}".format, above)
        require_known(bundle.torrc, bundle.consensus, key, more)


def _roles(bundle: OptionBundle, network: Network | None) -> tuple[Role, ...]:
    if bundle.on is None:
        return get_args(Role)
    if not bundle.on.names or network is None:
        return (bundle.on.role,)
    names, hosts = set(bundle.on.names), network.tor_hosts
    return tuple(role for role in get_args(Role) if names & {host.name for host in hosts[role]})
