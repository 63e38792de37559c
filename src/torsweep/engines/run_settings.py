"""What a run of an experiment's variant is, but for its network.

In: an experiment, an era, an engine, a variant. Out: :class:`~torsweep.engines.run_spec.RunSettings`, or a
refusal of what the engine does not have or what would change nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from torsweep.config.era_consensus import require_modelled
from torsweep.config.eras import tor_settings
from torsweep.config.experiment import Experiment
from torsweep.config.features import features_on
from torsweep.config.knobs import find_knob
from torsweep.config.tor_settings import TorSettings, Transport
from torsweep.config.traffic import ClientKind, ClientTraffic
from torsweep.config.variant import Variant
from torsweep.engines.registry import ENGINES, MODEL_ENGINE, find_engine, real_engines
from torsweep.engines.run_spec import RunSettings, RunTables, RunTraffic
from torsweep.errors import InputError


def run_settings(experiment: Experiment, engine: str, era: str, variant: Variant) -> RunSettings:
    """Everything about a run of ``variant`` but its network.

    Raises InputError when the era or the variant asks for something that there is not.
    """
    require_knobs(engine, variant)
    tor = engine_tor_settings(engine, era, dict(variant.levels))
    transport = Transport.model_validate(variant.transport_overrides) if engine == MODEL_ENGINE else None
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
            kind: _traffic(kind, traffic, variant).model_copy(update={"under_way_at_start": window_ns > 0})
            for kind, traffic in experiment.traffic.kinds.items()
        },
        tables=RunTables(progress=experiment.progress),
        tracing=experiment.tracing,
        pairing=experiment.pairing,
    )


def engine_tor_settings(engine: str, era: str, levels: Mapping[str, str]) -> TorSettings:
    """The settings of tor as ``engine`` reads them: the model has the parameters of an era's consensus in it.

    Raises InputError as :func:`~torsweep.config.eras.tor_settings` does, and where an era has another value
    than the model.
    """
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
    for feature in features_on(tor):
        name = feature.knob.name
        if against := feature.without(tor):
            problem, accepted = f"has no effect under this {against}", f"{against}={feature.needs[against]}"
            raise InputError(problem, key=name, value="on", accepted=accepted)
        if not find_engine(engine).runs_tor:
            raise InputError("is not in the model", key=name, value="on", accepted=real_engines())
    if not (tor.nagle or find_engine(engine).kinds[engine].has_nagle):
        problem = f"has no effect: the TCP of {engine} has no such algorithm"
        having = (name for name, each in ENGINES.items() if each.kinds[name].has_nagle)
        raise InputError(problem, key="nagle", value="off", accepted=f"engine {' or '.join(having)}")


def _traffic(kind: ClientKind, traffic: ClientTraffic, variant: Variant) -> RunTraffic:
    """What clients of ``kind`` do in ``variant``; InputError where a knob sets what a table gives."""
    does, changed = RunTraffic.of(traffic), dict(variant.traffic_overrides)
    drawn = {"response_bytes": does.response_quantiles, "think_step_ns": does.think_quantiles}
    for knob, _ in variant.levels:
        if drawn.get(find_knob(knob).sets) is not None:
            problem = f"{kind} clients draw from a table what this knob sets"
            raise InputError(problem, key=knob, accepted=f"traffic.{kind} without quantiles there")
    return does.model_copy(update=changed)
