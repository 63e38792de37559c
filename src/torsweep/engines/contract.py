"""What an engine states of itself, in the ``entry.py`` of its package; nothing else lists engines.

An engine is a program: ``COMMAND run RUN_DIR --progress`` reads run.json
(:mod:`torsweep.engines.run_spec`) and leaves tables (:mod:`torsweep.engines.table_schema`) and, last,
provenance.json. Its name is that of its package. If that has a ``cli.py``, its typer application ``app`` is
the command ``torsweep NAME``. Engines of real tor also have ``run`` and ``read``, which makes the tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from torsweep import engines

if TYPE_CHECKING:
    from torsweep.config.knob import Mark
    from torsweep.config.network import NetworkConfig

Say = Callable[[str], None]
"""Tells the user one line of how far something is."""


@dataclass(frozen=True)
class Demand:
    """What a network needs in an engine: bytes (of disk only during a run), threads, files of a process."""

    memory_bytes: int
    disk_bytes: int = 0
    shared_memory_bytes: int = 0
    threads: int = 1
    open_files: int = 0
    cores: int = 1


@dataclass(frozen=True)
class EngineKind:
    """An engine as its runs name it: what it ``does``, in words that go on after "it", its mark in figures,
    and whether its TCP has Nagle's algorithm."""

    does: str
    mark: Mark
    has_nagle: bool = True


def tor_kept_bytes(network: NetworkConfig) -> int:
    """Bytes on disk for each host and second of a run of real tor with its tables (measured: 91 to 166)."""
    return 170


def tor_working_bytes(tors: int, relays: int) -> int:
    """Bytes on disk of so many tor processes during a run. 52 and 81 KB each were measured in emulations with
    11 and 10 relays, and 200 KB with the logs of TGen."""
    return tors * (300_000 + 3_000 * relays)


@dataclass(frozen=True)
class Engine:
    """One engine.

    ``command`` takes ``run RUN_DIR --progress``, and where ``takes_threads`` also ``--threads N``.
    ``tools`` are the programs of others that it needs. ``here`` returns the name that runs made here have,
    one of ``kinds``, and raises ToolMissing when a part of torsweep or a right is missing; it is called only
    where all ``tools`` are there. ``other_kind`` says how to get the kind that is not installed. ``versions``
    are those of torsweep's own programs. ``run_seconds`` estimates how long a run of so many seconds takes;
    a run and its tables keep ``kept_bytes`` for each host and second. ``unsupported`` says, a line each, why
    the engine does not run on this platform. ``runs_tor`` is false of a model. With ``real_time`` a run needs
    its cores for itself. Where it ``takes_tornettools``, it runs networks that tornettools made. The pages of
    a client repeat after ``pages_repeat_after``; 0: never.

    ``caution`` says, for pages and doctor, why its times may differ from those of tor on a real kernel;
    ``note`` is for doctor alone. ``trial`` returns what a trial shows of this machine and no version tells,
    and raises ToolMissing or TorsweepError when it cannot be made.
    """

    name: str
    command: str
    here: Callable[[], str]
    versions: Callable[[], list[str]]
    run_seconds: Callable[[NetworkConfig, float], float]
    demand: Callable[[NetworkConfig], Demand]
    kinds: Mapping[str, EngineKind]
    tools: tuple[str, ...] = ()
    kept_bytes: Callable[[NetworkConfig], int] = tor_kept_bytes
    unsupported: Callable[[], list[str]] = list
    other_kind: str = ""
    runs_tor: bool = True
    takes_threads: bool = False
    real_time: bool = False
    takes_tornettools: bool = False
    pages_repeat_after: int = 0
    caution: str = ""
    note: str = ""
    trial: Callable[[], str] = str

    def turns(self, target: str) -> bool:
        """Whether it has knobs of this ``target`` (:attr:`torsweep.config.knob.Knob.target`)."""
        # A model has no build of tor, torrc or programs; the TCP that carries tor has no knob.
        of_tor = ("tor_build", "options", "programs", "torrc")
        return target not in (("transport",) if self.runs_tor else of_tor)


def engine_names() -> tuple[str, ...]:
    """The packages with an ``entry.py``, in alphabetical order. None is loaded."""
    entries = [entry for folder in engines.__path__ for entry in Path(folder).glob("*/entry.py")]
    return tuple(sorted(entry.parent.name for entry in entries))
