"""Options of a torrc that have no place in a run, whoever wrote the experiment."""

from __future__ import annotations

import pytest

from torsweep.config.experiment import EXPERIMENTS_DIRECTORY, load_experiment
from torsweep.config.option_bundle import REFUSED_OPTIONS, why_refused
from torsweep.home import CHECKOUT
from torsweep.tor.names import known_names
from torsweep.tor.series import read_series
from torsweep.tor.torrc import QUIET_CLIENT_LINES, option_names

EVERY = [option for options in REFUSED_OPTIONS.values() for option in options]


def test_each_refused_option_is_one_of_tors_and_has_one_reason() -> None:
    assert set(EVERY) <= {*known_names("option"), *read_series().options}
    assert len(EVERY) == len(set(EVERY))


@pytest.mark.parametrize("word", ["File", "Directory", "Port", "Proxy", "Plugin", "Password"])
def test_no_option_of_tors_whose_name_says_so_is_forgotten(word: str) -> None:
    """Obsolete options, which tor refuses itself, are passed over; so are preferences among ports."""
    passed = {"TestingMinExitFlagThreshold", "ClientAutoIPv6ORPort", "BridgePassword"}
    passed |= {f"ClientPreferIPv6{which}Port" for which in ("Dir", "OR")}
    passed |= {"Socks5ProxyPassword"}
    named = {name for name in known_names("option") if name.endswith(word)}
    assert named
    assert {name for name in named - passed if not why_refused(name)} == set()


def test_no_option_of_a_knob_or_of_a_published_experiment_is_refused() -> None:
    files = sorted((CHECKOUT / EXPERIMENTS_DIRECTORY).glob("*/experiment.yaml"))
    bundles = [each for file in files for each in load_experiment(file).options.values()]
    used = {*option_names(), *(line.split()[0] for line in QUIET_CLIENT_LINES)}
    used |= {option for bundle in bundles for option in bundle.torrc}
    assert {"KISTSchedRunInterval", "ConfluxEnabled"} <= used
    assert {option for option in used if why_refused(option)} == set()


def test_a_file_is_told_by_its_name_in_a_tor_of_the_users_own() -> None:
    assert why_refused("MyTraceFile") == "names a file or a folder"
    assert why_refused("KISTSchedRunInterval") == ""
