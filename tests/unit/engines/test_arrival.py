"""What the tors of a run were told, and what they have."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.engines.emulation.conftest import POSITIONS, network, run_spec
from torsweep.config.eras import tor_settings
from torsweep.engines.host_tors import CACHED_CONSENSUS, OWN, HostTors, settings_frame
from torsweep.engines.run_spec import UserLines, UserOptions
from torsweep.engines.shadow.run import write_settings
from torsweep.engines.shadow.simulate import GraphHost, Process
from torsweep.engines.table_schema import DEFAULT, SETTINGS, validate
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
*"--dump-config short"*) grep -E '^(CacheDNS|Nickname) ' "$2"; exit 0 ;;
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
    assert rows["relay", "CacheDNS", "1"] == ("1", 1)
    assert rows["relay", "CacheDNS", None] == (DEFAULT, 2)
    assert rows["relay", "NumCPUs", None] == ("1", 3)
    assert rows["relay", "Nickname", None] == (OWN, 3)
    assert rows["relay", "of_mine", "7"] == ("7", 3)
    assert rows["client", "of_mine", "7"] == (DEFAULT, 1)
    assert rows["client", "more", None] == ("1", 1)
    assert [rows["relay", "tor", tors.of(host).version][1] for host in ("relay1", "relay3")] == [2, 1]


def test_under_shadow_the_tor_of_each_host_reads_its_files_once_more(tmp_path, data):
    tors = HostTors(built(tmp_path, "1"))
    hosts = {name: GraphHost(0, "", [Process("tor", ["-f", "torrc"], 0)]) for name in HOSTS}
    for name, folder in data.items():
        (folder / "torrc").write_text(f"Nickname {name}\nCacheDNS {int(name == 'relay2')}\n")
    folder = tmp_path / "shadow"
    write_settings(folder, TODAY, NETWORK, hosts, tors)
    rows = read_frame(folder / SETTINGS.file).rows()
    found = {(role, wanted): value for role, _, name, wanted, value, _ in rows if name == "CacheDNS"}
    assert found == {
        ("relay", "1"): "1",
        ("relay", None): "0",
        ("client", None): "0",
        ("authority", None): "0",
    }


def test_builds_that_differ_in_the_folder_of_their_source_alone_have_the_same_code(tmp_path):
    one, same, other = built(tmp_path, "1"), built(tmp_path, "2", b"n" * 20), built(tmp_path, "3")
    other.program.write_bytes(other.program.read_bytes().replace(b"exit", b"quit"))
    assert code_sha256(one) == code_sha256(same) != code_sha256(other)
