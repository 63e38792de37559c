"""A network namespace of this process's own, in which every address of 11.0.0.0/8 is this machine.

In: the right to make one (:mod:`torsweep.engines.emulation.rights`). Out: this process, and what it starts,
in it; nothing outside sees its addresses, and it is gone with its last process.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct

from torsweep.engines.emulation.run.namespaces import CLONE_NEWNET
from torsweep.errors import ToolMissing

_SIOCSIFADDR, _SIOCSIFNETMASK, _SIOCSIFFLAGS = 0x8916, 0x891C, 0x8914
_IFF_UP, _IFF_LOOPBACK, _IFF_RUNNING = 0x1, 0x8, 0x40
"""Constants of linux/sockios.h and linux/if.h."""

INTERFACE, ADDRESS, MASK = b"lo", "11.0.0.1", "255.0.0.0"
OWN_NAMESPACE = "/proc/self/ns/net"
"""Where each process finds the network namespace that it is in."""


def enter_own_namespace() -> None:
    """Move this process into a new network namespace. Raises ToolMissing when that is refused."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET) != 0:
        raise ToolMissing(f"emulation: network namespaces are refused: {os.strerror(ctypes.get_errno())}")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        for request, address in ((_SIOCSIFADDR, ADDRESS), (_SIOCSIFNETMASK, MASK)):
            fcntl.ioctl(
                asking, request, struct.pack("16sHH4s8x", INTERFACE, socket.AF_INET, 0, _packed(address))
            )
        flags = _IFF_UP | _IFF_LOOPBACK | _IFF_RUNNING
        fcntl.ioctl(asking, _SIOCSIFFLAGS, struct.pack("16sh14x", INTERFACE, flags))


def _packed(address: str) -> bytes:
    return socket.inet_aton(address)
