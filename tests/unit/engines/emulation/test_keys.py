"""The keys of relays and authorities: made once a build, named to every process."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import replace

import pytest

from tests.unit.engines.emulation.conftest import GENCERT
from torsweep.engines.emulation.process_layout import KEPT_S, Identities, ProcessLayout, put_keys
from torsweep.errors import OutputError, TorsweepError

ONCE = """
marker = pathlib.Path(sys.argv[0]).with_name("made")
marker.write_text((marker.read_text() if marker.exists() else "") + "x")
"""


UNREADABLE = GENCERT.replace('"A" * 40', '"no"')


def put(layout: ProcessLayout, tor) -> Identities:
    for place in layout.places:
        place.data.mkdir(parents=True)
    return put_keys(layout, tor, lambda line: None)


def test_relays_have_an_identity_and_authorities_two(layout, fake_tor):
    found = put(layout, fake_tor(""))
    assert found.relays == dict.fromkeys(["authority1", "relay1", "relay2", "relay3"], "0123" * 10)
    assert found.votes == {"authority1": "A" * 40}


def test_keys_are_made_once_and_anew_before_they_expire(layout, fake_tor, tmp_path):
    tor = fake_tor("")
    tor.gencert.write_text(tor.gencert.read_text() + ONCE)
    first = put(layout, tor)
    again = replace(layout, folder=tmp_path / "again")
    assert put(again, tor) == first
    assert (tor.folder / "bin" / "made").read_text() == "x"
    assert (again.authorities[0].data / "keys" / "authority_certificate").is_file()
    long_ago = time.time() - KEPT_S - 1
    os.utime(tor.folder / "keys" / "authority1", (long_ago, long_ago))
    put(replace(layout, folder=tmp_path / "third"), tor)
    assert (tor.folder / "bin" / "made").read_text() == "xx"


@pytest.mark.parametrize(
    ("script", "error", "said"),
    [
        (None, TorsweepError, "tor-gencert: cannot be run: No such file or directory$"),
        ("raise SystemExit('no key')", TorsweepError, "^authority1: tor-gencert failed and said: no key$"),
        ("raise SystemExit('x: No space left on device')", OutputError, r"No space left on device \(.* free"),
        (UNREADABLE, TorsweepError, "authority_certificate: tor-gencert wrote no fingerprint"),
    ],
)
def test_a_gencert_that_fails_or_finds_no_room_is_quoted_and_kept_nowhere(
    layout, fake_tor, script, error, said
):
    tor = fake_tor("")
    if script is None:
        tor.gencert.unlink()
    else:
        tor.gencert.write_text(f"#!{sys.executable}\n{script}\n")
    with pytest.raises(error, match=said):
        put(layout, tor)
    assert not (tor.folder / "keys" / "authority1").exists()
