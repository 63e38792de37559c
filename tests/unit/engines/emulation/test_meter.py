"""What a relay tells of itself: bytes by its events, queues by the lines of its dumps."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from torsweep.engines.emulation.pace import RelayMeter
from torsweep.engines.emulation.process_layout import QUEUES_FILE

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
