"""What is read of a running tor: its cost, and the round trips and windows that it logs."""

from __future__ import annotations

import os
import resource
import time
from datetime import datetime

import pytest

from tests.small_network import small_network
from torsweep.config.eras import tor_settings
from torsweep.engines import cost_tables
from torsweep.engines.cost_tables import Cost, cost_of, costs_frame, round_trips_frame
from torsweep.engines.table_schema import COSTS, ROUND_TRIPS, validate

TOLD = "congestion_control_update_circuit_bdp(): CC: Circuit"
VEGAS = "congestion_control_vegas_log(): CC: TOR_VEGAS"
LEFT = "INFL: 155, VBDP: 150, QUSE: 36, BWE: 1028"
LINES = f"""\
AT.000 [notice] Tor 0.4.9.11 opening new log file.
AT.100 [info] {TOLD} 7:-2 SENDME RTT: 90, 95, 93, 99, 155
AT.101 [info] {VEGAS} RTT: 90, 93, 99, CWND: 186, {LEFT}, SS: 1
AT.102 [info] {VEGAS} RTT: 90, 93, 99, CWND: 186, {LEFT}, SS: 0
AT.150 [info] circuit_resume_edge_reading(): CC: Streams blocked on circ channel. Chanq: 32
AT.250 [info] {VEGAS} RTT: 80, 85, 99, CWND: 217, {LEFT}, SS: 0
AT.300 [info] {VEGAS} above ss_max in steady state for circ 3: 5000
"""


def written(tmp_path, day: str, time: str = "10:00:02"):
    file = tmp_path / "log"
    file.write_text(LINES.replace("AT", f"{day} {time}"))
    return {"relay1": file, "relay2": tmp_path / "none"}


def test_each_update_of_a_window_is_a_row_with_the_circuit_that_was_told_before(tmp_path):
    frame = round_trips_frame(written(tmp_path, "Mar 05"), datetime(2024, 3, 5, 10, 0, 0, 500_000), 10**9)
    validate(frame, ROUND_TRIPS, tmp_path)
    assert frame.rows() == [
        ("relay1", 7 * 2**32 + 2**32 - 2, 1_602_000, 93_000, 90_000, 186),
        # The round trips that were told before are not these.
        ("relay1", None, 1_750_000, 85_000, 80_000, 217),
    ]


@pytest.mark.parametrize(("zero_us", "run_us", "window"), [(102_001, 10**9, 217), (0, 250_000, 186)])
def test_only_what_lies_in_the_run_counts(tmp_path, zero_us, run_us, window):
    zero = datetime(2024, 3, 5, 10, 0, 2, zero_us)
    frame = round_trips_frame(written(tmp_path, "Mar 05"), zero, run_us)
    assert frame["window_cells"].to_list() == [window]


@pytest.mark.parametrize(
    ("day", "zero"),
    [("Jan 01", datetime(2023, 12, 31, 10, 0, 2)), ("Feb 29", datetime(2024, 2, 28, 10, 0, 2))],
)
def test_a_run_may_pass_midnight(tmp_path, day, zero):
    frame = round_trips_frame(written(tmp_path, day), zero, 10**12)
    assert frame["time_us"][0] == 86_400_102_000


def test_without_lines_there_are_no_rows(tmp_path):
    (tmp_path / "log").touch()
    frame = round_trips_frame({"relay1": tmp_path / "log"}, datetime(2024, 3, 5), 10**9)
    assert validate(frame, ROUND_TRIPS, tmp_path).height == 0


def test_exits_log_it_under_vegas_to_the_millisecond():
    relays = small_network(("guard", "middle", "exit", "guard_exit"), ["bulk1"]).relays
    today, before = tor_settings("today", {}), tor_settings("2012", {})
    assert [cost_tables.logs_round_trips(today, relay) for relay in relays] == [False, False, True, True]
    assert not any(cost_tables.logs_round_trips(before, relay) for relay in relays)
    assert cost_tables.vegas_log_lines("/f") == ("LogTimeGranularity 1 msec", "Log [circ]info file /f")


def test_a_process_costs_what_the_kernel_counts_of_it():
    before = cost_of(os.getpid())
    held = bytearray(os.urandom(1) * 30_000_000)
    while time.process_time() < before.cpu_us / 1e6 + 0.05:
        pass
    after = cost_of(os.getpid())
    assert 50_000 <= after.cpu_us - before.cpu_us < 1_000_000
    assert after.peak_memory_bytes >= len(held)
    # ru_maxrss is in KiB (getrusage(2)), and may have grown since; the kernel adds up threads in batches.
    assert after.peak_memory_bytes <= resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 + 1_000_000
    # One that is gone costs nothing.
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
