"""How exact and how fast linkem is on this machine: delays, rates, packets a second, setting hosts up.

    python -m bench.links [--out bench/results/links.json]

In: nothing but the machine, as root (or root of a user namespace). Out: one JSON file with the machine and
its load, and the same as a table in Markdown beside it.

Delays are the kernel's time stamp of a packet's arrival (``SO_TIMESTAMPNS``) less the sender's clock just
before it sent, less what the links should take: half the round trip and the packet's time on both links.
Rates are bytes of IP packets that linkem counted, over the seconds in which one TCP connection kept the link
busy. For many packets a second, the sender hands the kernel several at once, because it is the slower of the
two.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import socket
import statistics
import struct
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from torsweep.provenance import machine, versions
from torsweep.storage import write_text

ROOT = Path(__file__).resolve().parent.parent
RTT_US = 100_000
PAYLOAD_BYTES, HEADER_BYTES = 100, 28
FAST_BYTES_PER_S = 125_000_000
CLONE_NEWNET = 0x40000000
UDP_SEGMENT, SO_TIMESTAMPNS, SO_RCVBUFFORCE = 103, 35, 33
RATES_BYTES_PER_S = (100_000, 1_000_000, 12_500_000)
CATCH_UP_S = 0.05
"""A sender that waited for a processor for longer leaves packets out instead of sending them at once."""
MANY_HOSTS = 1_253
"""The number of hosts of the full-size network."""


class Hosts:
    """Hosts of a running linkem."""

    def __init__(self, folder: Path, hosts: int, up_bytes_per_s: int, down_bytes_per_s: int) -> None:
        np.save(folder / "latency.npy", np.full((1, 1), RTT_US, np.int32))
        self.addresses = [f"11.0.{n // 250}.{n % 250 + 1}" for n in range(hosts)]
        rates = {"up_bytes_per_s": up_bytes_per_s, "down_bytes_per_s": down_bytes_per_s}
        document = {
            "format": "torsweep-links",
            "format_version": 2,
            "hosts": [
                {"name": address, "address": address, "place": 0, "access_us": 0, **rates}
                for address in self.addresses
            ],
            "latency": "latency.npy",
            "latency_floor_us": 1,
            "mtu_bytes": 1500,
            "up_queue": {"packets": 1000},
            "down_queue": {"kind": "droptail", "bytes": max(150_000, down_bytes_per_s // 4)},
            "seed": 1,
            "congestion_control": "cubic",
            "initial_window_segments": 10,
            "statistics": "links.parquet",
        }
        self.folder = folder
        (folder / "config.json").write_text(json.dumps(document), encoding="utf-8")
        started = time.perf_counter()
        self.process = subprocess.Popen(
            ["linkem", "run", str(folder / "config.json")], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.ready: dict[str, Any] = json.loads(self.process.stdout.readline())
        self.set_up_s = time.perf_counter() - started

    def socket(self, host: int, kind: socket.SocketKind) -> socket.socket:
        """A socket of a host."""
        return socket_in(self.ready["hosts"][self.addresses[host]], kind)

    def stop(self) -> dict[str, Any]:
        """End linkem; its summary, with how long ending took."""
        started = time.perf_counter()
        self.process.terminate()
        self.process.wait()
        ended_s = time.perf_counter() - started
        summary: dict[str, Any] = json.loads((self.folder / "links.json").read_text(encoding="utf-8"))
        return summary | {"ended_s": ended_s}


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


@contextmanager
def running(hosts: int, up_bytes_per_s: int, down_bytes_per_s: int) -> Iterator[Hosts]:
    """linkem with ``hosts`` hosts of the same rates."""
    with tempfile.TemporaryDirectory() as folder:
        links = Hosts(Path(folder), hosts, up_bytes_per_s, down_bytes_per_s)
        try:
            yield links
        finally:
            links.process.kill()
            links.process.wait()


def packets(rate_per_s: float, at_once: int, seconds: float) -> dict[str, float]:
    """Packets of 128 bytes between ten pairs of hosts, ``at_once`` to a call of the sender's."""
    with running(20, FAST_BYTES_PER_S, FAST_BYTES_PER_S) as hosts:
        receivers = [hosts.socket(host, socket.SOCK_DGRAM) for host in range(1, 20, 2)]
        senders = [hosts.socket(host, socket.SOCK_DGRAM) for host in range(0, 20, 2)]
        for host, (sender, receiver) in enumerate(zip(senders, receivers, strict=True)):
            receiver.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 28)
            receiver.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
            receiver.bind((hosts.addresses[2 * host + 1], 9))
            sender.connect((hosts.addresses[2 * host + 1], 9))
            if at_once > 1:
                sender.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, PAYLOAD_BYTES)
        time.sleep(0.5)  # until the kernel stamps arrivals
        sent, took_s = _send(senders, rate_per_s, at_once, seconds)
        time.sleep(RTT_US / 1e6 + 0.3)
        late_us = np.array([late for receiver in receivers for late in _late_us(receiver)])
        summary = hosts.stop()
    figures = {
        "sent_per_s": sent / took_s,
        "received_share": len(late_us) / sent,
        "processor_share": summary["processor_s"] / took_s,
        "processor_us_per_packet": summary["processor_s"] / sent * 1e6,
        "lateness_p50_us": summary["lateness"]["p50_ns"] / 1e3,
        "lateness_p99_us": summary["lateness"]["p99_ns"] / 1e3,
    }
    if at_once == 1:
        figures |= {f"delay_error_p{q}_us": float(np.percentile(late_us, q)) for q in (1, 50, 99)}
    return figures


