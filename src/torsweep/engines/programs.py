"""The programs of a run: which hosts run them, what is in their commands, what they leave.

In: the programs of a variant, a network; later run.json and the fingerprints of relays. Out: the part of
run.json; :class:`HostProgram`, from which each engine of real tor makes its processes; the files that are
kept.
"""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from torsweep.config.experiment import Experiment
from torsweep.config.network import NetworkConfig
from torsweep.config.option_bundle import Where
from torsweep.config.programs import RULES, OwnHosts, Program, Programs, filled, places_of
from torsweep.config.reading import suggestion
from torsweep.config.traffic import CLIENT_GROUPS
from torsweep.config.variant import Variant
from torsweep.engines.host_choice import hosts_of
from torsweep.engines.host_files import (
    OR_PORT,
    PROGRAM_CONTROL_PORT,
    PROGRAM_SOCKS_PORT,
    SERVER_PORT,
    named_values,
    relay_by_rule,
)
from torsweep.engines.run_spec import PROGRAMS_FOLDER, RunProgram, RunPrograms, RunSpec
from torsweep.errors import InputError, TorsweepError
from torsweep.network.model import Host, Network, ProgramHost, link_rates, read_network
from torsweep.provenance import sha256_of_file
from torsweep.seeds import stream
from torsweep.storage import bytes_text
from torsweep.units import BYTES_PER, format_quantity


def level_of(variant: Variant) -> str:
    """The key of the experiment that defines the programs of ``variant``."""
    return f"programs.{dict(variant.levels).get('programs')}"


def require_programs(experiment: Experiment, variants: Iterable[Variant]) -> None:
    """InputError for a command of ``variants``, or a file that it names, that is not there."""
    folder = experiment.file.parent if experiment.file else None
    for variant in variants:
        for number, program in enumerate(experiment.programs_of(variant)):
            key = f"{level_of(variant)}[{number}].command"
            named = program.command[0]
            if "{" not in named and shutil.which(named) is None:
                problem, accepted = "is no program that is found here", "one on PATH"
                raise InputError(problem, key=key, value=named, accepted=accepted)
            for name in program.files:
                if folder is not None and not (folder / name).exists():
                    raise InputError("no such file", key=key, value=name, accepted=f"a file in {folder}")


def needs_text(levels: Iterable[Programs], network: NetworkConfig) -> str:
    """What programs take beside tor in a run on ``network``, at the level with most; empty without them."""
    hosts = [[(_host_count(program, network), program) for program in level] for level in levels]
    processes = max((sum(count for count, _ in level) for level in hosts), default=0)
    kept = max((sum(n * one.keeps_most for n, one in level if one.keeps) for level in hosts), default=0)
    if not processes:
        return ""
    return f"; programs beside tor: up to {processes} a run, which keep at most {bytes_text(kept)}"


def _host_count(program: Program, network: NetworkConfig) -> int:
    if program.hosts is not None:
        return program.hosts.count
    where = program.on or Where()
    if where.names:
        return len(where.names)
    clients = network.client_tor_count
    if where.kind:
        # Kinds of a group take turns; clients that share a tor are counted as if each had one.
        of_kinds = (
            math.ceil(
                network.client_counts[group.name] * len(group.kinds.keys() & {*where.kind}) / len(group.kinds)
            )
            for group in CLIENT_GROUPS.values()
        )
        clients = min(clients, sum(of_kinds))
    of_role = {"relay": network.relay_count, "client": clients}
    return math.ceil(of_role.get(where.role, network.authorities) * (where.share or 1))


def files_sha256(experiment: Experiment, variant: Variant) -> dict[str, str]:
    """The checksum of each file that the commands of ``variant`` name: a run with another one is another."""
    folder = experiment.file.parent if experiment.file else Path()
    names = [name for program in experiment.programs_of(variant) for name in program.files]
    return {name: sha256_of_file(folder / name) for name in names if (folder / name).is_file()}


