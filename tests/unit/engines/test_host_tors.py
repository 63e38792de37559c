"""Which build each host runs, what its tors were told and have, and what the consensus must have."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tests.stand_ins import SERIES_OPTIONS, SINCE_048, stand_in_tor
from tests.unit.engines.emulation.conftest import POSITIONS, network, run_spec
from torsweep.config.eras import tor_settings
from torsweep.config.tracing import Tracing
from torsweep.engines.host_tors import (
    CACHED_CONSENSUS,
    OWN,
    HostTors,
    find_host_tors,
    read_consensus,
    require_consensus,
    settings_frame,
)
from torsweep.engines.run_spec import UserLines, UserOptions
from torsweep.engines.shadow.settings import ask_options, write_settings
from torsweep.engines.shadow.simulate import TEMPLATE_HOSTS, GraphHost, Process
from torsweep.engines.table_schema import DEFAULT, NOT_KNOWN, SETTINGS, validate
from torsweep.errors import InputError, ToolMissing, TorsweepError
from torsweep.formats.frames import read_frame
from torsweep.tor import builds
from torsweep.tor.builds import BuiltTor, code_sha256

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


RELAYS = [relay.name for relay in NETWORK.relays]
HOSTS = [*(host.name for host in NETWORK.authorities), *RELAYS, "bulk1"]
GIVEN = UserOptions(
    torrc=(UserLines(lines={"CacheDNS": "1"}, hosts=("relay2",)),), consensus={"cc_alg": 0, "of_mine": 7}
)
TODAYS_RUN = run_spec(tor=TODAY, given=GIVEN)

TOR = """#!/bin/sh
case "$*" in
--list-torrc-options) echo CacheDNS; echo Nickname ;;
*"--Address auth1"*) exit 1 ;;
*"--dump-config short"*) grep -E '^(CacheDNS|Nickname) ' torrc; exit 0 ;;
esac
"""


def built(folder: Path, key_of: str, note: bytes = bytes(20)) -> BuiltTor:
    """A build whose program has the key in it, and a note of the linker."""
    facts = {"version": "0.4.9.11", "configure": [], "source_sha256": key_of}
    tor = BuiltTor(folder / key_of, facts)
    tor.program.parent.mkdir(parents=True)
    key = tor.version.rpartition("-")[2]
    mark = b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0" + note
    tor.program.write_bytes(f"{TOR}# built in /home/{key}/source\n".encode() + b"exit\n" + mark)
    tor.program.chmod(0o755)
    return tor


@pytest.fixture
def data(tmp_path: Path) -> dict[str, Path]:
    """The data directory of each host; the client has another consensus than all others."""
    folders = {name: tmp_path / "shadow/data/hosts" / name for name in HOSTS}
    for name, folder in folders.items():
        folder.mkdir(parents=True)
        parameters = "cc_alg=0 more=1" if name == "bulk1" else "cc_alg=0 of_mine=7 more=1"
        (folder / CACHED_CONSENSUS).write_text(f"params {parameters}\n")
    return folders


def test_each_role_has_what_it_was_told_and_what_its_tors_say(tmp_path, data):
    tors = HostTors(built(tmp_path, "1"), {"relay3": built(tmp_path, "2")})
    options = {name: {"Nickname": name, "NumCPUs": "1"} for name in HOSTS}
    options["relay2"]["CacheDNS"] = "1"
    frame = validate(settings_frame(TODAYS_RUN, NETWORK, tors, options, data), SETTINGS, tmp_path)
    rows = {(role, name, wanted): (found, hosts) for role, _, name, wanted, found, hosts in frame.rows()}
    expected = {
        ("relay", "CacheDNS", "1"): ("1", 1),
        ("relay", "CacheDNS", None): (DEFAULT, 2),
        ("relay", "NumCPUs", None): ("1", 3),
        ("relay", "Nickname", None): (OWN, 3),
        ("relay", "of_mine", "7"): ("7", 3),
        ("client", "of_mine", "7"): (DEFAULT, 1),
        ("client", "more", None): ("1", 1),
    }
    assert expected.items() <= rows.items()
    assert [rows["relay", "tor", tors.of(host).version][1] for host in ("relay1", "relay3")] == [2, 1]


Options = list[tuple[str, str, str | None, str]]


def simulated(tmp_path: Path, tors: HostTors, arguments: list[str]) -> tuple[Options, list[str]]:
    """The options in the table of a simulation whose tors had these arguments; what was said before it."""
    folder, told = tmp_path / "shadow", list[str]()
    hosts = {name: GraphHost(0, "", [Process("tgen", [], 0), Process("tor", arguments, 0)]) for name in HOSTS}
    for name in HOSTS:
        (folder / TEMPLATE_HOSTS / name).mkdir(parents=True)
        torrc = f"Nickname {name}\nCacheDNS {int(name == 'relay2')}\n"
        (folder / TEMPLATE_HOSTS / name / "torrc").write_text(torrc)
    ask_options(folder, NETWORK, hosts, tors, told.append)
    write_settings(folder, TODAYS_RUN, NETWORK, tors)
    frame = read_frame(folder / SETTINGS.file).filter(pl.col("setting") == "option")
    return frame.select("role", "name", "wanted", "found").rows(), told


@pytest.mark.parametrize("arguments", [["-f", "torrc"], ["--Address", "auth1", "-f", "torrc"]])
def test_under_shadow_the_tor_of_each_host_reads_its_files_before_the_simulation(tmp_path, data, arguments):
    """The name of a host is no address on this machine."""
    rows, told = simulated(tmp_path, HostTors(built(tmp_path, "1")), arguments)
    assert {row for row in rows if row[1] == "CacheDNS"} == {
        ("relay", "CacheDNS", "1", "1"),
        ("relay", "CacheDNS", None, "0"),
        ("client", "CacheDNS", None, "0"),
        ("authority", "CacheDNS", None, "0"),
    }
    assert ("client", "Address", None, "auth1") in rows or "--Address" not in arguments
    assert not told


def test_a_tor_that_does_not_say_its_options_takes_no_table_away(tmp_path, data):
    tor = built(tmp_path, "1")
    tor.program.write_text(tor.program.read_text(errors="replace").replace("auth1", "127.0.0.1"))
    rows, told = simulated(tmp_path, HostTors(tor), ["--Address", "auth1", "-f", "torrc"])
    assert rows == [("relay", "CacheDNS", wanted, NOT_KNOWN) for wanted in ("1", None)]
    (line,) = told
    assert line.startswith(f"the options of {len(HOSTS)} tors will not be known: ")


def test_builds_that_differ_in_the_folder_of_their_source_alone_have_the_same_code(tmp_path):
    one, same, other = built(tmp_path, "1"), built(tmp_path, "2", b"n" * 20), built(tmp_path, "3")
    other.program.write_bytes(other.program.read_bytes().replace(b"exit", b"quit"))
    assert code_sha256(one) == code_sha256(same) != code_sha256(other)
