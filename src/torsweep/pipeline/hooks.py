"""What happens when a pipeline starts (its folder is locked, its plan is printed) and when it fails.

In: Snakemake's workflow, in its hooks. Out: lines on standard error: before the runs, how many
there are and about how long they take; as each of them ends, ``7 of 48 runs, about 3 min left``; in a minute
without another line, what a step that is under way says. A plan with runs in real time holds the machine from
here to its end.

How long runs take was measured on processors of 2.8 GHz (each engine's ``entry.py``), and is right to within
a factor of two elsewhere.
"""

from __future__ import annotations

import atexit
import logging
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torsweep.config.experiment import EXPERIMENTS_DIRECTORY
from torsweep.config.reading import suggestion
from torsweep.config.tors import TorSource
from torsweep.ending import INTERRUPTED
from torsweep.engines.machine_lock import hold_machine
from torsweep.engines.registry import MODEL_ENGINE, find_engine
from torsweep.engines.selection import AUTO_ENGINE, choose_engine, lacking
from torsweep.errors import InputError, OutputError, ToolMissing, TorsweepError
from torsweep.pipeline.checks import is_rule, require_experiment_name
from torsweep.pipeline.costs import UNCHECKED, Costs, Slots, build_seconds
from torsweep.pipeline.made_with import other_torsweep
from torsweep.pipeline.paths import Paths, stop
from torsweep.pipeline.tree import RESULTS
from torsweep.storage import FULL_BYTES, NO_ROOM, free_bytes, no_room
from torsweep.storage.folders import EXPERIMENT_FILE, hold_folder
from torsweep.tor.build import require_buildable
from torsweep.units import SECOND_NS, counted, rounded_duration

OTHER_TARGETS = ("all", "report", "publish")

RUN_RULES = ("run", "run_repeat")
"""The rules that play runs."""

POLL_SECONDS = 2.0
QUIET_SECONDS = 60.0
"""After this time without a line there is one."""

CONTINUES = "the same command continues from what is complete"

WARNING = "torsweep: warning: "
_PROGRAMS = ("torsweep: ", "cellsim: ")
_MOST_CAUSES = 5
SLOWER = 2
"""How many times as long runs may take on another machine; beside other work, still longer."""
TRUST = 0.05
"""The weight of the estimate made before the start, as a share of all runs."""


class Interrupted(TorsweepError):
    """Ctrl-C, which a shell sees as such."""

    exit_code = INTERRUPTED


def start(paths: Paths, workflow: Any) -> None:
    """Claim the results folder, say what ``workflow``, Snakemake's, is about to run, and follow it.

    Runs in real time on this machine wait here for another plan's. A second pipeline in the folder, results
    that cannot be written, or too few cores end the process here.
    """
    try:
        Slots.of(workflow).require()
        hold_folder(RESULTS)
        if other := other_torsweep():
            _say(other)
        planned = _announce(paths, workflow)
        tell = hold_machine(_say) if planned.real_time and workflow.local_exec else None
        _follow(planned, workflow, tell or (lambda left_s: None))
    except TorsweepError as error:
        stop(error)
    except KeyboardInterrupt:
        stop(Interrupted(f"interrupted; {CONTINUES}"))


def succeed(workflow: Any) -> None:
    """Say which pages there are and what they warn of, on the last lines of all."""
    pages = [job for job in workflow.dag.jobs if job.rule.name == "report_plan"]
    warnings = {line: None for job in pages for log in job.log for line in _warnings(Path(log))}
    lines = [*warnings, *(f"torsweep: page: {job.output[0]}" for job in pages)]
    if lines:
        atexit.register(print, "\n".join(lines), file=sys.stderr, flush=True)


def _warnings(log: Path) -> list[str]:
    """The lines of ``log`` that warn of what a result rests on."""
    with suppress(OSError):
        text = log.read_text(encoding="utf-8", errors="replace")
        return [line for line in text.splitlines() if line.startswith(WARNING)]
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
    for log in map(Path, job.log):
        with suppress(OSError):
            text = log.read_text(encoding="utf-8", errors="replace")
            lines = [line for line in text.splitlines() if line.startswith(_PROGRAMS)]
            if lines:
                return lines[-1]
    return f"torsweep: {job.rule.name} failed; its log: {', '.join(map(str, job.log))}"


