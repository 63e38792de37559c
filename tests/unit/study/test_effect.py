"""What cannot act on the networks of a comparison is said before anything is built."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.synthetic_tornet import write_tornet
from torsweep.config.network import load_network_config
from torsweep.errors import InputError
from torsweep.study import effect
from torsweep.study.effect import require_effect
from torsweep.study.tor_change import Sides, TorChange, read_change
from torsweep.study.venue import Tornets, read_tornets

CI = load_network_config("ci")
ONION = CI.model_copy(update={"onion_clients": 2, "onion_servers": 2})


def changed(*consensus: str, torrc: tuple[str, ...] = (), **sides: str) -> TorChange:
    return read_change(Sides(torrc=torrc, consensus=consensus, **sides))


def notes(change: TorChange, era: str = "today", network=CI) -> list[str]:
    return require_effect(change, network, None, era)


@pytest.mark.parametrize(
    ("change", "era", "why"),
    [
        (changed("cbtquantile=60"), "today", "--consensus: .* has LearnCircuitBuildTimeout 0"),
        (changed(torrc=("HiddenServiceSingleHopMode 1",)), "today", "--torrc: .* have no onion services"),
        (changed("hs_intro_max_introduce2=9"), "today", "have no onion services"),
        (changed("cc_vegas_alpha_exit=100"), "2012", "no congestion control with cc_alg=0"),
        (changed("circwindow=500"), "today", "has windows of its own"),
        (changed("cc_alg=2"), "today", "era today states it already"),
    ],
)
def test_what_cannot_act_is_refused_where_nothing_else_is_changed(change, era, why):
    with pytest.raises(InputError, match=why):
        notes(change, era)
    ((name, bundle),) = change.options.items()
    beside = {**bundle, "torrc": {**bundle.get("torrc", {}), "NumCPUs": "2"}}
    (note,) = notes(replace(change, options={name: beside}), era)
    assert "cannot act here" in note


@pytest.mark.parametrize(
    ("change", "era", "network"),
    [
        (changed("cbtquantile=60", torrc=("LearnCircuitBuildTimeout 1",)), "today", CI),
        (changed(torrc=("HiddenServiceSingleHopMode 1",)), "today", ONION),
        (changed("cc_vegas_alpha_exit=100", "cc_alg=2"), "2012", CI),
        (changed("cc_vegas_alpha_exit=100"), "today", CI),
        (changed("circwindow=500"), "2012", CI),
        (changed("cc_alg=0"), "today", CI),
        (changed(torrc=("KISTSchedRunInterval 1 msec",)), "today", CI),
    ],
)
def test_what_can_act_is_taken(change, era, network):
    assert notes(change, era, network) == []


def test_a_default_that_the_consensus_or_the_torrc_states_is_named_with_how_to_ask(monkeypatch):
    defaults = {
        ("consensus", "CircuitPriorityHalflifeMsec"): ("30000", "100"),
        ("torrc", "KISTSchedRunInterval"): ('"0 msec"', '"10 msec"'),
        ("consensus", "nf_ito_low"): ("1500", "100"),
    }
    monkeypatch.setattr(effect, "changed_defaults", lambda *sides: defaults)
    change = read_change(Sides("arti"))
    halflife, kist = notes(change)
    assert "--consensus CircuitPriorityHalflifeMsec=100" in halflife
    assert "--torrc 'KISTSchedRunInterval 10 msec'" in kist
    monkeypatch.setattr(effect, "changed_defaults", lambda *sides: None)
    assert "not checked" in notes(change)[0]
    assert notes(read_change(Sides("same"))) == []


@pytest.fixture
def tornets(tmp_path: Path) -> Tornets:
    """Networks whose authorities vote for cc_alg=0 and circwindow=900."""
    common = "CircuitPriorityHalflife 30\nDoSCircuitCreationEnabled 0\nLearnCircuitBuildTimeout 0\n"
    folders = [write_tornet(tmp_path / name) for name in ("one", "two")]
    for folder in folders:
        with (folder / "conf/tor.common.torrc").open("a") as file:
            file.write(common)
    found = read_tornets(list(map(str, folders)))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (changed("cc_alg=0"), "consensus of these networks states it already"),
        (changed("circwindow=900"), "consensus of these networks states it already"),
        (changed("CircuitPriorityHalflifeMsec=100"), "has CircuitPriorityHalflife 30, which goes before it"),
        (changed("DoSCircuitCreationEnabled=1"), "has DoSCircuitCreationEnabled 0, which goes before it"),
        (changed("cc_vegas_alpha_exit=100"), "no congestion control with cc_alg=0"),
        (changed("cbtquantile=60"), "has LearnCircuitBuildTimeout 0"),
        (changed(torrc=("DoSCircuitCreationEnabled 0",)), "torrc of each host states it already"),
    ],
)
def test_networks_of_tornettools_are_looked_at_too(change, why, tornets):
    with pytest.raises(InputError, match=why):
        require_effect(change, tornets.config, tornets, "today")


@pytest.mark.parametrize(
    "change",
    [
        changed("cc_alg=2", "cc_vegas_alpha_exit=100"),
        changed("circwindow=500"),
        changed("DoSCircuitCreationEnabled=1", torrc=("DoSCircuitCreationEnabled auto",)),
        changed(torrc=("DoSCircuitCreationEnabled 1",)),
        changed("hs_intro_max_introduce2=9"),
    ],
)
def test_what_can_act_in_networks_of_tornettools_is_taken(change, tornets):
    assert require_effect(change, tornets.config, tornets, "today") == []


def test_networks_that_vote_otherwise_do_not_state_a_parameter(tornets):
    authorities = tornets.networks[1].folder / "conf/tor.relay.authority.torrc"
    authorities.write_text("ConsensusParams cc_alg=2 circwindow=900\n")
    assert require_effect(changed("cc_alg=0"), tornets.config, tornets, "today") == []


@pytest.fixture(autouse=True)
def no_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effect, "changed_defaults", lambda *sides: {})


@pytest.mark.parametrize(
    ("sides", "problem"),
    [
        (Sides(torrc=("NumCPUs 2",), on="names=relay999"), "no network has this host, got 'relay999'"),
        (Sides(torrc=("NumCPUs 2",), on="names=web0"), "no network has this host"),
        (Sides("arti", on="names=relay1"), "Arti runs on clients alone, got 'relay1'"),
        (Sides(baseline="arti", torrc=("NumCPUs 2",)), "Arti take no lines"),
        (Sides(baseline="arti", torrc=("NumCPUs 2",), on="names=web1"), "Arti take no lines"),
    ],
)
def test_hosts_that_are_not_there_or_cannot_take_it_are_refused(sides, problem):
    with pytest.raises(InputError, match=problem):
        notes(read_change(sides))


@pytest.mark.parametrize(
    "sides",
    [
        Sides(torrc=("NumCPUs 2",), on="names=relay1+web1+authority3"),
        Sides("arti", on="names=web1+bulk1"),
        Sides(baseline="arti", torrc=("NumCPUs 2",), on="role=relay"),
    ],
)
def test_hosts_of_the_networks_are_taken(sides):
    assert notes(read_change(sides)) == []
