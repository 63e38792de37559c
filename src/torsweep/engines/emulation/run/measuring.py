"""The measured part of a run: clients download until it ends.

In: a network that is ready. Out: :class:`Measured`, what was seen from time 0 to the end.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from torsweep.engines.costs import Cost, cost_of
from torsweep.engines.emulation.run.downloads import Download
from torsweep.engines.emulation.run.network import RunningNetwork
from torsweep.engines.emulation.run.pace import Pace
from torsweep.engines.emulation.run.traffic import Generator

SAY_S = 10.0
LAST_SECOND_S = 1.1
LEAD_S = 0.5
"""Seconds between the end of preparations and the time that counts as 0."""

SECOND_NS = 1_000_000_000


@dataclass(frozen=True)
class Measured:
    """Monotonic times in ns of what counts as 0 and of the end; the downloads; who waited for processors.

    ``zero`` is time 0 by the local clock, as tor's logs have it. ``received`` has the payload bytes by second
    and kind of client. ``costs`` is what each tor took from time 0 on; memory is that of its whole life.
    """

    zero_ns: int
    end_ns: int
    downloads: list[Download]
    pace: Pace
    zero: datetime
    received: Mapping[tuple[int, str], int]
    costs: Mapping[str, Cost]


async def measure(running: RunningNetwork) -> Measured:
    """Let the clients download until the end of the run; raise what ended it before.

    Raises FellBehind as soon as it is certain that the run does.
    """
    run, before = running.layout.run, _costs(running)
    zero_ns = time.monotonic_ns() + int(LEAD_S * 1e9)
    zero = datetime.now() + timedelta(seconds=LEAD_S)
    generator = Generator(running.layout, running.followers, zero_ns, progress=run.tables.progress)
    pace = Pace({name: child.handle.pid for name, child in running.children.items()}, running.tally)
    traffic = asyncio.ensure_future(generator.run())
    watch = asyncio.ensure_future(_watch(running, generator, pace, zero_ns))
    try:
        await asyncio.wait([traffic, watch], return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (watch, traffic):
            task.cancel()
        await asyncio.gather(traffic, watch, return_exceptions=True)
    # The watch only ends by itself when something has gone wrong.
    if not watch.cancelled():
        watch.result()
    traffic.result()
    end_ns = min(time.monotonic_ns(), zero_ns + run.duration_ns)
    # Relays have not reported the second that contains the end yet.
    await asyncio.sleep(LAST_SECOND_S)
    # If all downloads fail at once, the run ends before the watch has looked for the reason.
    running.processes.check()
    costs = {
        name: replace(cost, cpu_us=cost.cpu_us - before[name].cpu_us)
        for name, cost in _costs(running).items()
    }
    return Measured(zero_ns, end_ns, generator.downloads, pace, zero, generator.received, costs)


def _costs(running: RunningNetwork) -> dict[str, Cost]:
    """What each tor has cost so far."""
    names = [place.name for place in running.layout.places]
    found = {name: cost_of(running.children[name].handle.pid) for name in names}
    return {name: cost for name, cost in found.items() if cost is not None}


async def _watch(running: RunningNetwork, generator: Generator, pace: Pace, zero_ns: int) -> None:
    """Each second: look after the processes and the pace, ask for queues, and say now and then how far it
    is."""
    duration_s = running.layout.run.duration_ns / 1e9
    second, said = 0, time.monotonic()
    pace.look()
    lead_s = (zero_ns - pace.began_ns) / 1e9
    whole_s, started_s = lead_s + duration_s, lead_s + running.layout.run.client_start_window_ns / 1e9
    while True:
        second += 1
        await asyncio.sleep(max(0.0, (zero_ns + second * SECOND_NS - time.monotonic_ns()) / 1e9))
        running.processes.check()
        await asyncio.gather(*(meter.ask_for_queues() for meter in running.meters.values()))
        pace.look()
        pace.refuse_when_certain(running.layout.folder, whole_s, started_s)
        if time.monotonic() - said >= SAY_S:
            said = time.monotonic()
            done = sum(download.outcome == "complete" for download in generator.downloads)
            megabytes = sum(download.got for download in generator.downloads) / 1e6
            running.say(
                f"{(time.monotonic_ns() - zero_ns) / 1e9:.0f} of at most {duration_s:.0f} s, {done} of"
                f" {len(generator.downloads)} downloads complete, {megabytes:.1f} MB"
            )
