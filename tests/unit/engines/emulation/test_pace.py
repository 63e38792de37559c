"""A run that falls behind real time is refused within a minute, in one line that says what was late."""

from __future__ import annotations

import contextlib
import json
import os
import struct
from pathlib import Path

import pytest

from torsweep.engines.emulation import pace as module
from torsweep.engines.emulation.pace import FellBehind, Pace

SECOND_NS = 10**9


@pytest.fixture(autouse=True)
def no_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PROC", tmp_path / "proc")


def looked(monkeypatch: pytest.MonkeyPatch, looks: list[tuple[int, int, int]], late: int = 0) -> Pace:
    """Looks, a second apart, at a process that has run and waited for so many ns, in so many turns.

    In each second 1,000 packets come, of which so many are late.
    """
    clock = iter(range(10 * SECOND_NS, 10_000 * SECOND_NS, SECOND_NS))
    told = iter(looks)
    tallies = ((1_000 * second, late * second) for second in range(len(looks)))
    monkeypatch.setattr(module, "waits_of", lambda pid: next(told))
    monkeypatch.setattr(module, "read_tally", lambda file: next(tallies))
    monkeypatch.setattr(module.time, "monotonic_ns", lambda: next(clock))
    pace = Pace({"relay2": 1})
    for _ in looks:
        pace.look()
    return pace


def steady(seconds: int, delay_ms: float, ran: float = 0.1) -> list[tuple[int, int, int]]:
    """Looks at a process with a hundred turns a second, each of which waits so long."""
    return [
        (500 + round(second * ran * 1e9), 10**9 + round(second * 100 * delay_ms * 1e6), 7 + 100 * second)
        for second in range(seconds + 1)
    ]


def test_time_counts_from_the_first_look(monkeypatch):
    looks = [(500, 10**9, 7), (500 + 10**8, 10**9 + 10**7, 9), (500 + 2 * 10**8, 10**9 + 5 * 10**8, 107)]
    assert looked(monkeypatch, looks).document() == {
        "relay2": {"ran": 0.1, "waited": 0.25, "waited_in_worst_second": 0.49, "delay_ms": 5.0}
    }


def test_the_kernels_account_of_a_process_is_read(monkeypatch):
    monkeypatch.setattr(module, "PROC", Path("/proc"))
    ran, waited, turns = module.waits_of(os.getpid())
    assert ran > 0 and waited >= 0 and turns > 0
    assert module.waits_of(2**22 + 1) is None


def test_the_tally_of_the_link_emulator_is_read(tmp_path):
    file, empty = tmp_path / "tally", tmp_path / "empty"
    empty.touch()
    assert [module.read_tally(one) for one in (None, file, empty)] == [(0, 0)] * 3
    file.write_bytes(struct.pack("<QQ", 7_000, 12))
    assert module.read_tally(file) == (7_000, 12)


def test_a_run_on_time_is_none_to_refuse_nor_is_a_process_judged_that_hardly_runs(tmp_path, monkeypatch):
    looked(monkeypatch, steady(3, module.MOST_DELAY_MS)).refuse_late(tmp_path, module.MOST_LATE)
    looked(monkeypatch, steady(3, 9.0, ran=module.LEAST_RAN / 2)).refuse_late(tmp_path, 0.0)
    assert not (tmp_path / "pace.json").exists()


@pytest.mark.parametrize(
    ("delay_ms", "late", "said"),
    [
        (1.3, 0.0, r"relay2 waited 1\.3 ms .*; no other .*; no tables are left$"),
        (0, 0.12, r"12\.0% of packets"),
    ],
)
def test_what_waited_or_came_too_late_is_named(tmp_path, monkeypatch, delay_ms, late, said):
    with pytest.raises(FellBehind, match=f"^the run fell behind real time: {said}"):
        looked(monkeypatch, steady(3, delay_ms)).refuse_late(tmp_path, late)


@pytest.mark.parametrize(
    ("seconds", "delay_ms", "late", "behind"),
    [
        (59, 100.0, 0, False),  # Too early to tell.
        (61, 0.49, 0, False),
        (61, 0.51, 0, True),
        (150, 0.0, 9, False),
        (61, 0.0, 11, True),  # 1.1 % of the packets so far.
        (300, 9.0, 0, False),  # The end, where the whole run is judged.
    ],
)
def test_a_run_that_falls_behind_ends_after_its_first_minute(
    tmp_path, monkeypatch, seconds, delay_ms, late, behind
):
    pace, said = looked(monkeypatch, steady(seconds, delay_ms), late), f"in the first {seconds} of 300 s: "
    with pytest.raises(FellBehind, match=said) if behind else contextlib.nullcontext():
        pace.refuse_when_late(tmp_path, 300.0)


def test_a_refused_run_leaves_its_account_with_what_ran_beside_it(tmp_path, monkeypatch):
    busy = [module.Other("ninja", 4111, 1.84), module.Other("cc1 plus", 12, 0.4)]
    pace = looked(monkeypatch, steady(70, 30.0), late=5)
    monkeypatch.setattr(Pace, "others", lambda self: busy)
    said = r"beside it ran ninja \(pid 4111, 1\.84 of a core\), cc1 plus \(pid 12, 0\.40 of a core\); no"
    with pytest.raises(FellBehind, match=said):
        pace.refuse_when_late(tmp_path, 300.0)
    account = json.loads((tmp_path / "pace.json").read_text())
    assert account["others"][0] == {"name": "ninja", "pid": 4111, "cores": 1.84}
    assert (account["seconds"], account["late_share"]) == (70.0, 0.005)
    assert account["pace"]["relay2"]["delay_ms"] == 30.0
