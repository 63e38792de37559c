"""A block of loopback addresses that no other run on this machine has.

In: nothing. Out: a /24 of 127.0.0.0/8, claimed until it is closed or the process ends. The claim is an
abstract unix socket named after the block: such names belong to the same network namespace as the addresses
do, and the kernel lets go of them when the process is gone, however it went.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterable
from dataclasses import dataclass

from torsweep.errors import OutputError

OR_PORT = 9001
LINK_PORT = 9002
"""Where a host's way to all others begins: its tor takes it for a proxy."""
DIR_PORT = 9030
SOCKS_PORT = 9050
STREAM_PORTS = range(20_000, 32_000)
"""Where a client's downloads come from, in turn: tor names the port, which tells them apart."""
SERVER_PORT = 9080
"""Where exits ask for servers; the delaying link listens there."""
SERVER_LISTEN_PORT = 9180

MOST_HOSTS = 250
"""Addresses of a /24, less the first, the last and a few to spare."""

_FIRST_BLOCK, _BLOCKS = 64, range(64 * 256)
"""127.64.0.0 to 127.127.255.255: away from 127.0.0.1 and from what distributions use."""


@dataclass(frozen=True)
class AddressBlock:
    """A claimed /24; ``prefix`` is its first three bytes as text."""

    prefix: str
    claim: socket.socket

    def address(self, node: int) -> str:
        """The address of the host ``node``, counted from 0; ValueError for more than fit into a block."""
        if not 0 <= node < MOST_HOSTS:
            raise ValueError(f"no address for host {node}: a block has {MOST_HOSTS}")
        return f"{self.prefix}.{node + 1}"

    def close(self) -> None:
        """Let another run have the block."""
        self.claim.close()


def claim_block() -> AddressBlock:
    """The first block that is not taken. Raises OutputError when there is none left."""
    for number in _BLOCKS:
        prefix = f"127.{_FIRST_BLOCK + number // 256}.{number % 256}"
        claim = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            claim.bind(f"\0torsweep-loopback-{prefix}")
        except OSError as error:
            claim.close()
            if error.errno != errno.EADDRINUSE:
                raise
            continue
        return AddressBlock(prefix, claim)
    raise OutputError("127.64.0.0/10: every block of addresses is taken by another run")


def require_free(endpoints: Iterable[tuple[str, int]]) -> None:
    """Nothing, when every (address, port) can be listened on; OutputError naming the first that can not.

    Runs do not meet, but a program that listens on a port of all addresses has it in every block.
    """
    for address, port in endpoints:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            # As tor and the links do: a connection of an earlier run in TIME_WAIT is not in the way.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((address, port))
                probe.listen()
            except OSError as error:
                why = "is taken by another program" if error.errno == errno.EADDRINUSE else error.strerror
                raise OutputError(f"{address}:{port}: the port {why}; nothing was started") from None
