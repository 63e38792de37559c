"""A run that falls behind real time is refused in one line that says what was late."""

from __future__ import annotations

import os

import pytest

from torsweep.engines.emulation.run import pace as module
from torsweep.engines.emulation.run.pace import Pace, refuse_late
from torsweep.errors import TorsweepError


def accounts(monkeypatch, looks: list[tuple[int, int, int]]) -> None:
    """Have a process account for these nanoseconds run and waited, one look after the other, a second
    apart."""
    told, clock = iter(looks), iter(range(10**9, 10**12, 10**9))
    monkeypatch.setattr(module, "account_of", lambda pid: next(told))
    monkeypatch.setattr(module.time, "monotonic_ns", lambda: next(clock))


def test_time_counts_from_the_first_look(monkeypatch):
    looks = [(500, 10**9, 7), (500 + 10**8, 10**9 + 10**7, 9), (500 + 2 * 10**8, 10**9 + 5 * 10**8, 107)]
    accounts(monkeypatch, looks)
    pace = Pace({"relay1": 1})
    for _ in looks:
        pace.look()
    assert pace.document() == {
        "relay1": {"ran": 0.1, "waited": 0.25, "waited_in_worst_second": 0.49, "delay_ms": 5.0}
    }


def test_the_kernels_account_of_a_process_is_read():
    ran, waited, turns = module.account_of(os.getpid())
    assert ran > 0
    assert waited >= 0
    assert turns > 0
    assert module.account_of(2**22 + 1) is None


def pace_of(delay_ms: float, ran: float = 0.1) -> dict[str, dict[str, float]]:
    calm = {"ran": 0.1, "waited": 0.0, "waited_in_worst_second": 0.0, "delay_ms": 0.0}
    return {"linkem": calm, "relay2": {**calm, "delay_ms": delay_ms, "ran": ran}}


def test_a_run_on_time_is_none_to_refuse():
    refuse_late(pace_of(module.MOST_DELAY_MS), module.MOST_LATE)


def test_a_process_that_waited_too_long_is_named():
    said = r"^the run fell behind real time: relay2 waited 1\.3 ms .* no tables are left$"
    with pytest.raises(TorsweepError, match=said):
        refuse_late(pace_of(1.3), 0.0)


def test_a_process_that_hardly_runs_is_not_judged():
    refuse_late(pace_of(9.0, ran=module.LEAST_RAN / 2), 0.0)


def test_packets_that_came_late_are_counted():
    with pytest.raises(TorsweepError, match=r"^the run fell behind real time: 12\.0% of packets"):
        refuse_late(pace_of(0.0), 0.12)
