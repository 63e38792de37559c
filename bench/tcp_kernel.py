"""What connections of this machine's kernel hold and carry when they have a link of their own.

    python -m bench.tcp_kernel ERA bench/results/tcp_kernel_ERA.csv [--repeats 2] [--add] [--rtt 150]

In: nothing but the machine, as root (or root of a user namespace), with ``linkem`` on the path, and an era,
whose settings of TCP each host gets. Out: a CSV file with a row for each repeat, :data:`LINK_SETTINGS` and
round trip; rows of the same cell are its repeats. With ``--add``, rows that the file already has stay before
the new ones. The file is written anew after each repeat. A repeat takes five minutes of real time for each
round trip and about a tenth of a core.

A cell is a sender and a receiver with a link of their own each, between them as many connections as it says,
all begun at once. The sender writes whatever its kernel takes; the receiver reads at once, or what a rate
allows. Every quarter of a second from the tenth second on, each connection is asked for what it holds
(``SIOCOUTQ`` at the sender and ``SIOCINQ`` at the receiver) and for its smoothed round trip (``TCP_INFO``).
"""

from __future__ import annotations

import argparse
import csv
import ctypes
import fcntl
import json
import os
import selectors
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bench.writing import csv_text, end_with
from torsweep.config.eras import ERAS, EraName
from torsweep.engines.emulation.process_layout import UP_QUEUE_PACKETS
from torsweep.engines.emulation.processes import CLONE_NEWNET
from torsweep.engines.emulation.tcp import TCP, TcpEra, settable
from torsweep.storage import write_text

ROUND_TRIPS_MS = (50, 150, 300)
FAST_BYTES_PER_S = 12_500_000
QUEUE_BYTES = 75_000
"""The queue of the down-link, as in an emulation (``torsweep.engines.emulation.process_layout``)."""
SETTLE_S = 10.0
SAMPLE_S, READ_S = 0.25, 0.005
SIOCINQ, SIOCOUTQ, SO_MEMINFO = 0x541B, 0x5411, 55
BLOCK = b"x" * 65_536
BATCHES = 4
"""The most cells that are measured at once: links and programs must not wait for a processor."""


@dataclass(frozen=True)
class Cell:
    """Connections and the links that they have to themselves. A rate of ``reader`` of 0: it reads at once."""

    where: str
    link_bytes_per_s: int
    connections: int
    reader_bytes_per_s: int = 0

    @property
    def rates(self) -> tuple[int, int]:
        """The rates of the sender's up-link and of the receiver's down-link, bytes per second."""
        rate = self.link_bytes_per_s
        return (rate, FAST_BYTES_PER_S) if self.where == "up" else (FAST_BYTES_PER_S, rate)


LINK_SETTINGS = (
    Cell("down", 52_744, 1),
    Cell("down", 52_744, 10),
    Cell("down", 52_744, 30),
    Cell("down", 114_423, 30),
    Cell("down", 389_831, 1),
    Cell("down", 389_831, 3),
    Cell("down", 389_831, 5),
    Cell("down", 389_831, 10),
    Cell("down", 389_831, 60),
    Cell("down", 1_420_203, 12),
    Cell("down", 2_145_183, 12),
    Cell("up", 389_831, 1),
    Cell("up", 389_831, 10),
    Cell("down", FAST_BYTES_PER_S, 1, 20_000),
    Cell("down", FAST_BYTES_PER_S, 1, 100_000),
    Cell("down", FAST_BYTES_PER_S, 1, 400_000),
)
"""The links of docs/fidelity.md, up-links as narrow, and readers slower than their link."""

COLUMNS = (
    *("where", "link_bytes_per_s", "connections", "reader_bytes_per_s", "rtt_ms"),
    *(
        "carried_share",
        "held_bytes",
        "unread_bytes",
        "srtt_ms",
        "cwnd",
        "send_buffer_bytes",
        "receive_buffer_bytes",
    ),
)


