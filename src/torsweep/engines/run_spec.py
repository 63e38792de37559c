"""run.json: everything an engine needs to know about one run; and the directory that holds it.

In and out: :class:`RunSpec`. Every setting is explicit; times are integers in ns of simulated time, sizes are
bytes. A run directory has run.json, the tables, and provenance.json once the run is finished; it never holds
results of other settings than those of its run.json.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, StrictBool, model_validator

from torsweep.config.eras import EraName
from torsweep.config.option_bundle import Parameter
from torsweep.config.reading import Section, left_out, validate
from torsweep.config.shadow_options import SHADOWS_DEFAULTS, ShadowOptions
from torsweep.config.tor_settings import MILLISECOND_NS, TorSettings, Transport, whole
from torsweep.config.tors import Sha256
from torsweep.config.tracing import Tracing
from torsweep.config.traffic import (
    MILLION,
    MOST_OBJECTS,
    AnyKind,
    ClientTraffic,
    DrawnSize,
    Sites,
    Think,
    check_points,
    mean,
)
from torsweep.config.variant import FREE, Pairing
from torsweep.errors import InputError, OutputError
from torsweep.formats.files import read_document
from torsweep.network.model import NETWORK_FILE, Network, ProgramHost, read_network
from torsweep.provenance import PROVENANCE_FILE, sha256_of_file
from torsweep.seeds import MOST_SEED
from torsweep.storage import changed_since, verify_folder, with_table_checksums, write_text
from torsweep.storage.folders import RUN_FOLDER, folder_claimed
from torsweep.tor import is_arti
from torsweep.units import WEEK_NS

RUN_FILE = "run.json"
"""Written before an engine starts; when it changes, what the engine left counts no more."""

Pause = Annotated[int, whole(0, WEEK_NS)]


_Millionths = Annotated[int, whole(0, MILLION)]


class RunTraffic(Section):
    """What a client of one kind does: ask, download, pause between two bounds; give up, or never.

    Where sizes or pauses are drawn from ``…_quantiles`` (:data:`torsweep.config.traffic.Points`),
    ``response_bytes`` is their mean, and the bounds of pauses are those of the table. With ``page_objects``
    or ``sites`` a client downloads pages: sizes are those of objects, of which it downloads
    ``parallel_streams`` at once after a page's first; each page is one of the sites, drawn in the order of
    their names. ``under_way_at_start``: of its first downloads, or of its first page, a uniform part is left.
    """

    request_bytes: Annotated[int, whole(0, 2**24)]
    response_bytes: Annotated[int, whole(1, 2**40)]
    think_min_ns: Pause
    think_max_ns: Pause
    think_step_ns: Annotated[int, whole(1, WEEK_NS)] = 1
    streams_per_circuit_isolation: StrictBool
    parallel_streams: Annotated[int, whole(1, 10_000)]
    timeout_ns: Annotated[int, whole(MILLISECOND_NS, WEEK_NS)] | None
    keeps_guards: StrictBool = left_out(True)
    response_quantiles: tuple[tuple[_Millionths, Annotated[int, whole(1, 2**40)]], ...] | None = left_out(
        None
    )
    think_quantiles: tuple[tuple[_Millionths, Pause], ...] | None = left_out(None)
    page_objects: tuple[tuple[_Millionths, Annotated[int, whole(1, MOST_OBJECTS)]], ...] | None = left_out(
        None
    )
    sites: Mapping[str, tuple[Annotated[int, whole(1, 2**40)], ...]] | None = left_out(None)
    under_way_at_start: StrictBool = left_out(False)

    @model_validator(mode="after")
    def _rising(self) -> Self:
        for points in filter(None, (self.response_quantiles, self.think_quantiles, self.page_objects)):
            check_points(points)
        return self

    @property
    def has_pages(self) -> bool:
        """Whether clients download pages."""
        return self.page_objects is not None or self.sites is not None

    @property
    def mean_pause_ns(self) -> int:
        """The mean pause."""
        return mean(self.think_quantiles or ((0, self.think_min_ns), (MILLION, self.think_max_ns)))

    @classmethod
    def of(cls, traffic: ClientTraffic) -> RunTraffic:
        """The traffic that an experiment asks for."""
        return cls(
            request_bytes=traffic.request,
            response_bytes=traffic.mean_size,
            think_min_ns=traffic.think.min,
            think_max_ns=traffic.think.max,
            streams_per_circuit_isolation=traffic.isolate_streams,
            parallel_streams=traffic.parallel,
            timeout_ns=traffic.timeout,
            keeps_guards=traffic.keeps_guards,
            response_quantiles=traffic.response.points if isinstance(traffic.response, DrawnSize) else None,
            sites=traffic.response.sites if isinstance(traffic.response, Sites) else None,
            page_objects=None if traffic.page is None else traffic.page.points,
            think_quantiles=None if isinstance(traffic.think, Think) else traffic.think.points,
        )


class RunTables(Section):
    """Which tables are wanted beside streams and relays."""

    progress: StrictBool


class UserLines(Section):
    """Lines of torrc (option → value) that the user gives to ``hosts``, by name; None: to all."""

    lines: Mapping[str, str]
    hosts: tuple[str, ...] | None = None


class UserOptions(Section):
    """Lines of torrc and parameters of the consensus beyond knobs and era; read last, so they win."""

    torrc: tuple[UserLines, ...] = ()
    consensus: Mapping[str, Parameter] = Field(default_factory=dict)


class RunProgram(Section):
    """A program and the hosts that run it, in the order of their numbers; times are from the run's start. The
    command has its places to fill in (:data:`torsweep.config.programs.PLACES`)."""

    command: list[str]
    hosts: tuple[str, ...]
    begin_ns: Pause
    until_ns: Pause | None
    ends: StrictBool
    keeps: tuple[str, ...]
    keeps_most_bytes: Annotated[int, whole(1, 2**40)]


class RunPrograms(Section):
    """The programs of a run and their own hosts, which come after the network's. ``folder`` is the
    experiment's, relative to the run directory; ``files_sha256``: what commands name there."""

    programs: tuple[RunProgram, ...] = ()
    hosts: tuple[ProgramHost, ...] = ()
    folder: str = ""
    files_sha256: Mapping[str, Sha256] = Field(default_factory=dict)

    def of(self, host: str) -> list[RunProgram]:
        """The programs that ``host`` runs."""
        return [program for program in self.programs if host in program.hosts]


