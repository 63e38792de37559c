"""What the pipeline and the doctor have to know about an engine; each engine's package states it in its
``entry.py``.

In: nothing. Out: :class:`Engine`, and :class:`Demand` for what a network takes of a machine in it. An engine
is a program: ``COMMAND run RUN_DIR --progress`` reads run.json (:mod:`torsweep.engines.run_spec`) and leaves
tables (:mod:`torsweep.engines.table_schema`) and, last, provenance.json.

Packages of engines that run real tor have the same parts by the same names: ``directory`` (what a run needs
on disk), ``run``, ``read`` (makes the tables), ``cli``, ``tools``, ``cost`` and ``entry``. What one engine
has as a module is a package in another where it needs several modules; what else stands there is its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from torsweep.config.engine_names import MODEL_ENGINE, EngineName
from torsweep.config.network import NetworkConfig


@dataclass(frozen=True)
class Demand:
    """What a network takes in an engine: bytes, and counts of threads and of files in one process."""

    memory_bytes: int
    shared_memory_bytes: int = 0
    threads: int = 1
    open_files: int = 0
    cores: int = 1


@dataclass(frozen=True)
class Engine:
    """One engine.

    ``command`` takes ``run RUN_DIR --progress``, and where ``takes_threads`` also ``--threads N``. ``tools``
    are the programs of others that it needs (:mod:`torsweep.engines.tools`). ``here`` returns the name that
    runs made here have, one of ``kinds``, and raises ToolMissing when a part of torsweep or a right is
    missing; it is called only where all ``tools`` are there. ``kinds`` says of each name what is different
    about it, and ``other_kind`` how to get the kind that is not installed. ``versions`` are those of
    torsweep's own programs that run in it. ``run_seconds`` estimates how long a run of so many seconds takes,
    and ``demand`` what a network takes of the machine. ``unsupported`` says, a line each, why the engine does
    not run on this platform at all. With ``real_time`` a run needs the machine for itself.
    """

    name: EngineName
    command: str
    here: Callable[[], str]
    versions: Callable[[], list[str]]
    run_seconds: Callable[[NetworkConfig, float], float]
    demand: Callable[[NetworkConfig], Demand]
    kinds: Mapping[str, str]
    tools: tuple[str, ...] = ()
    unsupported: Callable[[], list[str]] = list
    other_kind: str = ""
    takes_threads: bool = False
    real_time: bool = False

    @property
    def runs_tor(self) -> bool:
        """Whether it runs real tor, which the pipeline builds."""
        return self.name != MODEL_ENGINE


def counted(counts: Mapping[str, int], each: Mapping[str, int]) -> int:
    """The sum over programs of how many processes there are times what each of them takes."""
    return sum(count * each[program] for program, count in counts.items())
