"""Run by Python as a process of a simulated host: the round trip time that TCP reports.

    python round_trip_probe.py answer              # sends every byte back, to one peer
    python round_trip_probe.py ask 11.0.0.1        # prints tcpi_rtt after a few exchanges

In: the command line. Out: ``tcpi_rtt`` on standard output, as it is: microseconds from Linux, milliseconds
from Shadow, 0 where nothing was measured. It needs nothing but the standard library.
"""

import socket
import struct
import sys

PORT = 80
EXCHANGES = 5

RTT_OFFSET = 68
RTT_BYTES = 4
"""Where ``tcpi_rtt`` is in ``struct tcp_info`` (linux/tcp.h): eight bytes, then the sixteenth word of 32
bits."""


def answer(address: str = "0.0.0.0", port: int = PORT) -> None:
    """Send back all that the first peer sends, until it has closed."""
    with socket.create_server((address, port)) as listening:
        peer = listening.accept()[0]
    with peer:
        while got := peer.recv(1):
            peer.sendall(got)


def ask(address: str, port: int = PORT) -> int:
    """``tcpi_rtt`` after :data:`EXCHANGES` exchanges of a byte."""
    with socket.create_connection((address, port)) as peer:
        for _ in range(EXCHANGES):
            peer.sendall(b"x")
            peer.recv(1)
        tcp_info = peer.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, RTT_OFFSET + RTT_BYTES)
    return int(struct.unpack_from("=I", tcp_info, RTT_OFFSET)[0])


if __name__ == "__main__":
    if sys.argv[1] == "answer":
        answer()
    else:
        print(ask(sys.argv[2]))