@dataclass
class Connection:
    """Both ends of a connection, and what was measured of it."""

    cell: Cell
    sender: socket.socket
    receiver: socket.socket
    read: int = 0
    allowed: float = 0.0
    seen: list[tuple[int, ...]] = field(default_factory=list)

    def look(self) -> None:
        """Record what the connection holds now."""
        info = self.sender.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
        srtt_us, cwnd = struct.unpack_from("I", info, 68)[0], struct.unpack_from("I", info, 80)[0]
        unread = _queued(self.receiver, SIOCINQ)
        buffers = (_memory(self.sender)[3], _memory(self.receiver)[1])
        self.seen.append((_queued(self.sender, SIOCOUTQ) + unread, unread, srtt_us, cwnd, *buffers))


def _queued(of: socket.socket, what: int) -> int:
    return int(struct.unpack("i", fcntl.ioctl(of, what, b"\0\0\0\0"))[0])


def _memory(of: socket.socket) -> tuple[int, ...]:
    return struct.unpack("9I", of.getsockopt(socket.SOL_SOCKET, SO_MEMINFO, 36))


def _document(folder: Path, era: TcpEra, cells: Sequence[Cell], rtt_ms: int) -> dict[str, Any]:
    np.save(folder / "latency.npy", np.full((1, 1), rtt_ms * 1000, np.int32))
    hosts = []
    for number, cell in enumerate(cells):
        up, down = cell.rates
        for side, (send, receive) in enumerate([(up, FAST_BYTES_PER_S), (FAST_BYTES_PER_S, down)]):
            address = f"11.0.{number}.{side + 1}"
            rates = {"up_bytes_per_s": send, "down_bytes_per_s": receive}
            hosts.append({"name": address, "address": address, "place": 0, "access_us": 0, **rates})
    return {
        "format": "torsweep-links",
        "format_version": 2,
        "hosts": hosts,
        "latency": "latency.npy",
        "latency_floor_us": 1,
        "mtu_bytes": 1500,
        "up_queue": {"packets": UP_QUEUE_PACKETS},
        "down_queue": {"kind": "droptail", "bytes": QUEUE_BYTES},
        "seed": 1,
        "congestion_control": era.congestion_control,
        "initial_window_segments": era.initial_window_segments,
        "sysctls": settable(era.sysctls())[0],
        "statistics": "links.parquet",
    }


def socket_in(namespace: str, kind: socket.SocketKind) -> socket.socket:
    """A socket of the network namespace at a path: it stays there when the calling thread comes back."""
    home, place = (os.open(path, os.O_RDONLY) for path in ("/proc/thread-self/ns/net", namespace))
    try:
        _enter(place)
        return socket.socket(socket.AF_INET, kind)
    finally:
        _enter(home)
        os.close(home)
        os.close(place)


