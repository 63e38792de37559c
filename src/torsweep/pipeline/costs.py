"""What runs cost before they are begun: time, memory, room on the disk.

In: an engine, networks, how long a run lasts, how many jobs may go on at once. Out: :class:`Costs`. Times
were measured on processors of 2.8 GHz (each engine's ``entry.py``), and are right to within a factor of two
elsewhere; runs that have finished here say better.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from torsweep.config.network import NetworkConfig
from torsweep.config.tors import TorSource
from torsweep.engines.registry import find_engine
from torsweep.engines.run_spec import RUN_FILE
from torsweep.errors import InputError
from torsweep.formats.files import read_json
from torsweep.home import CHECKOUT
from torsweep.pipeline.tree import STUDIES
from torsweep.storage import bytes_text, free_bytes
from torsweep.units import SECOND_NS, counted

BUILD_S, ARTI_BUILD_S = 240, 480
"""A build on two cores: of tor, its source at hand (docs/how-to/build-tor.md); of Arti (12 minutes of
processor time, the end of it on one core)."""

LATENCY_BYTES, HOST_BYTES = 1_400_000, 200
"""What a network takes on the disk: its table of latency (0.2 MB of 2012, 1.3 MB of 2024), each of its hosts.
Each is run twice or more, so that there are at most half as many as runs."""

RUN_BYTES = 100_000
"""What a short run leaves: 70 KB, its log and tables 40 KB."""

PAGES_BYTES = 5_000_000
"""Summary, figures and page of an experiment: 1.6 to 4 MB."""


UNCHECKED = "whether patches apply and tor takes the options: its build shows it, before the first run"
"""What a plan whose tor is still to be built does not say."""


def build_seconds(tors: Iterable[TorSource]) -> float:
    """The time that builds of ``tors`` take, one after the other."""
    return sum(ARTI_BUILD_S if tor.arti else BUILD_S for tor in tors)


LATEST = 16
"""Finished runs, the latest ones, that say how long a run takes here."""


def timed_here(engine: str, name: str, network: NetworkConfig, folder: Path) -> list[float]:
    """How long the latest runs of ``engine`` on ``network``, called ``name`` in paths, took in ``folder``, in
    the studies beside it and in the checkout, as parts of the reckoned time."""
    beside = folder.resolve().parent
    places = (folder, CHECKOUT, *(beside.glob("*/") if beside.name == STUDIES.name else ()))
    files = {
        file.resolve()
        for place in places
        for file in place.glob(f"results/benchmarks/runs/*/{engine}/*/{name}/*/*.tsv")
    }
    latest = sorted(files, key=lambda file: file.stat().st_mtime)[-LATEST:]
    return [share for file in latest if (share := _part_of_reckoned(file, engine, network)) is not None]


def _part_of_reckoned(benchmark: Path, engine: str, network: NetworkConfig) -> float | None:
    """What the run of Snakemake's ``benchmark`` file took; None where one of its files is not whole."""
    results = next(parent for parent in benchmark.parents if parent.name == "benchmarks").parent
    run = results / benchmark.relative_to(results / "benchmarks").with_suffix("")
    try:
        took_s = float(benchmark.read_text().splitlines()[1].split("\t")[0])
        run_s = float(read_json(run / RUN_FILE)["duration_ns"]) / SECOND_NS
    except (OSError, IndexError, KeyError, TypeError, ValueError, InputError):
        return None  # The file is another study's, or its run was killed.
    share = took_s / find_engine(engine).run_seconds(network, run_s) if run_s > 0 else 0.0
    return share if math.isfinite(share) and share > 0 else None


def took_text(timed: Sequence[float]) -> str:
    """``, as 16 finished runs took``; empty where none say so."""
    return f", as {counted(len(timed), 'finished run')} took" if timed else ""


@dataclass(frozen=True)
class Slots:
    """How many jobs run at the same time: one on each core of this machine, or as many as a cluster takes."""

    count: int
    on_cluster: bool = False

    @classmethod
    def of(cls, workflow: Any) -> Self:
        """The slots of Snakemake's ``workflow``."""
        if not workflow.local_exec:
            return cls(int(workflow.nodes), on_cluster=True)
        return cls(int(workflow.cores))

    def require(self) -> None:
        """InputError where no job could ever start: Snakemake would wait for ever."""
        if self.count < 1:
            key = "--jobs" if self.on_cluster else "--cores"
            raise InputError("leaves no job a place", key=key, value=self.count, accepted="1 or more, or all")

    def runs_at_once(self, engine: str, network: NetworkConfig) -> int:
        """How many runs of ``network`` go on at the same time."""
        if self.on_cluster:
            return max(1, self.count)
        return max(1, self.count // find_engine(engine).demand(network).cores)

    @property
    def text(self) -> str:
        """``on 2 cores``."""
        if self.on_cluster:
            return f"in up to {self.count} jobs at once, without their time in the queue"
        return f"on {counted(self.count, 'core')}"


@dataclass(frozen=True)
class Costs:
    """The time of all runs together; the memory of those that run at once; the disk space of all results, and
    that of files that exist only while a run goes on."""

    seconds: float
    memory_bytes: int
    disk_bytes: int
    at_once: int

    @classmethod
    def of(
        cls, engine: str, networks: Sequence[tuple[NetworkConfig, int]], run_s: float, slots: Slots
    ) -> Self:
        """The costs of so many runs of ``run_s`` seconds on each of ``networks``, which are one or more."""
        found = find_engine(engine)
        runs = sum(many for _, many in networks)
        at_once = min(runs, *(slots.runs_at_once(engine, each) for each, _ in networks))
        each_s = sum(many * found.run_seconds(each, run_s) for each, many in networks) / runs
        demands = [found.demand(each) for each, _ in networks]
        memory, working = (
            at_once * max(getattr(each, name) for each in demands) for name in ("memory_bytes", "disk_bytes")
        )
        disk = PAGES_BYTES + working
        for each, many in networks:
            disk += math.ceil(many / 2) * (LATENCY_BYTES + HOST_BYTES * each.host_count)
            disk += many * (RUN_BYTES + round(found.kept_bytes(each) * each.host_count * run_s))
        return cls(each_s * math.ceil(runs / at_once), memory, disk, at_once)

    def room(self, folder: Path) -> str:
        """``450 MB of memory, 1.2 GB of disk``, with what is free at ``folder`` where that is less."""
        free = free_bytes(folder)
        less = f" (only {bytes_text(free)} free)" if free < self.disk_bytes else ""
        return f"{bytes_text(self.memory_bytes)} of memory, {bytes_text(self.disk_bytes)} of disk{less}"