PROGRAMS_FOLDER = "programs"
"""Below a run directory: the files that programs left and that are kept, in a folder for each host."""


class RunSettings(Section):
    """What a run has apart from its network: the same for every replicate of a variant.

    ``duration_ns`` includes the warm-up. ``paths`` gives, for a client, the relays of each of its circuits in
    order of use; with ``pairing`` of ``paths`` they are drawn from the network's seed when a run is prepared,
    and run.json has them and not this word. ``transport`` is what carries bytes in the model. ``shadow`` has
    Shadow's own options, in runs under Shadow alone.
    """

    experiment: str
    engine: Annotated[str, Field(min_length=1)]
    era: EraName
    variant: Mapping[str, str]
    warm_up_ns: Pause
    duration_ns: Annotated[int, whole(1, WEEK_NS)]
    client_start_window_ns: Pause
    tor: TorSettings
    transport: Transport | None = None
    traffic: Mapping[AnyKind, RunTraffic]
    paths: Mapping[str, tuple[tuple[str, str, str], ...]] | None = None
    pairing: Pairing = left_out(FREE)
    tables: RunTables
    tracing: Tracing | None = None
    shadow: ShadowOptions = left_out(SHADOWS_DEFAULTS)


class RunSpec(RunSettings):
    """The whole of run.json. ``network`` is the network directory, relative to the run directory.

    ``tor_build`` (:attr:`torsweep.tor.builds.BuiltTor.version`) is the build that all hosts run but those of
    ``other_builds``; without it, the run is not bound to one. ``repeat`` tells runs apart that differ by
    chance alone: an engine with a seed of its own draws with another one, while traffic and paths stay.
    """

    format: Literal["torsweep-run"] = "torsweep-run"
    format_version: Literal[1] = 1
    network: str
    network_sha256: Sha256
    tor_build: str | None = left_out(None)
    other_builds: Mapping[str, tuple[str, ...]] = left_out({})
    given: UserOptions = left_out(UserOptions())
    programs: RunPrograms = left_out(RunPrograms())
    repeat: Annotated[int, whole(0, 1_000)] = left_out(0)
    seed: Annotated[int, Field(strict=True, ge=0, le=MOST_SEED)]

    @property
    def builds(self) -> tuple[str, ...]:
        """All builds of tor, that of most hosts first."""
        return (*([] if self.tor_build is None else [self.tor_build]), *self.other_builds)

    def given_to(self, host: str) -> list[str]:
        """The lines of torrc that the user gives to ``host``, in order."""
        mine = [each for each in self.given.torrc if each.hosts is None or host in each.hosts]
        return [f"{option} {value}" for each in mine for option, value in each.lines.items()]

    @property
    def arti_hosts(self) -> frozenset[str]:
        """The hosts that run Arti: nothing tells of their circuits."""
        arti = (hosts for build, hosts in self.other_builds.items() if is_arti(build))
        return frozenset(host for hosts in arti for host in hosts)

    def text(self) -> str:
        """The content of the file: the same bytes for the same run."""
        document = self.model_dump(mode="json")
        return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n"

    def write(self, run_directory: Path) -> None:
        """Write run.json into ``run_directory``."""
        write_text(run_directory / RUN_FILE, self.text())


