"""Which build each host runs, what is said of builds, and what the consensus must have."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stand_ins import SERIES_OPTIONS, SINCE_048, stand_in_tor
from tests.unit.engines.emulation.conftest import POSITIONS, network, run_spec
from torsweep.config.eras import tor_settings
from torsweep.config.tracing import Tracing
from torsweep.engines.host_tors import (
    CACHED_CONSENSUS,
    HostTors,
    find_host_tors,
    read_consensus,
    require_consensus,
)
from torsweep.engines.run_spec import UserLines, UserOptions
from torsweep.errors import InputError, ToolMissing, TorsweepError
from torsweep.tor import builds
from torsweep.tor.builds import BuiltTor

TODAY = tor_settings("today", {})
NETWORK = network(*POSITIONS)


@pytest.fixture
def tors(tmp_path: Path) -> HostTors:
    """A tor with the series for all, and 0.4.7 for two relays."""
    old = stand_in_tor(tmp_path, "0.4.7.16", SERIES_OPTIONS | SINCE_048)
    return HostTors(stand_in_tor(tmp_path), {"relay2": old, "relay3": old})


def test_a_host_has_the_build_that_run_json_gives_it(tors, tmp_path, monkeypatch):
    monkeypatch.setattr(builds, "read_build", {t.folder: t for t in (tors.usual, tors.of("relay2"))}.get)
    run = run_spec(
        tor_build=tors.usual.version, other_builds={tors.of("relay2").version: ("relay2", "relay3")}
    )
    found = find_host_tors(run, tmp_path)
    assert found == tors
    assert [found.of(host).provenance["version"] for host in ("relay1", "relay3")] == ["0.4.9.11", "0.4.7.16"]
    assert "StreamPackaging" in found.options("client1")
    assert "StreamPackaging" not in found.options("relay2")
    missing = run_spec(tor_build=tors.usual.version, other_builds={"0.4.8.1-abc": ("relay1",)})
    with pytest.raises(ToolMissing, match=r"holds no tor 0\.4\.8\.1-abc"):
        find_host_tors(missing, tmp_path)


def test_provenance_names_every_build_its_hosts_and_what_it_does_by_itself(tors):
    facts = tors.facts()
    assert facts["tor"]["build"] == tors.usual.version
    assert "without_series" not in facts["tor"]
    (other,) = facts["other_tors"]
    assert other["hosts"] == ["relay2", "relay3"]
    assert other["without_series"]["TOR_MONOTIME_COARSE_CLOCK"] == "reads the kernel's coarse clock"
    assert tors.version == f"{tors.usual.version} and {other['build']}"
    assert "other_tors" not in HostTors(tors.usual).facts()


def test_a_run_that_asks_a_build_for_what_it_lacks_is_refused(tors):
    tors.check(run_spec(tor=TODAY), NETWORK)
    HostTors(tors.usual).check(run_spec(), NETWORK)
    with pytest.raises(InputError, match=r"^refill_mode: .*: tor 0\.4\.7\.16-\w+ has no Token"):
        tors.check(run_spec(), NETWORK)
    tors.check(run_spec(tor=TODAY, tracing=Tracing(hosts=("relay1",))), NETWORK)
    with pytest.raises(InputError, match=r"^tracing: .*: tor 0\.4\.7\.16-\w+ has no CellTraceFile"):
        tors.check(run_spec(tor=TODAY, tracing=Tracing(hosts=("relay1", "relay3"))), NETWORK)


CONSENSUS = """network-status-version 3 microdesc
params bwweightscale=10000 cc_alg=0 mine=-3
dir-source a b
r authority1 AAAA 2000-01-01 00:00:00 11.0.0.1 9001 0
r relay1 AAAA 2000-01-01 00:00:00 11.0.0.2 9001 0
r relay2 AAAA 2000-01-01 00:00:00 11.0.0.3 9001 0
r relay3 AAAA 2000-01-01 00:00:00 11.0.0.4 9001 0
"""


def test_the_consensus_is_read_and_compared_with_the_network_and_what_was_given(tmp_path):
    (tmp_path / CACHED_CONSENSUS).write_text(CONSENSUS)
    found = read_consensus(tmp_path)
    assert found.parameters == {"bwweightscale": 10_000, "cc_alg": 0, "mine": -3}
    require_consensus(found, NETWORK, {"cc_alg": 0, "mine": -3})
    for given, said in (
        ({"cc_alg": 2}, "cc_alg=0, not cc_alg=2 as it was given"),
        ({"other": 1}, "no other, not other=1 as it was given"),
    ):
        with pytest.raises(TorsweepError, match=rf"^the consensus .* has {said}$"):
            require_consensus(found, NETWORK, given)
    (tmp_path / CACHED_CONSENSUS).write_text(CONSENSUS.replace("r relay2 ", "r relay22 "))
    with pytest.raises(TorsweepError, match=r"^the consensus of this run has no relay2$"):
        require_consensus(read_consensus(tmp_path), NETWORK, {})


def test_a_network_without_a_consensus_is_refused_and_a_consensus_may_have_no_parameters(tmp_path):
    with pytest.raises(TorsweepError, match=r"^the authorities of this run came to no consensus$"):
        require_consensus(read_consensus(tmp_path), NETWORK, {})
    (tmp_path / CACHED_CONSENSUS).write_text("network-status-version 3\n")
    assert read_consensus(tmp_path).parameters == {}


def test_arti_is_for_clients_and_has_neither_lines_of_torrc_nor_given_paths(tmp_path):
    arti = BuiltTor(tmp_path, {"version": "arti-2.7.0"})
    tors = HostTors(stand_in_tor(tmp_path), {"bulk1": arti})
    free = run_spec(paths=None)
    tors.check(free, NETWORK)
    assert tors.is_arti("bulk1") and not tors.is_arti("relay1")
    given = UserOptions(torrc=(UserLines(lines={"CacheDNS": "1"}),))
    refused = {
        "relays and authorities": (HostTors(tors.usual, {"relay1": arti}), free),
        "given paths": (tors, run_spec()),
        "lines of torrc": (tors, run_spec(paths=None, given=given)),
    }
    for what, (asked, run) in refused.items():
        with pytest.raises(InputError, match=f"Arti is not for {what}"):
            asked.check(run, NETWORK)