def _enter(namespace: int) -> None:
    """Move the calling thread into a network namespace, given by a file descriptor."""
    if ctypes.CDLL(None, use_errno=True).setns(namespace, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


def _connect(hosts: dict[str, str], number: int, cell: Cell) -> list[Connection]:
    sender, receiver = f"11.0.{number}.1", f"11.0.{number}.2"
    listener = socket_in(hosts[receiver], socket.SOCK_STREAM)
    listener.bind((receiver, 80))
    listener.listen(cell.connections)
    opened = []
    for _ in range(cell.connections):
        end = socket_in(hosts[sender], socket.SOCK_STREAM)
        end.connect((receiver, 80))
        other, _ = listener.accept()
        end.setblocking(False)
        other.setblocking(False)
        opened.append(Connection(cell, end, other))
    listener.close()
    return opened


def _move(connections: Sequence[Connection], seconds: float) -> dict[Cell, int]:
    """Write and read for so long; the bytes that each cell's receiver read after :data:`SETTLE_S`."""
    watched = selectors.DefaultSelector()
    for connection in connections:
        watched.register(connection.sender, selectors.EVENT_WRITE, connection)
        if not connection.cell.reader_bytes_per_s:
            watched.register(connection.receiver, selectors.EVENT_READ, connection)
    slow = [connection for connection in connections if connection.cell.reader_bytes_per_s]
    started = last = time.perf_counter()
    sample, settled = SETTLE_S, [0] * len(connections)
    while (now := time.perf_counter()) - started < seconds:
        time.sleep(READ_S)
        for key, _ in watched.select(0):
            ready: Connection = key.data
            if key.fileobj is ready.sender:
                ready.sender.send(BLOCK)
            else:
                ready.read += len(ready.receiver.recv(1 << 18))
        for connection in slow:
            _read_slowly(connection, now - last)
        last = now
        if now - started >= sample:
            if sample == SETTLE_S:
                settled = [connection.read for connection in connections]
            sample += SAMPLE_S
            for connection in connections:
                connection.look()
    read: dict[Cell, int] = {}
    for before, connection in zip(settled, connections, strict=True):
        read[connection.cell] = read.get(connection.cell, 0) + connection.read - before
    return read


def _read_slowly(connection: Connection, passed_s: float) -> None:
    connection.allowed += passed_s * connection.cell.reader_bytes_per_s
    try:
        read = len(connection.receiver.recv(int(connection.allowed))) if connection.allowed >= 1 else 0
    except BlockingIOError:
        read = 0
    connection.read += read
    connection.allowed = min(connection.allowed - read, READ_S * connection.cell.reader_bytes_per_s)


def measure(era: EraName, cells: Sequence[Cell], rtt_ms: int, seconds: float) -> list[dict[str, object]]:
    """A row for each cell, all of them at once over links with this round trip."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        document = _document(folder, TCP[era], cells, rtt_ms)
        (folder / "config.json").write_text(json.dumps(document), encoding="utf-8")
        command = ["linkem", "run", str(folder / "config.json")]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                hosts = json.loads(process.stdout.readline())["hosts"]
                opened = [_connect(hosts, number, cell) for number, cell in enumerate(cells)]
                read = _move([connection for cell in opened for connection in cell], seconds)
            finally:
                process.terminate()
    return [_row(cell, rtt_ms, read[cell] / (seconds - SETTLE_S), opened[n]) for n, cell in enumerate(cells)]


def _row(cell: Cell, rtt_ms: int, bytes_per_s: float, connections: list[Connection]) -> dict[str, object]:
    seen = zip(*(sample for connection in connections for sample in connection.seen), strict=True)
    held, unread, srtt_us, cwnd, send_buffer, receive_buffer = (statistics.median(column) for column in seen)
    rate = cell.reader_bytes_per_s or cell.link_bytes_per_s
    return {
        **vars(cell),
        "rtt_ms": rtt_ms,
        "carried_share": f"{bytes_per_s / rate:.3f}",
        "held_bytes": round(held),
        "unread_bytes": round(unread),
        "srtt_ms": f"{srtt_us / 1e3:.1f}",
        "cwnd": f"{cwnd:g}",
        "send_buffer_bytes": round(send_buffer),
        "receive_buffer_bytes": round(receive_buffer),
    }


def _repeat(era: EraName, rtts_ms: Sequence[int], seconds: float) -> list[dict[str, object]]:
    """A row for each of :data:`LINK_SETTINGS` and round trip, in their order."""
    rows = []
    for rtt_ms in rtts_ms:
        print(f"{era}: round trip {rtt_ms} ms", file=sys.stderr)
        batches = [measure(era, LINK_SETTINGS[n::BATCHES], rtt_ms, seconds) for n in range(BATCHES)]
        rows += [batches[n % BATCHES][n // BATCHES] for n in range(len(LINK_SETTINGS))]
    return rows


def _already_measured(out: Path) -> list[Mapping[str, object]]:
    """The rows of ``out``; none where there is no such file."""
    if not out.exists():
        return []
    with out.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.tcp_kernel", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("era", choices=list(ERAS))
    parser.add_argument("out", type=Path)
    parser.add_argument("--repeats", type=int, default=1, help="how often each cell is measured")
    parser.add_argument("--add", action="store_true", help="keep the rows that OUT has as earlier repeats")
    parser.add_argument("--rtt", type=int, nargs="*", default=ROUND_TRIPS_MS, metavar="MS")
    parser.add_argument("--seconds", type=float, default=50.0)
    arguments = parser.parse_args()
    rows = _already_measured(arguments.out) if arguments.add else []
    for _ in range(arguments.repeats):
        rows += _repeat(arguments.era, arguments.rtt, arguments.seconds)
        write_text(arguments.out, csv_text(COLUMNS, rows))


if __name__ == "__main__":
    end_with(main)
