"""Levels that an experiment defines itself: what a bundle may hold, and what is refused."""

from __future__ import annotations

import pytest

from torsweep.config.experiment import load_experiment
from torsweep.config.option_bundle import Where
from torsweep.config.tors import VariantTors
from torsweep.errors import InputError

BUNDLES = {
    "default": {},
    "kist_1ms": {
        "torrc": {"KISTSchedRunInterval": "1 msec"},
        "on": {"role": "relay", "position": "exit", "share": 0.3},
    },
    "fixed": {"consensus": {"cc_alg": 0}},
    "nodns": {"torrc": {"CacheDNS": 0, "ConfluxEnabled": False}, "on": {"role": "client"}},
}


def _experiment(options=BUNDLES, knob=("default", "kist_1ms", "fixed")):
    grid = {"knobs.options": list(knob), "baseline.options": knob[0]} if knob else {}
    return load_experiment("refill_sweep", {"options": options, **grid})


def test_bundles_are_levels_by_their_names():
    experiment = _experiment()
    plan = experiment.plan()
    assert len(plan.variants) == 18
    assert plan.variants[1].key == "refill_interval=1000ms+circuit_policy=ewma+options=kist_1ms"
    assert experiment.bundle(plan.variants[0]).torrc == {}
    turned = experiment.bundle(plan.variants[1])
    assert turned.torrc == {"KISTSchedRunInterval": "1 msec"}
    assert (turned.on.position, turned.on.share) == (("exit",), 0.3)
    quiet = experiment.bundle(experiment.variant("options=nodns")).torrc
    assert quiet == {"CacheDNS": "0", "ConfluxEnabled": "0"}


def test_every_experiment_has_the_bundle_without_options():
    experiment = load_experiment("refill_sweep", {"options": {"fixed": BUNDLES["fixed"]}})
    assert experiment.variant("options=default").key.endswith("+options=default")
    assert list(experiment.bundles) == ["default", "fixed"]
    assert experiment.bundle(experiment.variant("")) == experiment.bundles["default"]
    sensitivity = {"sensitivities": {"o": {"options": ["fixed", "default"]}}, "options": BUNDLES}
    plan = load_experiment("refill_sweep", sensitivity).plan("o")
    assert dict(plan.baseline.levels)["options"] == "default"


def test_a_consensus_parameter_is_a_knob_whose_level_is_voted_for():
    knob = "consensus.cc_vegas_alpha_exit"
    grid = {"knobs": {knob: [31, 186]}, "baseline": {knob: 186}, "sensitivities": {}}
    experiment = load_experiment("refill_sweep", {**grid, "claims": []})
    voted = [experiment.bundle(variant).consensus for variant in experiment.plan().variants]
    assert voted == [{"cc_vegas_alpha_exit": 31}, {"cc_vegas_alpha_exit": 186}]


def test_a_level_that_the_experiment_does_not_define_is_refused_with_the_closest_name():
    with pytest.raises(InputError, match=r"knobs\.options: names nothing .* \(did you mean 'kist_1ms'\?\)"):
        _experiment(knob=("default", "kist_1m"))
    with pytest.raises(InputError, match=r"^options: names nothing .* got 'fixd'; accepted: default, kist"):
        _experiment().variant("options=fixd")


def _on(**where):
    """A bundle for some hosts."""
    return {"a": {"torrc": {"CacheDNS": 0}, "on": where}}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"default": {"consensus": {"cc_alg": 0}}}, "options.default: is the bundle without options"),
        ({"nothing": {}}, "options.nothing: has the same content as default; accepted: each content once"),
        ({"a": {"torrc": {"CacheDNS": 0}}, "b": {"torrc": {"cachedns": "0"}}}, "options.b: has the same"),
        ({"a": {"torrc": {"Cache DNS": 0}}}, "options.a.torrc.Cache DNS: is no option of a torrc"),
        ({"a": {"torrc": {"CacheDNS": "0\0"}}}, r"options.a.torrc.CacheDNS: is not accepted, got '0\x00'"),
        ({"a": {"torrc": {"CacheDNS": "0 # no"}}}, "options.a.torrc.CacheDNS: is not accepted, got '0 # no'"),
        ({"a": {"torrc": {"CacheDNS": 0, "cachedns": 1}}}, "options.a.torrc.cachedns: is given twice"),
        ({"a": {"torrc": {"orport": 9001}}}, "options.a.torrc.orport: opens a port"),
        ({"a": {"torrc": {"PidFile": "/etc/passwd"}}}, "options.a.torrc.PidFile: names a file"),
        ({"a": {"torrc": {"RunAsDaemon": 1}}}, "options.a.torrc.RunAsDaemon: is about the process"),
        ({"a": {"torrc": {"ClientTransportPlugin": "x"}}}, "options.a.torrc.ClientTransportPlugin: starts"),
        ({"a": {"torrc": {"DisableNetwork": 1}}}, "options.a.torrc.DisableNetwork: is for the engine to set"),
        ({"a": {"consensus": {"cc=alg": 1}}}, "options.a.consensus.cc=alg: is no name of a consensus par"),
        ({"a": {"consensus": {"AuthDirMaxServersPerAddr": 4}}}, "options.a.consensus.AuthDirMaxServers"),
        ({"a": {"torrc": {"NumCPUs": 2}, "on": {"names": []}}}, "options.a.on.names: names no host"),
        ({"a": {"consensus": {"cc_alg": 0}, "on": {}}}, "options.a.on: names hosts, but no lines"),
        (_on(role="client", position="exit"), "options.a.on.position: is for relays alone, got 'client'"),
        (_on(role="authority", share=0.5), "options.a.on.share: is for relays or clients, got 'authority'"),
        (_on(names=["relay1"], share=0.5), "options.a.on.share: cannot go with names"),
        (_on(kind="web"), "options.a.on.kind: is for clients alone"),
    ],
)
def test_what_is_no_bundle_is_named_with_what_is_accepted(options, said):
    with pytest.raises(InputError) as refusal:
        _experiment(options, knob=())
    assert f"experiment.yaml: {said}" in str(refusal.value)
    assert "\n" not in str(refusal.value)


