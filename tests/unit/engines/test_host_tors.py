"""Which build each host runs, what is said of builds, and what the consensus must have."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stand_ins import SERIES_OPTIONS, SINCE_048, stand_in_tor
from tests.unit.engines.emulation.conftest import run_spec
from torsweep.config.eras import tor_settings
from torsweep.config.tracing import Tracing
from torsweep.engines.host_tors import (
    CACHED_CONSENSUS,
    HostTors,
    consensus_of,
    find_host_tors,
    require_given,
)
from torsweep.errors import InputError, ToolMissing, TorsweepError
from torsweep.tor import build

TODAY = tor_settings("today", {})


@pytest.fixture
def tors(tmp_path: Path) -> HostTors:
    """A tor with the series for all, and 0.4.7 for two relays."""
    old = stand_in_tor(tmp_path, "0.4.7.16", SERIES_OPTIONS | SINCE_048)
    return HostTors(stand_in_tor(tmp_path), {"relay2": old, "relay3": old})


def test_a_host_has_the_build_that_run_json_gives_it(
    tors: HostTors, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "read_build", {t.folder: t for t in (tors.usual, tors.of("relay2"))}.get)
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


def test_provenance_names_every_build_its_hosts_and_what_it_does_by_itself(tors: HostTors) -> None:
    facts = tors.facts()
    assert facts["tor"]["build"] == tors.usual.version
    assert "without_series" not in facts["tor"]
    (other,) = facts["other_tors"]
    assert other["hosts"] == ["relay2", "relay3"]
    assert other["without_series"]["TOR_MONOTIME_COARSE_CLOCK"] == "reads the kernel's coarse clock"
    assert tors.version == f"{tors.usual.version} and {other['build']}"
    assert "other_tors" not in HostTors(tors.usual).facts()


def test_a_run_that_asks_a_build_for_what_it_lacks_is_refused(tors: HostTors) -> None:
    tors.check(run_spec(tor=TODAY))
    HostTors(tors.usual).check(run_spec())
    with pytest.raises(InputError, match=r"^refill_mode: .*: tor 0\.4\.7\.16-\w+ has no Token"):
        tors.check(run_spec())
    tors.check(run_spec(tor=TODAY, tracing=Tracing(hosts=("relay1",))))
    with pytest.raises(InputError, match=r"^tracing: .*: tor 0\.4\.7\.16-\w+ has no CellTraceFile"):
        tors.check(run_spec(tor=TODAY, tracing=Tracing(hosts=("relay1", "relay3"))))


def test_the_parameters_of_the_consensus_are_read_and_compared_with_those_given(tmp_path: Path) -> None:
    text = "network-status-version 3 microdesc\nparams bwweightscale=10000 cc_alg=0 mine=-3\ndir-source a b\n"
    (tmp_path / CACHED_CONSENSUS).write_text(text)
    found = consensus_of(tmp_path)
    assert found == {"bwweightscale": 10_000, "cc_alg": 0, "mine": -3}
    require_given(found, {"cc_alg": 0, "mine": -3})
    with pytest.raises(TorsweepError, match=r"^the consensus .* has cc_alg=0, not cc_alg=2 as it was given$"):
        require_given(found, {"cc_alg": 2})
    with pytest.raises(TorsweepError, match="has no other, not other=1 as it was given"):
        require_given(found, {"other": 1})


def test_where_there_is_no_consensus_nothing_given_stands(tmp_path: Path) -> None:
    assert consensus_of(tmp_path) == {}
    (tmp_path / CACHED_CONSENSUS).write_text("network-status-version 3\n")
    assert consensus_of(tmp_path) == {}
    require_given({}, {})
    with pytest.raises(TorsweepError, match="has no cc_alg"):
        require_given({}, {"cc_alg": 0})
