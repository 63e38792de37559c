"""Where each host of a network is: its address, and the ports of its processes.

In: a host's node number. Out: an address, the same for a network in every run.
"""

from __future__ import annotations

from collections.abc import Mapping

from torsweep.network.model import Network

OR_PORT = 9001
DIR_PORT = 9030
SOCKS_PORT = 9050
CONTROL_PORT = 9051
SERVER_PORT = 80

_HOSTS_A_BLOCK = 250


def address(node: int) -> str:
    """The IPv4 address of the host at ``node``, in 11.0.0.0/8 without endings 0 and 251 to 255.

    Simulated addresses must be public ones: tor's exits refuse private destinations.
    """
    high, low = divmod(node, _HOSTS_A_BLOCK)
    second, third = divmod(high, _HOSTS_A_BLOCK)
    return f"11.{second}.{third}.{low + 1}"


def directory_authorities(
    network: Network, fingerprints: Mapping[str, str], v3_identities: Mapping[str, str]
) -> str:
    """The DirAuthority lines of every torrc of ``network``."""
    return "\n".join(
        f"DirAuthority {host.name} orport={OR_PORT} v3ident={v3_identities[host.name]}"
        f" {address(node)}:{DIR_PORT} {fingerprints[host.name]}"
        for node, host in enumerate(network.authorities, len(network.relays))
    )