TORS = {
    "branch": {"git": "../tor", "revision": "my-branch"},
    "binary": {"program": "../tor/src/app/tor"},
    "again": {"same": "stock"},
    "half_new": {"mix": {"branch": 0.25, "binary": 0.75}, "on": {"position": ["exit", "guard_exit"]}},
    "half_again": {"same": "half_new"},
}


def _asked(level, baseline="stock", tors=TORS):
    levels = list(dict.fromkeys([baseline, level]))
    changed = {"tors": tors, "knobs.tor": levels, "baseline.tor": baseline}
    experiment = load_experiment("refill_sweep", changed)
    return experiment.tors_of(experiment.variant(f"tor={level}"))


def test_a_tor_is_a_level_and_stock_is_always_one():
    assert _asked("branch") == VariantTors("branch")
    assert _asked("stock") == VariantTors("stock")
    assert _asked("again") == VariantTors("stock", repeat=1)
    untouched = load_experiment("refill_sweep")
    assert untouched.tors_of(untouched.variant("")) == VariantTors("stock")
    assert untouched.variant("tor=stock").key.endswith("+tor=stock")


def test_around_a_mix_runs_the_baselines_tor_or_that_with_the_largest_share():
    exits = Where(position=["exit", "guard_exit"])
    mix = {"branch": 0.25, "binary": 0.75}
    assert _asked("half_new") == VariantTors("stock", mix, exits)
    assert _asked("half_new").names == ("stock", "binary", "branch")
    assert _asked("half_new", "branch").main == "branch"
    assert _asked("half_new", "again").main == "stock"
    assert _asked("half_new", "half_new").main == "binary"
    assert _asked("half_again") == VariantTors("stock", mix, exits, repeat=1)


@pytest.mark.parametrize(
    ("tors", "said"),
    [
        ({"plain": {"source": "debian"}}, "tors.plain: has the same content as stock; accepted: each"),
        ({"a": {"git": "../tor"}, "b": {"git": "../tor/", "revision": "HEAD"}}, "tors.b: has the same"),
        ({"a": {"same": "stock"}, "b": {"same": "stock"}}, "tors.b: has the same content as a"),
        ({"a": {"same": "stok"}}, "tors.a.same: names nothing that the experiment defines (did you m"),
        ({"a": {"same": "b"}, "b": {"same": "stock"}}, "tors.a.same: is made of a tor that is itself a same"),
        ({"a": {"mix": {"stock": 0.5, "new": 0.5}}}, "tors.a.mix: names nothing that the experiment def"),
        ({"a": {"mix": {"stock": 0.5, "b": 0.5}}, "b": {"same": "stock"}}, "tors.a.mix: is made of a tor"),
        ({"a": {"mix": {"stock": 1.0}, "on": {"share": 0.5}}}, "tors.a.on.share: is said by the mix"),
        ({"a": {"git": "x", "on": {"role": "client"}}}, "tors.a.on: means nothing beside git; accepted: mix"),
        ({"a": {"mix": {"stock": 1.1, "b": 0.5}}}, "tors.a.mix.stock: is not accepted, got 1.1"),
    ],
)
def test_what_is_no_tor_is_named_with_what_is_accepted(tors, said):
    with pytest.raises(InputError) as refusal:
        load_experiment("refill_sweep", {"tors": tors})
    assert f"experiment.yaml: {said}" in str(refusal.value)