def write_provenance(run_directory: Path, document: Mapping[str, Any]) -> None:
    """Write provenance.json: ``document`` and the checksum of each table; from then on the run is whole."""
    whole = with_table_checksums(document, run_directory)
    write_text(run_directory / PROVENANCE_FILE, json.dumps(whole, indent=1, ensure_ascii=False) + "\n")


def read_run(run_directory: Path) -> RunSpec:
    """The run in ``run_directory``; InputError when run.json is missing or not of this version."""
    file = run_directory / RUN_FILE
    return validate(RunSpec, read_document(file, "torsweep-run"), file)


def read_prepared(run_directory: Path) -> tuple[RunSpec, Network, Path]:
    """The run, its network with the hosts of programs and without latencies, and where that is; InputError
    when the network is another one than the run was prepared for."""
    run = read_run(run_directory)
    directory = (run_directory / run.network).resolve()
    network, _ = read_network(directory, latency=False)
    sha256 = sha256_of_file(directory / NETWORK_FILE)
    if sha256 != run.network_sha256:
        raise InputError(
            "is not the network that run.json was prepared for",
            file=directory / NETWORK_FILE,
            value=sha256[:16],
            accepted=f"SHA-256 {run.network_sha256[:16]}…; prepare the run again",
        )
    return run, network.model_copy(update={"program_hosts": run.programs.hosts}), directory


def clear_results(run_directory: Path) -> None:
    """Remove what an engine has left of a run; OutputError when that cannot be."""
    try:
        # Provenance goes first: without it, tables do not count.
        for file in (run_directory / PROVENANCE_FILE, *run_directory.glob("*.parquet")):
            file.unlink(missing_ok=True)
        if (run_directory / PROGRAMS_FOLDER).is_dir():
            shutil.rmtree(run_directory / PROGRAMS_FOLDER)
    except OSError as error:
        raise OutputError(f"{run_directory}: cannot be written: {error.strerror}") from error


def write_run(run: RunSpec, run_directory: Path, *, wait: bool = False) -> bool:
    """Write ``run``, after results of other settings are removed; False when the very same run stood there.
    OutputError when the directory cannot be written, or an engine is at work there for which this does not
    ``wait``."""
    file = run_directory / RUN_FILE
    with folder_claimed(run_directory, RUN_FOLDER, wait=wait):
        if file.is_file() and file.read_text(encoding="utf-8") == run.text():
            return False
        clear_results(run_directory)
        run.write(run_directory)
    return True


def finished_run(run_directory: Path) -> dict[str, Any]:
    """What the engine says of the run in ``run_directory``; InputError when it has not finished it, and when
    run.json or a table is missing or has changed since."""
    provenance = verify_folder(run_directory, PROVENANCE_FILE, "no such file: the run is not finished")
    if provenance.get("run_sha256") != sha256_of_file(run_directory / RUN_FILE):
        raise changed_since("has changed since the engine ran", run_directory / RUN_FILE, run_directory)
    return provenance
