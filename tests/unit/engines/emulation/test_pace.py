"""A run that falls behind real time is refused; what else used the processors, and what relays tell."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import struct
from pathlib import Path

import pytest

from torsweep.engines.emulation import pace as module
from torsweep.engines.emulation.pace import FellBehind, Pace, RelayMeter
from torsweep.engines.emulation.process_layout import QUEUES_FILE

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
    pace = Pace({"relay2": 1}, Path("tally"))
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
    assert [module.read_tally(one) for one in (file, empty)] == [(0, 0)] * 2
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


HZ = os.sysconf("SC_CLK_TCK")


def put(
    proc: Path,
    pid: int,
    own_s: float,
    children_s: float = 0.0,
    *,
    name: str = "work",
    parent: int = 1,
    session: int = 1,
    start: int = 100,
    flags: int = 0,
) -> None:
    """A process with so many seconds of CPU time of its own, and of children that have ended."""
    ticks = [round(own_s * HZ / 2), round(own_s * HZ / 2), round(children_s * HZ), 0]
    fields = ["S", parent, session, session, 0, -1, flags, 1, 2, 3, 4, *ticks, 20, 0, 1, 0, start, 0]
    (proc / str(pid)).mkdir(parents=True, exist_ok=True)
    (proc / str(pid) / "stat").write_text(f"{pid} ({name}) {' '.join(map(str, fields))}\n")


@pytest.fixture
def looks(tmp_path: Path) -> tuple[Path, Path]:
    """Where processes have their accounts at two moments."""
    return tmp_path / "before", tmp_path / "after"


def between(looks: tuple[Path, Path], *own: int) -> list[module.Other]:
    """Who took most in the ten seconds between two looks."""
    before, after = map(module.process_times, looks)
    return module.busiest(before, after, 10.0, set(own))


def test_the_three_that_took_most_are_named_and_the_runs_own_are_not(looks):
    before, after = looks
    for proc, seconds in ((before, 0.0), (after, 10.0)):
        put(proc, 10, 900 + seconds, name="engine")
        put(proc, 11, seconds, name="tor", session=11)
        put(proc, 12, seconds, name="helper of tor", session=11)
        put(proc, 20, 500 + 0.5 * seconds, name="half (a) core")
        put(proc, 21, 0.2 * seconds, name="a fifth")
        put(proc, 22, 0.1 * seconds, name="a tenth")
        put(proc, 23, 0.05 * seconds, name="too little for the first three")
        put(proc, 24, 8 * seconds, name="ksoftirqd/0", flags=0x00200000)
    put(after, 25, 9, name="began meanwhile", start=200)
    assert between(looks, 10, 11)[:3] == [
        module.Other("began meanwhile", 25, 0.9),
        module.Other("half (a) core", 20, 0.5),
        module.Other("a fifth", 21, 0.2),
    ]


def test_a_parent_answers_for_children_that_ended_but_not_for_what_they_did_before(looks):
    """A build: each compiler lives shorter than the time between two looks."""
    before, after = looks
    put(before, 30, 1.0, 100.0, name="make")
    put(before, 31, 3_600.0, name="cc1", parent=30)
    put(after, 30, 1.0, 100.0 + 3_604.0 + 14.0, name="make")
    assert between(looks) == [module.Other("make", 30, 1.8)]


def test_the_account_of_a_tree_that_ended_goes_to_the_process_above_it(looks):
    """Another run of the pipeline: its engine has reaped its tors, and the pipeline the engine."""
    before, after = looks
    put(before, 60, 1.0, name="snakemake")
    put(before, 61, 20.0, name="torsweep", parent=60)
    put(before, 62, 300.0, name="tor", parent=61)
    put(after, 60, 1.0, 20.0 + 300.0 + 5.0, name="snakemake")
    assert between(looks) == [module.Other("snakemake", 60, 0.5)]


def test_a_pid_that_is_used_again_is_another_process(looks):
    before, after = looks
    put(before, 40, 50.0, name="old", start=1)
    put(after, 40, 2.0, name="new", start=2)
    assert between(looks) == [module.Other("new", 40, 0.2)]


def test_this_process_is_found():
    assert os.getpid() in {pid for pid, _ in module.process_times(Path("/proc"))}


DUMPS = """Nov 22 02:36:00.000 [notice] Tor 0.4.9.11 opening new log file.
Nov 22 02:36:40.000 [info] 8 cells allocated on 9 circuits. 0 cells leaked.
Nov 22 02:36:40.000 [info] Our DNS cache has 0 entries.
Nov 22 02:36:41.000 [info] 310 cells allocated on 9 circuits. 1 cells leaked.
"""


class FakeControl:
    """Tells of a second's bytes when it is asked for the event."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def listen(self, handlers) -> None:
        for moment_ns, words in enumerate((["2000", "3000"], ["10", "20"], ["10", "20"]), 1):
            handlers["BW"](words, moment_ns)

    async def ask(self, command: str) -> list[str]:
        self.asked.append(command)
        return ["OK"]


def meter(folder: Path, pid: int, asked: int = 0, control: FakeControl | None = None) -> RelayMeter:
    async def make() -> RelayMeter:
        made = await RelayMeter.on(control or FakeControl(), pid, folder)
        for _ in range(asked):
            await made.ask_for_queues()
        return made

    return asyncio.run(make())


def test_bytes_are_those_of_tors_events_and_time_that_of_its_process(tmp_path):
    samples = meter(tmp_path, os.getpid()).samples
    assert [sample[:3] for sample in samples] == [(1, 2000, 3000), (2, 10, 20), (3, 10, 20)]
    assert all(sample[3] > 0 for sample in samples)
    assert meter(tmp_path, 2**22 + 1).samples == [], "a process that is gone has no more seconds"


def test_a_relay_is_quiet_when_its_last_seconds_were(tmp_path):
    made = meter(tmp_path, os.getpid())
    quiet = {asked: made.quiet(*asked) for asked in ((2, 20), (2, 19), (3, 20), (4, 5000))}
    assert [asked for asked, found in quiet.items() if found] == [(2, 20)]


def test_each_dump_answers_one_question(tmp_path):
    (tmp_path / QUEUES_FILE).write_text(DUMPS)
    control = FakeControl()
    made = meter(tmp_path, os.getpid(), asked=3, control=control)
    assert control.asked == ["SIGNAL DUMP"] * 3
    # The last one has not been answered yet.
    assert made.queued_cells() == list(zip(made.asked_ns, [8, 310], strict=False))
    assert meter(tmp_path / "silent", os.getpid(), asked=1).queued_cells() == []