def _send(senders: list[socket.socket], rate_per_s: float, at_once: int, seconds: float) -> tuple[int, float]:
    """Send at a rate; packets sent, and for how long, s. What could not be sent in time is left out."""
    rest = b"x" * (PAYLOAD_BYTES * at_once - 8)
    period_s, sent = at_once / rate_per_s, 0
    started = due = time.perf_counter()
    while (now := time.perf_counter()) - started < seconds:
        if now >= due:
            due = due + period_s if now - due < CATCH_UP_S else now
            senders[sent // at_once % len(senders)].send(struct.pack("q", time.time_ns()) + rest)
            sent += at_once
    return sent, now - started


def _late_us(receiver: socket.socket) -> Iterator[float]:
    expected_ns = RTT_US * 500 + 2 * (PAYLOAD_BYTES + HEADER_BYTES) * 10**9 / FAST_BYTES_PER_S
    receiver.setblocking(False)
    while True:
        try:
            data, extra, _, _ = receiver.recvmsg(PAYLOAD_BYTES, 64)
        except BlockingIOError:
            return
        seconds, nanoseconds = struct.unpack("qq", extra[0][2])
        yield (seconds * 10**9 + nanoseconds - struct.unpack_from("q", data)[0] - expected_ns) / 1e3


def rate(up_bytes_per_s: int, down_bytes_per_s: int, seconds: int) -> dict[str, float]:
    """One TCP connection from a host to another: what the slower link carried of its rate."""
    with running(2, up_bytes_per_s, down_bytes_per_s) as hosts:
        listener = hosts.socket(1, socket.SOCK_STREAM)
        listener.bind((hosts.addresses[1], 80))
        listener.listen()
        reader = threading.Thread(target=_read_all, args=(listener,))
        reader.start()
        sender = hosts.socket(0, socket.SOCK_STREAM)
        sender.connect((hosts.addresses[1], 80))
        ends, block = time.perf_counter() + seconds, b"x" * 65_536
        sender.settimeout(0.1)
        while time.perf_counter() < ends:
            try:
                sender.send(block)
            except TimeoutError:
                continue
        sender.shutdown(socket.SHUT_RDWR)
        sender.close()
        hosts.stop()
        table = pl.read_parquet(hosts.folder / "links.parquet")
        # From 3 s on the window has opened; the last seconds hold the rest of what was sent.
        busy = table.filter(
            (pl.col("host") == hosts.addresses[1]) & pl.col("second").is_between(3, seconds - 2)
        )
        carried = statistics.mean(busy["received_bytes"].to_list())
        slower = min(up_bytes_per_s, down_bytes_per_s)
        reader.join(timeout=1)
        return {"carried_share": carried / slower, "dropped_packets": float(busy["dropped_packets"].sum())}


def _read_all(listener: socket.socket) -> None:
    connection, _ = listener.accept()
    connection.settimeout(10)
    try:
        while connection.recv(1 << 20):
            pass
    except TimeoutError:
        return


def many_hosts() -> dict[str, float]:
    """Set up and take away the hosts of a full network."""
    before = _settled()
    with running(MANY_HOSTS, 125_000, 250_000) as hosts:
        there = _namespaces()
        ended_s = hosts.stop()["ended_s"]
        gone_s = ended_s + _until_gone(before, there)
        return {"set_up_s": hosts.set_up_s, "ended_s": ended_s, "gone_s": gone_s}


def _namespaces() -> int:
    """Network namespaces of this kernel, with those of its cache that are kept for reuse."""
    lines = Path("/proc/slabinfo").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("net_namespace "))


