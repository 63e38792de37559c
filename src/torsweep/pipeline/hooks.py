"""What happens when a pipeline starts (its folder is locked, its plan is printed) and when it ends.

In: Snakemake's workflow, in its hooks. Out: lines on standard error: before the runs, how many there are and
about how long they take; at the end, the pages, or why it failed. A plan with runs in real time holds the
machine from here to its end.
"""

from __future__ import annotations

import atexit
import logging
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any

from torsweep.config.tors import TorSource
from torsweep.ending import INTERRUPTED, draw_into_files
from torsweep.engines.machine_lock import hold_machine
from torsweep.engines.programs import needs_text
from torsweep.engines.registry import find_engine
from torsweep.engines.selection import AUTO_ENGINE, choose_engine, lacking
from torsweep.errors import OutputError, ToolMissing, TorsweepError
from torsweep.pipeline.costs import UNCHECKED, Costs, Slots, build_seconds, timed_here, took_text
from torsweep.pipeline.made_with import other_torsweep
from torsweep.pipeline.paths import Paths, stop
from torsweep.pipeline.tree import RESULTS
from torsweep.storage import FULL_BYTES, NO_ROOM, free_bytes, no_room
from torsweep.storage.folders import hold_folder
from torsweep.tor.build import require_buildable
from torsweep.units import SECOND_NS, counted, rounded_duration

RUN_RULES = ("run", "run_repeat")
"""The rules that play runs."""

CONTINUES = "the same command continues from what is complete"

WARNING = "torsweep: warning: "
_MOST_CAUSES = 5
SLOWER = 2
"""How many times as long runs may take on another machine; beside other work, still longer."""


class Interrupted(TorsweepError):
    """Ctrl-C, which a shell sees as such."""

    exit_code = INTERRUPTED


def start(paths: Paths, workflow: Any) -> None:
    """Claim the results folder, say what ``workflow``, Snakemake's, is about to run.

    Runs in real time on this machine wait here for another plan's. A second pipeline in the folder, results
    that cannot be written, or too few cores end the process here.
    """
    try:
        Slots.of(workflow).require()
        hold_folder(RESULTS)
        if other := other_torsweep():
            _say(other)
        seconds, real_time = _announce(paths, workflow)
        if real_time and workflow.local_exec:
            hold_machine(_say)(seconds)
    except TorsweepError as error:
        stop(error)
    except KeyboardInterrupt:
        stop(Interrupted(f"interrupted; {CONTINUES}"))


def succeed(workflow: Any) -> None:
    """Say which pages there are and what they warn of, on the last lines of all."""
    pages = [job for job in workflow.dag.jobs if job.rule.name == "report_plan"]
    warnings = {line: None for job in pages for log in job.log for line in _lines(log, WARNING)}
    lines = [*warnings, *(f"torsweep: page: {job.output[0]}" for job in pages)]
    if lines:
        atexit.register(print, "\n".join(lines), file=sys.stderr, flush=True)


def _lines(log: str, *beginnings: str) -> list[str]:
    """The lines of ``log`` that begin like this; none where it cannot be read."""
    with suppress(OSError):
        text = Path(log).read_text(encoding="utf-8", errors="replace")
        return [line for line in text.splitlines() if line.startswith(beginnings)]
    return []


def fail(workflow: Any) -> None:
    """Say why it ended, on the last lines of all: Snakemake's own come after its hooks."""
    causes = list({_cause(job): None for job in workflow.scheduler.failed})
    if any(NO_ROOM in cause for cause in causes):
        atexit.unregister(_say_full)
    lines = causes or [f"torsweep: interrupted; {CONTINUES}"]
    atexit.register(print, "\n".join(lines[-_MOST_CAUSES:]), file=sys.stderr, flush=True)


def _say_full() -> None:
    """Say that the disk is full, if it is: a step, or Snakemake itself, could not say so in its log."""
    if free_bytes(RESULTS) < FULL_BYTES:
        _say(f"{RESULTS}: {no_room(RESULTS)}")


