"""What a process of tor has cost, read while it runs."""

from __future__ import annotations

import os
import resource
import time

from tests.small_network import small_network
from torsweep.engines.table_schema import COSTS, validate
from torsweep.engines.tor_tables import Cost, cost_of, costs_frame


def test_a_process_costs_what_the_kernel_counts_of_it():
    before = cost_of(os.getpid())
    held = bytearray(os.urandom(1) * 30_000_000)
    while time.process_time() < before.cpu_us / 1e6 + 0.05:
        pass
    after = cost_of(os.getpid())
    assert 50_000 <= after.cpu_us - before.cpu_us < 1_000_000
    assert after.peak_memory_bytes >= len(held)
    # ru_maxrss is in KiB (getrusage(2)), and may have grown since.
    assert after.peak_memory_bytes <= resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def test_a_process_that_is_gone_costs_nothing():
    assert cost_of(2**22 + 1) is None


def test_each_host_has_its_role(tmp_path):
    network = small_network(("guard", "middle", "exit"), ["bulk1"])
    names = [host.name for host in (*network.clients, *network.relays, *network.authorities)]
    frame = costs_frame({name: Cost(7, 4096) for name in names if name != "relay2"}, network, {"bulk1": 9})
    validate(frame, COSTS, tmp_path)
    assert frame.rows() == [
        ("authority1", "authority", 7, 4096, None),
        ("relay1", "relay", 7, 4096, None),
        ("relay3", "relay", 7, 4096, None),
        ("bulk1", "client", 7, 4096, 9),
    ]