def run_programs(
    experiment: Experiment, variant: Variant, network_directory: Path, run_directory: Path
) -> RunPrograms:
    """The programs of ``variant`` in the network there, for the run in ``run_directory``; InputError where a
    command names a host that there is not, or a port that its host has not."""
    asked, level = experiment.programs_of(variant), level_of(variant)
    if not asked:
        return RunPrograms()
    require_programs(experiment, [variant])
    network, _ = read_network(network_directory, latency=False)
    own = _own_hosts(asked, network)
    network = network.model_copy(update={"program_hosts": tuple(host for hosts in own for host in hosts)})
    programs = []
    for number, (program, hosts) in enumerate(zip(asked, own, strict=True)):
        key = f"{level}[{number}]"
        names = tuple(host.name for host in hosts)
        if program.on is not None:
            names = hosts_of(network, program.on, "programs", f"{key}.on")
        texts = [*program.command, *((program.hosts and program.hosts.torrc) or {}).values()]
        _require_places(texts, names, network, key)
        one = RunProgram(
            command=program.command,
            hosts=names,
            begin_ns=program.begin,
            until_ns=program.until,
            ends=program.ends,
            keeps=program.keeps,
            keeps_most_bytes=program.keeps_most,
        )
        programs.append(one)
    folder = experiment.file.parent if experiment.file else Path()
    return RunPrograms(
        programs=tuple(programs),
        hosts=network.program_hosts,
        folder=os.path.relpath(folder.resolve(), run_directory.resolve()),
        files_sha256=files_sha256(experiment, variant),
    )


def _own_hosts(programs: Programs, network: Network) -> list[list[ProgramHost]]:
    numbers = count(1)
    return [
        [_own_host(hosts, next(numbers), network) for _ in range(hosts.count)] if hosts else []
        for hosts in (program.hosts for program in programs)
    ]


def _own_host(hosts: OwnHosts, number: int, network: Network) -> ProgramHost:
    """The host ``number``; its draw has a stream of its own, so another host leaves it where it is."""
    kinds: Mapping[str, Sequence[Host]] = {
        "client": network.tor_clients,
        "server": network.servers,
        "relay": network.relays,
    }
    others = kinds[hosts.like]
    like = others[int(stream(network.seed, "programs", number).integers(len(others)))]
    down, up = (hosts.rate, hosts.rate) if hosts.rate else link_rates(like, 0)
    return ProgramHost(
        name=f"program{number}",
        place=like.place,
        access_us=like.access_us,
        country=like.country,
        continent=like.continent,
        down_bytes_per_s=down,
        up_bytes_per_s=up,
        torrc=None if hosts.torrc is None else dict(hosts.torrc),
    )


def _require_places(texts: Sequence[str], hosts: Sequence[str], network: Network, key: str) -> None:
    """InputError unless everything in braces in ``texts`` can be filled in for each of ``hosts``."""
    clients = {client.name for client in (*network.tor_clients, *network.program_hosts)}
    for text in texts:
        for word, name in places_of(text):
            if word == "socks_port" and (other := next((host for host in hosts if host not in clients), "")):
                problem, accepted = "has no SOCKS port", "on: {role: client}, or hosts of its own with torrc"
                raise InputError(problem, key=f"{key}.command", value=other, accepted=accepted)
            hosts_of_word = network.hosts if word == "address" else (*network.relays, *network.authorities)
            known = [host.name for host in hosts_of_word]
            known += [rule for rule in RULES if relay_by_rule(rule, network)]
            if name and name not in known:
                problem = f"no such {'host' if word == 'address' else 'relay'}{suggestion(name, known)}"
                accepted = ", ".join([*known[:3], "…", *known[-3:]])
                raise InputError(problem, key=key, value=name, accepted=accepted)