def _cause(job: Any) -> str:
    """The line that the program of a failed ``job`` left last in its log."""
    lines = [line for log in job.log for line in _lines(log, "torsweep: ", "cellsim: ")]
    return lines[-1] if lines else f"torsweep: {job.rule.name} failed; its log: {', '.join(job.log)}"


def require_place() -> None:
    """End the process where results cannot be left: the disk is full."""
    draw_into_files()
    # Snakemake's log is on the same disk; it would print a traceback for each line that it can't write there.
    logging.raiseExceptions = False
    if free_bytes(RESULTS) < FULL_BYTES:
        stop(OutputError(f"{RESULTS}: {no_room(RESULTS)}"))
    atexit.register(_say_full)


def at_end(paths: Paths, workflow: Any) -> None:
    """Say on the last lines what a dry run would take: Snakemake calls no hook then."""

    def say() -> None:
        if workflow.dag_settings is not None and workflow.dryrun and workflow.dag is not None:
            _announce(paths, workflow)

    atexit.register(say)


def _announce(paths: Paths, workflow: Any) -> tuple[float, bool]:
    """Say what is about to be done; the seconds that it may take, and whether there are runs in real time.

    Raises ToolMissing where a build lacks something here; a dry run says so and goes on.
    """
    slots = Slots.of(workflow)
    kinds: dict[tuple[str, str, str], list[Any]] = {}
    builds: list[TorSource] = []
    for job in workflow.dag.needrun_jobs(exclude_finished=False):
        if job.rule.name == "build_tor":
            builds.append(paths.tor_source(job.wildcards.build))
        if job.rule.name in RUN_RULES:
            kind = (job.wildcards.experiment, job.wildcards.engine, job.wildcards.era)
            kinds.setdefault(kind, []).append(job)
    seconds = build_seconds(builds)
    if builds:
        _say(f"{counted(len(builds), 'build')} of tor: about {rounded_duration(seconds)}")
        try:
            require_buildable(builds)
        except ToolMissing as needed:
            if not workflow.dryrun:
                raise
            _say(str(needed))
        if workflow.dryrun:
            _say(f"not checked: {UNCHECKED}")
    for (name, engine, era), jobs in kinds.items():
        networks = [job.wildcards.network for job in jobs]
        if workflow.dryrun and (lack := lacking(engine, builds=False)):
            _say(f"{engine} cannot run here: {lack}")
        line, runs_s = announcement(paths, name, engine, era, networks, slots)
        _say(line)
        seconds += runs_s
    return seconds, any(find_engine(engine).real_time for _, engine, _ in kinds)


def _say(line: str) -> None:
    print(f"torsweep: {line}", file=sys.stderr, flush=True)


def announcement(
    paths: Paths, name: str, engine: str, era: str, networks: Sequence[str], slots: Slots
) -> tuple[str, float]:
    """A line for the user: what is about to run in which engine and why, and its estimated cost; and the
    seconds of that, which go by finished runs on these networks where there are any."""
    experiment, why = paths.experiment(name), ""
    chosen = choose_engine(AUTO_ENGINE, experiment.engines) if paths.overrides.engine == AUTO_ENGINE else None
    if chosen is not None and chosen.engine == engine:
        why = f" ({chosen.reason})"
    configs = {network: paths.network(network) for network in networks}
    counts = [(configs[network], many) for network, many in Counter(networks).items()]
    costs = Costs.of(engine, counts, experiment.duration_ns / SECOND_NS, slots)
    timed = [part for key, config in configs.items() for part in timed_here(engine, key, config, Path())]
    seconds = median(timed) * costs.seconds if timed else costs.seconds
    takes = f"about {rounded_duration(seconds)}"
    if not timed and find_engine(engine).real_time:
        # In real time a run ends with its downloads, or with its duration.
        takes = f"at most {rounded_duration(seconds)}"
    elif not timed:
        takes += f" to {rounded_duration(SLOWER * seconds)}"
    runs = f"{name}: {counted(len(networks), 'run')} in {engine}{why}, era {era}"
    beside = max((needs_text(experiment.programs.values(), each) for each in configs.values()), key=len)
    return f"{runs}: {takes} {slots.text}{took_text(timed)}, {costs.room(RESULTS)}{beside}", seconds
