"""What the tors of a run were told, and what they have."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tests.unit.engines.emulation.conftest import POSITIONS, network, run_spec
from torsweep.config.eras import tor_settings
from torsweep.engines.host_tors import CACHED_CONSENSUS, OWN, HostTors, settings_frame
from torsweep.engines.run_spec import UserLines, UserOptions
from torsweep.engines.shadow.settings import ask_options, write_settings
from torsweep.engines.shadow.simulate import TEMPLATE_HOSTS, GraphHost, Process
from torsweep.engines.table_schema import DEFAULT, NOT_KNOWN, SETTINGS, validate
from torsweep.formats.frames import read_frame
from torsweep.tor.builds import BuiltTor, code_sha256

NETWORK = network(*POSITIONS)
RELAYS = [relay.name for relay in NETWORK.relays]
HOSTS = [*(host.name for host in NETWORK.authorities), *RELAYS, "bulk1"]
GIVEN = UserOptions(
    torrc=(UserLines(lines={"CacheDNS": "1"}, hosts=("relay2",)),), consensus={"cc_alg": 0, "of_mine": 7}
)
TODAY = run_spec(tor=tor_settings("today", {}), given=GIVEN)

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
    frame = validate(settings_frame(TODAY, NETWORK, tors, options, data), SETTINGS, tmp_path)
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
    write_settings(folder, TODAY, NETWORK, tors)
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
