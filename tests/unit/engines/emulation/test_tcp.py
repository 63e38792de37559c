"""TCP's settings: both eras state all of them, and a kernel that lacks one is told of."""

from __future__ import annotations

from torsweep.config.eras import ERAS
from torsweep.engines.emulation.tcp import TCP, settable


def test_every_era_states_every_setting():
    assert TCP.keys() == set(ERAS)
    assert TCP["2012"].settings.keys() == TCP["today"].settings.keys()


def test_what_a_kernel_has_not_is_named_and_not_set(tmp_path):
    there = tmp_path / "net" / "ipv4"
    there.mkdir(parents=True)
    (there / "tcp_sack").write_text("1")
    found, absent = settable({"net.ipv4.tcp_sack": "1", "net.ipv4.tcp_recovery": "0"}, tmp_path)
    assert (found, absent) == ({"net.ipv4.tcp_sack": "1"}, ["net.ipv4.tcp_recovery"])