@dataclass(frozen=True)
class HostProgram:
    """A program on one host, its command filled in; ``name`` is the host's, and which program it is."""

    name: str
    host: str
    command: Sequence[str]
    does: RunProgram

    @property
    def output(self) -> tuple[str, ...]:
        """Patterns of the files in the host's folder to which engines write what it prints."""
        return (f"{self.name}.log", f"{Path(self.command[0]).name}.*.std*")


def host_programs(
    run: RunSpec,
    network: Network,
    run_directory: Path,
    fingerprints: Mapping[str, str],
    zero_s: float,
) -> Iterator[HostProgram]:
    """Each program of ``run`` on each of its hosts; ``zero_s`` is the run's start by the clock of hosts,
    seconds since 1970. InputError for a program that is not found here."""
    if not run.programs.programs:
        return
    folder = run_directory / run.programs.folder
    values = {
        "socks_port": str(PROGRAM_SOCKS_PORT),
        "control_port": str(PROGRAM_CONTROL_PORT),
        "or_port": str(OR_PORT),
        "server_port": str(SERVER_PORT),
        "seed": str(run.seed),
        "start": f"{zero_s + run.warm_up_ns / 1e9:.3f}",
        "end": f"{zero_s + run.duration_ns / 1e9:.3f}",
        "experiment": str(folder.resolve()),
        **named_values(network, fingerprints),
    }
    for which, program in enumerate(run.programs.programs, start=1):
        for number, host in enumerate(program.hosts, start=1):
            own = {**values, "host": host, "number": str(number)}
            first, *others = [filled(word, own) for word in program.command]
            found = shutil.which(first)
            if found is None:
                raise InputError("is no program that is found here", key="programs", value=first)
            command = [os.path.abspath(found), *others]
            yield HostProgram(f"{host}-{which}", host, command, program)


CAPTURE_FILE = "eth0.pcap"
"""What Shadow calls the capture of a host's interface, and the emulation likewise."""

CAPTURED_BYTES = 128
"""How much of each packet is kept: all headers, of which those of IP without options and of TCP with all of
its options take at most 80."""


def captures(run: RunSpec, command: Sequence[str] = ()) -> Iterator[HostProgram]:
    """What leaves the capture of each host whose packets ``run`` keeps: ``command``, or Shadow itself."""
    for host in run.tracing.packets if run.tracing else ():
        does = RunProgram(
            command=list(command),
            hosts=(host,),
            begin_ns=0,
            until_ns=None,
            ends=False,
            keeps=(CAPTURE_FILE,),
            keeps_most_bytes=2**40,
        )
        yield HostProgram(f"{host}-packets", host, command or (CAPTURE_FILE,), does)


def kept_files(program: HostProgram, folder: Path) -> list[Path]:
    """The files in ``folder``, that of its host, which ``program`` is to keep; TorsweepError where they, or
    those of its output there, are larger than it may keep."""
    found, said = (
        {file for pattern in patterns for file in folder.glob(pattern) if file.is_file()}
        for patterns in (program.does.keeps, program.output)
    )
    for files, what in ((found, "files to keep"), (said, "output")):
        size = sum(file.stat().st_size for file in files)
        if size > program.does.keeps_most_bytes:
            most = format_quantity(program.does.keeps_most_bytes, BYTES_PER)
            raise TorsweepError(f"{program.name}: {size} bytes of {what}, more than keeps_most, {most}")
    return sorted(found)


def keep_files(
    run_directory: Path, programs: Iterable[HostProgram], folder_of: Callable[[str], Path]
) -> dict[str, Any]:
    """Copy what ``programs`` keep from the folder of each host; what provenance has of it."""
    kept: dict[str, dict[str, Any]] = {}
    for program in programs:
        folder = folder_of(program.host)
        for file in kept_files(program, folder):
            name = Path(program.host) / file.relative_to(folder)
            place = run_directory / PROGRAMS_FOLDER / name
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, place)
            kept[str(name)] = {"bytes": place.stat().st_size, "sha256": sha256_of_file(place)}
    return {"programs": kept} if kept else {}