def require_place(workflow: Any) -> None:
    """End the process where rules can't leave their files below results: another prefix, or a full disk."""
    file = str(RESULTS / "file")
    if workflow.modifier.path_modifier.replace_prefix(file) != file:
        problem = "is not taken: commands of rules name files in results/"
        accepted = "a module without it; snakemake --directory leads to another folder"
        stop(InputError(problem, key="prefix", accepted=accepted))
    # Snakemake's log is on the same disk; it would print a traceback for each line that it can't write there.
    logging.raiseExceptions = False
    if free_bytes(RESULTS) < FULL_BYTES:
        stop(OutputError(f"{RESULTS}: {no_room(RESULTS)}"))
    atexit.register(_say_full)


def at_end(paths: Paths, workflow: Any, experiments: Iterable[str]) -> None:
    """Say on the last lines what a dry run would take, or which targets there are in place of one mistyped:
    Snakemake calls its hooks in neither case."""

    def say() -> None:
        if workflow.dag_settings is None:
            return
        rules = {rule.name for rule in workflow.rules}
        for target in sorted(set(workflow.dag_settings.targets)):
            file = EXPERIMENTS_DIRECTORY / target / EXPERIMENT_FILE
            if file.is_file() and is_rule(target):
                try:
                    require_experiment_name(target, file)
                except InputError as refused:
                    print(f"torsweep: {refused}", file=sys.stderr)
                return
            if target not in rules and "/" not in target:
                problem = f"no such target{suggestion(target, [*experiments, *OTHER_TARGETS])}"
                accepted = ", ".join([*experiments, *OTHER_TARGETS])
                print(f"torsweep: {InputError(problem, value=target, accepted=accepted)}", file=sys.stderr)
                return
        if workflow.dryrun and workflow.dag is not None:
            _announce(paths, workflow)

    if not used_as_module(workflow):
        atexit.register(say)


def used_as_module(workflow: Any) -> bool:
    """Whether another workflow uses these rules as a module."""
    return len(workflow.modifier_stack) > 1


@dataclass(frozen=True)
class Planned:
    """What is to be done: the seconds that each run adds, by its manifest; what builds leave, and the seconds
    that they take; whether there are runs in real time."""

    expected_s: Mapping[Path, float]
    built: Sequence[Path]
    build_s: float
    real_time: bool


def _announce(paths: Paths, workflow: Any) -> Planned:
    """Say what is about to be done, and return it.

    Raises ToolMissing where a build lacks something here; a dry run says so and goes on.
    """
    slots = Slots.of(workflow)
    kinds: dict[tuple[str, str, str], list[Any]] = {}
    builds: list[TorSource] = []
    built: list[Path] = []
    for job in workflow.dag.needrun_jobs(exclude_finished=False):
        if job.rule.name == "build_tor":
            builds.append(paths.tor_source(job.wildcards.build))
            built.append(Path(job.output[0]))
        if job.rule.name in RUN_RULES:
            kind = (job.wildcards.experiment, job.wildcards.engine, job.wildcards.era)
            kinds.setdefault(kind, []).append(job)
    expected_s: dict[Path, float] = {}
    if builds:
        _say(f"{counted(len(builds), 'build')} of tor: about {rounded_duration(build_seconds(builds))}")
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
        _say(announcement(paths, name, engine, era, networks, slots))
        files = (Path(job.output[0]) for job in jobs)
        at_once = _costs(paths, name, engine, networks, slots).at_once
        seconds = (paths.run_seconds(name, engine, network) / at_once for network in networks)
        expected_s |= dict(zip(files, seconds, strict=True))
    real_time = any(find_engine(engine).real_time for _, engine, _ in kinds)
    return Planned(expected_s, built, build_seconds(builds), real_time)


def _say(line: str) -> None:
    print(f"torsweep: {line}", file=sys.stderr, flush=True)


def announcement(
    paths: Paths, name: str, engine: str, era: str, networks: Sequence[str], slots: Slots
) -> str:
    """A line for the user: what is about to run in which engine and why, and its estimated cost."""
    experiment, why, instead = paths.experiment(name), "", ""
    chosen = choose_engine(AUTO_ENGINE, experiment.engines) if paths.overrides.engine == AUTO_ENGINE else None
    costs = _costs(paths, name, engine, networks, slots)
    if chosen is not None and chosen.engine == engine:
        why = f" ({chosen.reason})"
        if engine != MODEL_ENGINE and MODEL_ENGINE in experiment.engines:
            model_s = _costs(paths, name, MODEL_ENGINE, networks, slots).seconds
            instead = f"; engine={MODEL_ENGINE} takes about {rounded_duration(model_s)}"
    runs = f"{name}: {counted(len(networks), 'run')} in {engine}{why}, era {era}"
    # In real time a run ends with its downloads, or with its duration.
    takes = f"at most {rounded_duration(costs.seconds)}"
    if not find_engine(engine).real_time:
        takes = f"about {rounded_duration(costs.seconds)} to {rounded_duration(SLOWER * costs.seconds)}"
    return f"{runs}: {takes} {slots.text}, {costs.room(RESULTS)}{instead}"


