"""Hosts of linkem with real sockets. Skipped by name where TUN or namespaces are not to be had."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from bench.tcp_kernel import socket_in
from torsweep.engines.emulation.pace import read_tally

NAMES = ("client", "server")
ADDRESSES = {"client": "11.0.0.1", "server": "11.0.0.2"}
SENT = bytes(range(256)) * 400


@pytest.fixture
def configuration(tmp_path: Path) -> dict[str, Any]:
    """Two hosts 20 ms apart; a test may change it before it starts linkem."""
    if os.geteuid() != 0 or not os.access("/dev/net/tun", os.W_OK):
        pytest.skip("needs root and /dev/net/tun")
    if shutil.which("linkem") is None:
        pytest.skip("needs linkem: `make setup` builds it")
    np.save(tmp_path / "latency.npy", np.full((1, 1), 20_000, np.int32))
    rates = {"place": 0, "access_us": 0, "up_bytes_per_s": 1_000_000, "down_bytes_per_s": 1_000_000}
    return {
        "format": "torsweep-links",
        "format_version": 2,
        "hosts": [{"name": name, "address": ADDRESSES[name], **rates} for name in NAMES],
        "latency": "latency.npy",
        "latency_floor_us": 1,
        "mtu_bytes": 1500,
        "up_queue": {"packets": 100},
        "down_queue": {"kind": "codel", "target_us": 5_000, "interval_us": 100_000, "bytes": 250_000},
        "seed": 1,
        "congestion_control": "reno",
        "initial_window_segments": 10,
        "sysctls": {"net.ipv4.tcp_slow_start_after_idle": "0"},
        "statistics": "links.parquet",
        "packets": {"file": "packets.parquet", "sample": 1.0},
    }


@contextmanager
def started(folder: Path, configuration: dict[str, Any]) -> Iterator[tuple[subprocess.Popen[str], Any]]:
    """A running linkem and its ready line."""
    (folder / "config.json").write_text(json.dumps(configuration), encoding="utf-8")
    command = ["linkem", "run", str(folder / "config.json")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process, json.loads(process.stdout.readline() or "null")
        finally:
            process.kill()


def transfer(hosts: dict[str, str]) -> tuple[bytes, list[str]]:
    """Send from client to server; what came, and the congestion control of both ends."""
    with (
        socket_in(hosts["server"], socket.SOCK_STREAM) as listener,
        socket_in(hosts["client"], socket.SOCK_STREAM) as client,
    ):
        listener.bind((ADDRESSES["server"], 80))
        listener.listen()
        client.connect((ADDRESSES["server"], 80))
        server, _ = listener.accept()
        with server:
            client.sendall(SENT)
            client.shutdown(socket.SHUT_WR)
            came = b"".join(iter(lambda: server.recv(1 << 16), b""))
            ends = [end.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16) for end in (client, server)]
    return came, [end.rstrip(b"\0").decode() for end in ends]


def test_what_is_sent_arrives_and_is_counted(tmp_path, configuration):
    with started(tmp_path, configuration) as (process, ready):
        assert transfer(ready["hosts"]) == (SENT, ["reno", "reno"])
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 0
    links = pl.read_parquet(tmp_path / "links.parquet")
    sent, received = (
        sum(links.filter(pl.col("host") == host)[column].to_list())
        for host, column in (("client", "sent_bytes"), ("server", "received_bytes"))
    )
    assert sent == received > len(SENT)
    table = pl.read_parquet(tmp_path / "packets.parquet")
    packets = table.filter(pl.col("from_host") == "client").to_dicts()
    assert all(packet["payload_bytes"] <= 1_460 for packet in packets)
    assert max(packet["offset"] + packet["payload_bytes"] for packet in packets) == len(SENT)
    assert all(packet["done_ns"] - packet["sent_ns"] >= 10_000_000 for packet in packets)
    summary = json.loads((tmp_path / "links.json").read_text(encoding="utf-8"))
    assert summary["total"]["sent_packets"] == sum(links["sent_packets"].to_list())


def test_packets_are_counted_while_they_move(tmp_path, configuration):
    with started(tmp_path, configuration) as (_, ready):
        transfer(ready["hosts"])
        time.sleep(1.1)
        # A second is counted when the first packet after it moves.
        transfer(ready["hosts"])
        handed_over, late = read_tally(Path(ready["tally"]))
    assert handed_over > len(SENT) / 1500
    assert late <= handed_over


def test_two_runs_with_the_same_addresses_do_not_meet(tmp_path, configuration):
    folders = [tmp_path / "first", tmp_path / "second"]
    for folder in folders:
        folder.mkdir()
        shutil.copy(tmp_path / "latency.npy", folder)
    with (
        started(folders[0], configuration) as (_, first),
        started(folders[1], configuration) as (_, second),
    ):
        assert transfer(first["hosts"])[0] == transfer(second["hosts"])[0] == SENT


def test_a_killed_run_leaves_nothing(tmp_path, configuration):
    with started(tmp_path, configuration) as (process, ready):
        process.kill()
        process.wait()
        assert not any(Path(place).exists() for place in ready["hosts"].values())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.json", "latency.npy"]


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("congestion_control", "vegan", "congestion_control"),
        ("sysctls", {"net.ipv4.tcp_no_such": "1"}, "tcp_no_such"),
    ],
)
def test_what_the_kernel_has_not_is_one_line(tmp_path, configuration, key, value, says):
    with started(tmp_path, configuration | {key: value}) as (process, ready):
        said = process.communicate()[1]
    assert (ready, process.returncode, said.count("\n")) == (None, 2, 1)
    assert said.startswith("linkem: ")
    assert says in said
