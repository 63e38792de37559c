"""The torrc of each role: what a knob turns, and that nothing is left to be filled in."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.small_network import small_relay
from tests.stand_ins import SERIES_OPTIONS, SINCE_048, known_options
from torsweep.config.eras import tor_settings
from torsweep.config.knobs import KNOBS
from torsweep.config.tor_settings import TorSettings
from torsweep.errors import InputError
from torsweep.network.model import Relay
from torsweep.tor.torrc import consensus_parameters, differences, environment, lacking, torrc

VALUES = {
    "authorities": "DirAuthority a orport=9001 v3ident=" + "A" * 40 + " 127.0.0.1:9030 " + "B" * 40,
    "data_directory": "data",
    "control_port": "9051",
    "nickname": "relay1",
    "address": "127.0.0.1",
    "or_port": "9001",
    "dir_port": "9030",
    "socks_port": "9050",
    "guards": "C" * 40,
    "exits": "D" * 40,
    "initial_voting_interval_s": "20",
    "voting_interval_s": "300",
    "vote_delay_s": "4",
}
ENDS = {
    "refill_interval": ["1ms", "20ms"],
    "round_robin_quantum": ["1", "9999"],
    "ewma_half_life": ["10ms", "3599.999s", "1h"],
    "guards": ["1", "99"],
}
ROLES = ("authority", "relay", "client")


def relay(**changes: object) -> Relay:
    return small_relay(0, **{"position": "guard", "burst_bytes": 300_000, **changes})


def text_of(role: str, settings: TorSettings, one: Relay | None = None, **more: Any) -> str:
    return torrc(role, VALUES, settings, one or (relay() if role == "relay" else None), **more)


@pytest.mark.parametrize("era", ["2012", "today"])
@pytest.mark.parametrize("role", ROLES)
def test_every_placeholder_is_filled_in(role: str, era: str) -> None:
    text = text_of(role, tor_settings(era, {}))
    assert "$" not in text
    options = [line.split()[0] for line in text.splitlines() if line and not line.startswith("#")]
    repeated = {option for option in options if options.count(option) > 1}
    assert not repeated


@pytest.mark.parametrize(
    ("role", "of_relay", "levels", "line"),
    [
        ("relay", {}, {"refill_interval": "1000ms"}, "TokenBucketRefillPhase 250.000"),
        ("relay", {}, {"refill_interval": "10ms"}, "TokenBucketRefillPhase 2.500"),
        ("relay", {}, {"refill_phase": "aligned"}, "TokenBucketRefillPhase 0.000"),
        # A phase just below one stays below the interval.
        ("relay", {"refill_phase": 1 - 1e-12}, {"refill_interval": "10ms"}, "TokenBucketRefillPhase 9.999"),
        ("relay", {}, {"refill_mode": "lazy"}, "TokenBucketRefillMode lazy"),
        ("relay", {}, {}, "BandwidthBurst 300000 bytes"),
        ("relay", {}, {"refill_burst": "rate"}, "BandwidthBurst 100000 bytes"),
        ("relay", {"burst_bytes": 1000}, {}, "BandwidthBurst 100000 bytes"),
        ("relay", {"position": "exit"}, {}, "ExitRelay 1"),
        ("relay", {"position": "guard_exit"}, {}, "ExitRelay 1"),
        ("relay", {"position": "guard"}, {}, "ExitRelay 0"),
        ("relay", {"position": "middle"}, {}, "ExitRelay 0"),
        # Clients hold guards primary that they do not use.
        ("client", {}, {"guards": "1"}, "NumEntryGuards 1\nNumPrimaryGuards 3"),
        ("client", {}, {"guards": "5"}, "NumEntryGuards 5\nNumPrimaryGuards 5"),
        ("authority", {}, {}, "MinimalAcceptedServerVersion 0.4.7.0-alpha-dev"),
        ("client", {}, {"ewma_half_life": "500ms"}, "CircuitPriorityHalflife 0.5"),
        ("client", {}, {"ewma_half_life": "500ms"}, "CircuitPolicy ewma"),
        ("client", {}, {"circuit_policy": "round_robin"}, "CircuitPolicy roundrobin"),
        ("client", {}, {"circuit_policy": "round_robin"}, "CircuitRoundRobinQuantum 32"),
    ],
)
def test_a_torrc_says_what_a_host_and_its_knobs_ask_for(role, of_relay, levels, line) -> None:
    one = relay(**of_relay) if role == "relay" else None
    text = text_of(role, tor_settings("2012", levels), one)
    assert line in text
    assert ("TokenBucketRefillPhase" in text) == (role == "relay" and "refill_mode" not in levels)
    assert ("ExitPolicy accept" in text) == ("exit" in of_relay.get("position", ""))
    assert ("TokenBucket" in text) == (role == "relay")


LEVELS = {
    name: knob.levels.schema.get("enum", ENDS.get(name)) for name, knob in KNOBS.items() if knob.of_tor
} | {
    "scheduler": ["kist", "kist_lite", "vanilla", "kist_10ms"],
    "clock": ["precise", "coarse_4ms"],
    # What `auto` is depends on the network of a run.
    "conflux": ["on", "off"],
}


@pytest.mark.parametrize("knob", LEVELS)
def test_every_level_of_a_knob_of_tor_makes_a_difference_to_tor(knob: str) -> None:
    under = KNOBS[knob].under
    told = []
    for level in LEVELS[knob]:
        settings = tor_settings("2012", {**under, knob: level})
        texts = [text_of(role, settings) for role in ROLES]
        told.append((*texts, *environment(settings).items()))
    assert len(set(told)) == len(LEVELS[knob]) > 1


@pytest.mark.parametrize(
    ("key", "value"),
    [("refill", {"interval_ns": 1_500_000}), ("clock_quantum_ns", 1), ("circuit_lifetime_ns", 1_000_001)],
)
def test_a_setting_that_tor_would_round_is_refused(key: str, value: object) -> None:
    section = tor_settings("2012", {}).model_dump()
    changed = {**section[key], **value} if isinstance(value, dict) else value
    settings = TorSettings.model_validate({**section, key: changed})
    with pytest.raises(InputError, match=f"tor.{key}.*: is nothing that tor can take, got .*whole"):
        for role in ROLES:
            text_of(role, settings)
        environment(settings)


def test_the_eras_differ_in_their_consensus() -> None:
    then = consensus_parameters(tor_settings("2012", {}))
    now = consensus_parameters(tor_settings("today", {}))
    assert (then["cc_alg"], then["circwindow"]) == (0, 1000)
    assert (now["cc_alg"], now["cc_sendme_inc"]) == (2, 31)
    assert then["cfx_enabled"] == now["cfx_enabled"] == 0


def test_the_clock_is_chosen_by_the_environment() -> None:
    assert environment(tor_settings("2012", {})) == {"TOR_MONOTIME_COARSE_CLOCK": "precise"}
    assert environment(tor_settings("2012", {"clock": "coarse_4ms"})) == {
        "TOR_MONOTIME_COARSE_CLOCK": "coarse:4"
    }


KNOWN = known_options()
PLAIN = KNOWN - SERIES_OPTIONS
OLD = PLAIN - SINCE_048


def options_in(text: str) -> set[str]:
    return {line.split()[0] for line in text.splitlines() if line and not line.startswith("#")}


@pytest.mark.parametrize("role", ROLES)
def test_a_tor_is_told_only_options_that_it_knows_but_the_last_lines_are_the_users(role: str) -> None:
    settings = tor_settings("today", {})
    for known in (KNOWN, PLAIN, OLD):
        text = text_of(role, settings, known=known)
        assert options_in(text) <= known
        longer = text_of(role, settings, extra=["ConfluxEnabled 1"], known=known)
        assert longer == text + "ConfluxEnabled 1\n"
    everything = text_of(role, settings)
    assert text_of(role, settings, known=KNOWN) == everything
    assert options_in(everything) - options_in(text) <= SERIES_OPTIONS | SINCE_048
    assert "StreamPackaging" in options_in(everything) - options_in(text)


def test_a_tor_without_the_series_does_what_today_asks_for() -> None:
    for known in (KNOWN, PLAIN, OLD):
        assert lacking(tor_settings("today", {}), known) is None
    assert environment(tor_settings("today", {}), PLAIN) == {}
    assert environment(tor_settings("today", {}), KNOWN) == environment(tor_settings("today", {}))
    assert differences(KNOWN) == {}
    assert differences(OLD)["TOR_MONOTIME_COARSE_CLOCK"] == "reads the kernel's coarse clock"


@pytest.mark.parametrize(
    ("era", "levels", "message"),
    [
        (
            "2012",
            {},
            "refill_mode: cannot be set: tor 0.4.7 has no TokenBucketRefillMode, got 'burst'; "
            r"accepted: lazy, or a tor with the series",
        ),
        ("today", {"activation_order": "list"}, "activation_order: .* no StreamActivationOrder, got 'list'"),
        ("today", {"activation_order": "reversed"}, "got 'reversed'; accepted: random, or a tor with"),
        ("today", {"packaging": "greedy"}, "packaging: .* no StreamPackaging, got 'greedy'; accepted: even,"),
        ("today", {"nagle": "off"}, "nagle: .* no TCPNoDelay, got '1'; accepted: 0, or a tor with"),
        ("today", {"refill_remainder": "kept"}, "no TokenBucketRefillRemainder, got 'kept'; .*dropped,"),
        ("today", {"circuit_policy": "round_robin"}, "circuit_policy: .* got 'roundrobin'; accepted: ewma,"),
        ("today", {"clock": "coarse_4ms"}, "clock: .* TOR_MONOTIME_COARSE_CLOCK, got 'coarse:4'; .*precise,"),
    ],
)
def test_a_level_that_a_tor_lacks_is_refused(era: str, levels: dict[str, str], message: str) -> None:
    settings = tor_settings(era, levels)
    problem = lacking(settings, OLD, build="tor 0.4.7")
    assert problem is not None
    assert re.search(message, str(problem))
    assert lacking(settings, KNOWN) is None


def test_conflux_and_tracing_are_refused_where_they_are_not_known() -> None:
    settings = tor_settings("today", {})
    with_conflux = settings.model_copy(update={"conflux": True})
    assert "conflux: cannot be set" in str(lacking(with_conflux, OLD))
    assert lacking(with_conflux, PLAIN) is None
    problem = str(lacking(settings, PLAIN, traced=True))
    assert "tracing: cannot be done: this tor has no CellTraceFile" in problem
    assert lacking(settings, KNOWN, traced=True) is None


def _stated(text: str) -> list[str]:
    """The parameters of the consensus that an authority's torrc states."""
    line = re.search(r"^ConsensusParams (.*)$", text, re.MULTILINE)
    assert line is not None
    return line[1].split()


def test_a_given_parameter_wins_over_the_eras_and_over_the_option_that_would_outrank_it() -> None:
    settings = tor_settings("today", {})
    given = {"cc_alg": 0, "KISTSchedRunInterval": 7, "cfx_enabled": 1, "of_mine": -3}
    words = _stated(text_of("authority", settings, parameters=given))
    assert {f"{name}={value}" for name, value in given.items()} <= set(words)
    assert len({word.partition("=")[0] for word in words}) == len(words)
    assert "cc_sendme_inc=31" in words
    left_out = {"KISTSchedRunInterval", "ConfluxEnabled"}
    for role in ROLES:
        after = text_of(role, settings, parameters=given)
        assert options_in(text_of(role, settings)) - options_in(after) == left_out


def test_an_authority_states_no_parameter_that_tor_takes_from_its_options() -> None:
    settings = tor_settings("today", {})
    stated = [word.split("=")[0] for word in _stated(text_of("authority", settings))]
    assert "AuthDirMaxServersPerAddr" in settings.consensus
    assert "AuthDirMaxServersPerAddr" not in stated
    assert len(set(stated)) == len(stated)
