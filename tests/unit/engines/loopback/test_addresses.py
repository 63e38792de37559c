"""Blocks of addresses: no two runs have the same, and a run that is gone has none."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest

from torsweep.engines.loopback.addresses import MOST_HOSTS, STREAM_PORTS, claim_block, require_free
from torsweep.errors import OutputError

HOLDER = """
import sys, time
from torsweep.engines.loopback.addresses import claim_block
block = claim_block()
print(block.prefix, flush=True)
time.sleep(60)
"""


def claim_until(wanted: str, most: int = 100) -> bool:
    """Whether ``wanted`` is among the blocks to be had; other runs may be under way on this machine."""
    blocks = []
    try:
        while len(blocks) < most:
            blocks.append(claim_block())
            if blocks[-1].prefix == wanted:
                return True
        return False
    finally:
        for one in blocks:
            one.close()


def test_two_claims_are_two_blocks_and_a_closed_one_is_free_again():
    first, second = claim_block(), claim_block()
    try:
        assert first.prefix != second.prefix
        assert not claim_until(second.prefix, most=5)
        first.close()
        assert claim_until(first.prefix)
    finally:
        second.close()


def test_a_block_is_free_again_when_its_holder_was_killed():
    with subprocess.Popen([sys.executable, "-c", HOLDER], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        held = holder.stdout.readline().strip()
        assert not claim_until(held, most=5)
        holder.kill()
    assert claim_until(held)


def test_hosts_have_addresses_of_their_own_in_the_block():
    block = claim_block()
    try:
        addresses = {block.address(node) for node in range(MOST_HOSTS)}
        assert len(addresses) == MOST_HOSTS
        assert all(address.startswith(f"{block.prefix}.") for address in addresses)
        assert not addresses & {f"{block.prefix}.0", f"{block.prefix}.255"}
        with pytest.raises(ValueError, match="no address for host"):
            block.address(MOST_HOSTS)
    finally:
        block.close()


def test_a_taken_port_is_named_and_a_free_one_is_not():
    block = claim_block()
    with socket.socket() as other:
        other.bind((block.address(0), 0))
        other.listen()
        address, port = other.getsockname()
        with pytest.raises(OutputError, match=rf"^{address}:{port}: the port is taken by another program"):
            require_free([(block.address(1), port), (address, port)])
        require_free([(block.address(1), port)])
    block.close()


def test_no_port_of_a_run_is_one_that_the_kernel_gives_away():
    with open("/proc/sys/net/ipv4/ip_local_port_range") as file:
        first = int(file.read().split()[0])
    assert max(STREAM_PORTS) < first
