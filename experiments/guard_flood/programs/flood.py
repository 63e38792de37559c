"""Floods a relay through tor: downloads without end, from a source on a host of its own.

    flood.py source PORT
    flood.py load SOCKS_PORT ADDRESS PORT CIRCUITS

The load keeps so many circuits busy, and writes to received.csv how many bytes came in each second.
"""

import socket
import sys
import threading
import time
from pathlib import Path

received = [0]


def source(port):
    """Send to whoever connects."""
    with socket.create_server(("", port), backlog=256) as server:
        while True:
            threading.Thread(target=send, args=(server.accept()[0],), daemon=True).start()


def send(connection):
    """Send until the other end has enough."""
    with connection:
        try:
            while True:
                connection.sendall(bytes(65536))
        except OSError:
            pass


def download(socks_port, address, port, name):
    """One download after the other; tor gives each name of SOCKS 4 circuits of its own."""
    request = b"\4\1" + port.to_bytes(2, "big") + socket.inet_aton(address) + name.encode() + b"\0"
    while True:
        try:
            with socket.create_connection(("127.0.0.1", socks_port)) as stream:
                stream.sendall(request)
                while data := stream.recv(65536):
                    received[0] += len(data)
        except OSError:
            pass
        time.sleep(1)


def load(socks_port, address, port, circuits):
    """Keep the circuits busy, and count."""
    for number in range(circuits):
        name = f"flood{number}"
        threading.Thread(target=download, args=(socks_port, address, port, name), daemon=True).start()
    with Path("received.csv").open("w") as file:
        file.write("second,bytes\n")
        for second in range(1, 1_000_000):
            before = received[0]
            time.sleep(1)
            file.write(f"{second},{received[0] - before}\n")
            file.flush()


if __name__ == "__main__":
    what, *words = sys.argv[1:]
    if what == "source":
        source(int(words[0]))
    else:
        load(int(words[0]), words[1], int(words[2]), int(words[3]))