def _settled() -> int:
    """The number of namespaces once those of earlier runs are gone: when it has not fallen for two
    seconds."""
    before = _namespaces()
    while True:
        time.sleep(2)
        now = _namespaces()
        if now >= before:
            return now
        before = now


def _until_gone(before: int, there: int) -> float:
    """Seconds until all but a twentieth of the namespaces that came are gone: the cache keeps a few."""
    started = time.perf_counter()
    while _namespaces() > before + (there - before) // 20:
        if time.perf_counter() - started > 120:
            raise RuntimeError("namespaces are still there after two minutes")
        time.sleep(0.05)
    return time.perf_counter() - started


def measure() -> dict[str, dict[str, float]]:
    """All measurements, one after another."""
    results = {
        "10,000 packets a second asked for": packets(10_000, 1, 5),
        "100,000 packets a second asked for": packets(100_000, 16, 3),
        "150,000 packets a second asked for": packets(150_000, 32, 3),
    }
    for bytes_per_s in RATES_BYTES_PER_S:
        results[f"up-link of {bytes_per_s:,} bytes/s"] = rate(bytes_per_s, 4 * bytes_per_s, 10)
        results[f"down-link of {bytes_per_s:,} bytes/s"] = rate(4 * bytes_per_s, bytes_per_s, 10)
    results[f"{MANY_HOSTS:,} hosts"] = many_hosts()
    return results


def table(results: dict[str, dict[str, float]], load: float) -> str:
    """The results as a page in Markdown."""
    of_machine = machine()
    lines = [
        "# Links",
        "",
        f"{of_machine['cpu']}, {of_machine['cores']} cores, load {load:.0f} while measuring; by"
        " `python -m bench.links`.",
        "",
        "| what | figure | value |",
        "|---|---|---|",
    ]
    for what, figures in results.items():
        lines += [f"| {what} | {name} | {value:,.4g} |" for name, value in figures.items()]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(prog="python -m bench.links", description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "bench/results/links.json")
    out: Path = parser.parse_args().out
    with suppress(PermissionError):  # a sender that waits for a processor would be measured as slow links
        os.setpriority(os.PRIO_PROCESS, 0, -20)
    load = os.getloadavg()[0]
    results = measure()
    load = max(load, os.getloadavg()[0])
    document = {"machine": machine(), "versions": versions(), "load": load, "results": results}
    write_text(out, json.dumps(document, indent=2) + "\n")
    write_text(out.with_suffix(".md"), table(results, load))


if __name__ == "__main__":
    main()
