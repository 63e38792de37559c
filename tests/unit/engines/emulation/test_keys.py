"""The keys of authorities: made once a build, named to every process."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.unit.engines.loopback.conftest import network, run_spec
from torsweep.engines.loopback.addresses import DIR_PORT, OR_PORT, claim_block
from torsweep.engines.loopback.keys import KEPT_S, authority_lines
from torsweep.engines.loopback.layout import Layout
from torsweep.errors import OutputError, TorsweepError

ONCE = """
marker = pathlib.Path(sys.argv[0]).with_name("made")
marker.write_text((marker.read_text() if marker.exists() else "") + "x")
"""


@pytest.fixture
def layout(tmp_path: Path) -> Iterator[Layout]:
    block = claim_block()
    made = network("guard", "middle", "exit")
    rtt_us = np.zeros((made.node_count, made.node_count), dtype=np.int32)
    yield Layout(run_spec(), made, rtt_us, block, tmp_path / "processes", tmp_path / "sockets", "none")
    block.close()


def name_authorities(layout: Layout, tor) -> str:
    for place in layout.authorities:
        place.data.mkdir(parents=True)
    return authority_lines(layout, tor)


def counting(tor):
    """``tor``, whose gencert notes each time that it is called."""
    tor.gencert.write_text(tor.gencert.read_text() + ONCE)
    return tor


def test_an_authority_is_named_by_its_address_and_both_its_keys(layout, fake_tor):
    address = layout.authorities[0].address
    assert name_authorities(layout, fake_tor("")) == (
        f"DirAuthority authority1 orport={OR_PORT} v3ident={'A' * 40} {address}:{DIR_PORT} {'0123' * 10}"
    )


def test_keys_are_made_once_and_anew_before_they_expire(layout, fake_tor, tmp_path):
    tor = counting(fake_tor(""))
    first = name_authorities(layout, tor)
    again = Layout(**{**vars(layout), "folder": tmp_path / "again"})
    assert name_authorities(again, tor) == first
    assert (tor.folder / "bin" / "made").read_text() == "x"
    assert (again.authorities[0].data / "keys" / "authority_certificate").is_file()
    long_ago = time.time() - KEPT_S - 1
    os.utime(tor.folder / "authority-keys" / "authority1", (long_ago, long_ago))
    third = Layout(**{**vars(layout), "folder": tmp_path / "third"})
    name_authorities(third, tor)
    assert (tor.folder / "bin" / "made").read_text() == "xx"


def test_a_gencert_that_leaves_nothing_readable_is_quoted_and_kept_nowhere(layout, fake_tor):
    tor = fake_tor("")
    tor.gencert.write_text(tor.gencert.read_text().replace('"A" * 40', '"no"') + "print('odd')\n")
    with pytest.raises(TorsweepError, match=r"^authority1: tor-gencert left no certificate; it said: odd$"):
        name_authorities(layout, tor)
    assert not (tor.folder / "authority-keys" / "authority1").exists()


def test_a_full_disk_is_what_is_told_of(layout, fake_tor):
    tor = fake_tor("")
    tor.gencert.write_text(tor.gencert.read_text() + "raise SystemExit('write: No space left on device')\n")
    folder = re.escape(str(layout.authorities[0].folder))
    with pytest.raises(OutputError, match=f"^{folder}: cannot be written: no space left on device$"):
        name_authorities(layout, tor)