def _costs(paths: Paths, name: str, engine: str, networks: Sequence[str], slots: Slots) -> Costs:
    """The costs of a run of the experiment ``name`` on each of ``networks``."""
    configs = [(paths.network(network), many) for network, many in Counter(networks).items()]
    return Costs.of(engine, configs, paths.experiment(name).duration_ns / SECOND_NS, slots)


def seconds_left(elapsed_s: float, done_s: float, all_s: float) -> float:
    """The estimated seconds that are left of runs that were estimated at ``all_s`` seconds together.

    Finished runs, thought to take ``done_s``, took ``elapsed_s``: the others take as much longer or shorter
    than was thought.
    """
    trust_s = TRUST * all_s
    return (all_s - done_s) * (elapsed_s + trust_s) / (done_s + trust_s)


def progress_line(finished: int, total: int, elapsed_s: float, left_s: float) -> str:
    """``7 of 48 runs, about 3 min left``."""
    if finished == total:
        return f"{total} of {total} runs, in {rounded_duration(elapsed_s)}"
    return f"{finished} of {total} runs, about {rounded_duration(left_s)} left"


def run_counter(
    expected_s: Mapping[Path, float],
    say: Callable[[str], None],
    clock: Callable[[], float] = time.monotonic,
    builds: Sequence[Path] = (),
    tell: Callable[[float], None] = lambda left_s: None,
) -> Callable[[], None]:
    """A function that, each time it is called, says how many runs have ended, if that has changed.

    ``expected_s`` are the runs' manifests, with the seconds that each is thought to take. A file counts when
    it is younger than this call: what is to be run again has one already. Time counts from when all of
    ``builds`` are there. ``tell`` takes the seconds that are left.
    """
    started = clock()
    before = {file: _modified_ns(file) for file in expected_s}
    announced = 0

    def count() -> None:
        nonlocal announced, started
        if not announced and not all(file.exists() for file in builds):
            started = clock()
        finished = [file for file, date in before.items() if _modified_ns(file) not in (None, date)]
        if len(finished) > announced:
            announced = len(finished)
            done_s, elapsed_s = sum(expected_s[file] for file in finished), clock() - started
            left_s = seconds_left(elapsed_s, done_s, sum(expected_s.values()))
            say(progress_line(announced, len(before), elapsed_s, left_s))
            tell(left_s)

    return count


def _modified_ns(file: Path) -> int | None:
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return None


def _follow(planned: Planned, workflow: Any, tell: Callable[[float], None]) -> None:
    """Say on standard error how far ``workflow`` is until the process ends; ``tell`` takes seconds left."""
    tell(planned.build_s + sum(planned.expected_s.values()))
    said_s = time.monotonic()

    def say(line: str) -> None:
        nonlocal said_s
        said_s = time.monotonic()
        _say(line)

    count = run_counter(planned.expected_s, say, builds=planned.built, tell=tell)

    def watch() -> None:
        while True:
            time.sleep(POLL_SECONDS)
            count()
            if time.monotonic() - said_s >= QUIET_SECONDS and workflow.scheduler is not None:
                say(under_way(list(workflow.scheduler.running)))

    threading.Thread(target=watch, name="torsweep-progress", daemon=True).start()


def under_way(jobs: Sequence[Any]) -> str:
    """A line on the first of the running ``jobs``, with the last line of its log."""
    if not jobs:
        return "waiting for a step"
    job = min(jobs, key=lambda job: job.jobid)
    others = f" (and {counted(len(jobs) - 1, 'other step')})" if len(jobs) > 1 else ""
    said = ""
    with suppress(OSError, IndexError):
        text = Path(job.log[0]).read_text(encoding="utf-8", errors="replace")
        said = [line for line in text.splitlines() if line.strip()][-1]
    return f"{job.message or job.rule.name}{others}" + (f": {said[-_MOST_SAID:]}" if said else "")


_MOST_SAID = 200
"""Characters of what a step says."""
