"""A network that ``tornettools generate`` made: its folder.

In: a folder with ``shadow.config.yaml``, ``conf/`` and the template of the hosts' folders. Out:
:class:`Tornet`, or one line on what is missing; what its tors are told. In tornettools 2, a host's name says
what it is; its tor reads ``torrc-defaults`` and then ``torrc`` in the host's folder.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torsweep.config.network import NetworkConfig
from torsweep.config.option_bundle import Position
from torsweep.config.traffic import MARKOV, MEASURING_TRAFFIC, ONION, PERF
from torsweep.errors import InputError
from torsweep.formats.files import MIB, read_bytes
from torsweep.formats.yaml_file import parse_other_yaml
from torsweep.home import find
from torsweep.provenance import sha256_of_file
from torsweep.units import BYTES_PER

TORNET_FILE = "shadow.config.yaml"
EARLIER_TORNET_FILE = "shadow.config.xml"
"""What tornettools 1, for Shadow 1, wrote in its place."""

CONF, TEMPLATE = "conf", "shadow.data.template"
LAST_TORRC = "torrc"
TORRCS = ("torrc-defaults", LAST_TORRC)
_TORRC_ARGUMENTS = "--defaults-torrc torrc-defaults -f torrc"
_TOR_ARGUMENTS = re.compile(rf"(--(Address|Nickname) [^\s-]\S* )*{_TORRC_ARGUMENTS}")
_TO_FOLDER = "../../../"
"""Paths are as seen from a host's folder below the data directory, three levels down."""

PROGRAMS = ("tor", "tgen", "oniontrace")

MOST_BYTES = 256 * MIB
"""A host takes about half a KiB."""

POSITION_OF_NAME: Mapping[str, Position] = {
    "exitguard": "guard_exit",
    "exit": "exit",
    "guard": "guard",
    "middle": "middle",
}
"""The ends of relays' names."""

CLIENT_KINDS = {"perfclient": PERF, "markovclient": MARKOV}

_NAMES = re.compile(
    r"(?P<authority>4uthority\d+)|relay\d+(?P<position>exitguard|exit|guard|middle)"
    r"|(?P<client>perfclient|markovclient)\d+(?P<to>exit|onionservice)?"
    r"|(?P<server>server\d+(?:exit|onionservice)?)"
)
_TIME_UNITS_NS = {
    word: nanoseconds
    for nanoseconds, words in (
        (1, "ns nanosecond nanoseconds"),
        (1_000, "us μs microsecond microseconds"),
        (1_000_000, "ms millisecond milliseconds"),
        (1_000_000_000, "s sec secs second seconds"),
        (60_000_000_000, "m min mins minute minutes"),
        (3_600_000_000_000, "h hr hrs hour hours"),
    )
    for word in words.split()
}
"""By the units that Shadow knows; a number without one is of seconds."""

_DIGITS = re.compile(r"[0-9]{1,18}")
_CONTINUED = re.compile(r"^([^#\n]*)\\\n", re.MULTILINE)
_TORRC_LINE = re.compile(r'\s*(?P<sign>[+/]?)(?P<option>[^\s#]+)\s*(?:"(?P<quoted>[^"]*)"|(?P<plain>[^#]*))')
"""A line of a torrc, as tor(1) has it under "the configuration file format"."""


@dataclass(frozen=True)
class Tornet:
    """A network of tornettools. ``document`` is its shadow.config.yaml; times are those of the simulation.

    ``relays`` maps names to positions, ``clients`` to kinds. The last process starts at ``last_start_ns``.
    """

    folder: Path
    document: Mapping[str, Any]
    bootstrap_ns: int
    stop_ns: int
    last_start_ns: int
    authorities: tuple[str, ...]
    relays: Mapping[str, Position]
    clients: Mapping[str, str]
    servers: tuple[str, ...]

    @property
    def template(self) -> Path:
        """The folder with the hosts' files at the start of the simulation."""
        return self.folder / str(self.document["general"].get("template_directory", TEMPLATE)) / "hosts"

    @property
    def graph(self) -> Path | None:
        """The file of its graph, which may have been moved with the folder; None for one of Shadow's own."""
        path = self.document["network"]["graph"].get("file", {}).get("path")
        if path is None:
            return None
        places = [self.folder / Path(str(path)).expanduser(), self.folder / CONF / Path(str(path)).name]
        return next((place for place in places if place.is_file()), places[0])

    @property
    def tors(self) -> list[str]:
        """The hosts on which a tor runs."""
        hosts: Mapping[str, Any] = self.document["hosts"]
        return [name for name, host in hosts.items() if any(map(is_tor, host["processes"]))]

    def fingerprint(self, host: str) -> str:
        """The fingerprint of a relay or an authority; InputError when its file has none."""
        file = self.template / host / "fingerprint"
        words = read_bytes(file, MIB).decode("utf-8", errors="replace").split()
        if len(words) < 2 or not re.fullmatch(r"[0-9A-F]{40}", words[1]):
            raise InputError("holds no fingerprint", file=file)
        return words[1]

    def sha256(self) -> str:
        """The hash of all that a simulation reads of it."""
        graph = self.graph
        files = [file for part in (self.folder / CONF, self.template) for file in sorted(part.rglob("*"))]
        lines = [(file.relative_to(self.folder), sha256_of_file(file)) for file in files if file.is_file()]
        lines += [(Path("graph"), sha256_of_file(graph))] if graph is not None else []
        lines.append((Path(TORNET_FILE), sha256_of_file(self.folder / TORNET_FILE)))
        return hashlib.sha256("".join(f"{name} {digest}\n" for name, digest in lines).encode()).hexdigest()


def program_of(process: Mapping[str, Any]) -> str:
    """The name of the program of a process: tor, tgen, oniontrace."""
    return Path(str(process.get("path"))).name


def is_tor(process: Mapping[str, Any]) -> bool:
    """Whether a process is a tor; tornettools calls it so wherever it is."""
    return program_of(process) == "tor"


def is_tornet(folder: Path) -> bool:
    """Whether ``folder`` looks as if tornettools had made it."""
    return (folder / TORNET_FILE).is_file()


def read_tornet(folder: Path) -> Tornet:
    """Read the network of tornettools 2 in ``folder``; InputError names what is missing."""
    file = folder / TORNET_FILE
    if not file.exists() and (folder / EARLIER_TORNET_FILE).is_file():
        problem = "was made by tornettools 1, for Shadow 1"
        raise InputError(problem, file=folder / EARLIER_TORNET_FILE, accepted="a network of tornettools 2")
    require_unpacked(folder, TORNET_FILE, CONF, TEMPLATE)
    content = read_bytes(file, MOST_BYTES, "no such file: tornettools generate has made no network here")
    document = parse_other_yaml(content, file)
    if not isinstance(document, dict):
        raise _other_version(file, None)
    for key in ("general", "hosts", "network"):
        if not isinstance(document.get(key), dict):
            raise _other_version(file, key)
    graph = document["network"].get("graph")
    if not isinstance(graph, dict) or not isinstance(graph.get("file", {}), dict):
        raise _other_version(file, "network.graph")
    if not isinstance(document.get("experimental") or {}, dict):
        raise _other_version(file, "experimental")
    general: dict[str, Any] = document["general"]
    if not (folder / str(general.get("template_directory", TEMPLATE))).is_relative_to(folder):
        raise _other_version(file, "general.template_directory")
    hosts = document["hosts"]
    parts = _hosts(hosts, file)
    tornet = Tornet(
        folder=folder,
        document=document,
        bootstrap_ns=shadow_time_ns(general.get("bootstrap_end_time", 0), file, "general.bootstrap_end_time"),
        stop_ns=shadow_time_ns(general.get("stop_time"), file, "general.stop_time"),
        last_start_ns=max(
            shadow_time_ns(process.get("start_time", 0), file, f"hosts.{name}.start_time")
            for name, host in hosts.items()
            for process in host["processes"]
        ),
        **parts,
    )
    _require_files(tornet)
    _require_sizes(tornet)
    return tornet


def require_unpacked(folder: Path, *parts: str) -> None:
    """InputError where `tornettools archive` has packed one of ``parts`` of ``folder`` and removed it."""
    for part in parts:
        is_file = part == TORNET_FILE
        packed = f"{part}.xz" if is_file else f"{part}.tar.xz"
        if not (folder / part).exists() and (folder / packed).is_file():
            command = f"xz -dk {packed}" if is_file else f"tar xJf {packed}"
            problem = "is packed, as `tornettools archive` leaves it"
            raise InputError(problem, file=folder / packed, accepted=f"unpacked by `{command}` there")


def _hosts(hosts: Mapping[str, Any], file: Path) -> dict[str, Any]:
    parts: dict[str, Any] = {"authorities": (), "relays": {}, "clients": {}, "servers": ()}
    for name, host in hosts.items():
        match = _NAMES.fullmatch(str(name))
        processes = host.get("processes") if isinstance(host, dict) else None
        if match is None or not isinstance(processes, list) or not all(map(_is_plain, processes)):
            raise _other_version(file, f"hosts.{name}")
        _require_arguments(processes, file, f"hosts.{name}.processes")
        if not match["server"]:
            needed = ("tor", "tgen") if match["client"] else ("tor",)
            _require_programs(processes, needed, file, f"hosts.{name}.processes")
        if match["authority"]:
            parts["authorities"] += (name,)
        elif match["position"]:
            parts["relays"][name] = POSITION_OF_NAME[match["position"]]
        elif match["client"]:
            kind = CLIENT_KINDS[match["client"]]
            parts["clients"][name] = ONION if kind == PERF and match["to"] == "onionservice" else kind
        else:
            parts["servers"] += (name,)
    for part, hosts_of_part in parts.items():
        if not hosts_of_part:
            raise InputError(f"has no {part}", file=file, key="hosts")
    return parts


def _is_plain(process: object) -> bool:
    """Whether a process is written as tornettools writes it; a tor has its two files of options."""
    if not isinstance(process, dict) or not isinstance(process.get("path"), str):
        return False
    if not isinstance(process.get("args", ""), str):
        return False
    return not is_tor(process) or str(process.get("args")).endswith(_TORRC_ARGUMENTS)


def _require_arguments(processes: list[dict[str, Any]], file: Path, key: str) -> None:
    """InputError for options in the arguments of a tor: these outrank what a comparison writes into torrc."""
    for process in filter(is_tor, processes):
        if not _TOR_ARGUMENTS.fullmatch(process["args"]):
            problem, accepted = "has options among the arguments of tor", "them in the torrc of the host"
            raise InputError(problem, file=file, key=key, value=process["args"], accepted=accepted)


def _require_programs(processes: list[dict[str, Any]], needed: Collection[str], file: Path, key: str) -> None:
    """InputError for a program that is missing, or runs twice, so that its logs are of either."""
    counts = Counter(map(program_of, processes))
    for program in PROGRAMS:
        if counts[program] > 1 or (program in needed and not counts[program]):
            problem = f"does not run {program} once"
            raise InputError(problem, file=file, key=key, value=counts[program], accepted="one process of it")


def _require_files(tornet: Tornet) -> None:
    """InputError for the first file without which the network cannot be simulated."""
    for folder in (tornet.folder / CONF, tornet.template):
        if not folder.is_dir():
            raise InputError("no such folder: the network is not whole", file=folder)
    graph = tornet.graph
    if graph is not None and not graph.is_file():
        raise InputError("no such file: the graph of the network is missing", file=graph)
    for file in _needed(tornet):
        if not file.is_file():
            raise InputError("no such file: the data of a host is missing", file=file)


def _require_sizes(tornet: Tornet) -> None:
    """InputError for a size that no table of perf clients has: a simulation would be read in vain."""
    sizes = list(dict.fromkeys(f"{does.response} B" for does in MEASURING_TRAFFIC.values()))
    arguments = {
        str(process.get("args"))
        for name, kind in tornet.clients.items()
        if kind != MARKOV
        for process in tornet.document["hosts"][name]["processes"]
        if program_of(process) == "tgen"
    }
    for file in sorted(tornet.folder / path.removeprefix(_TO_FOLDER) for path in arguments):
        for size in _sizes(file) if file.is_file() else ():
            if size not in sizes:
                problem = "is a size that no perf client of tornettools downloads"
                raise InputError(problem, file=file, key="recvsize", value=size, accepted=", ".join(sizes))


def _sizes(file: Path) -> Iterator[str]:
    """The sizes of the downloads in a graph of TGen, in bytes where their unit is known."""
    text = read_bytes(file, MIB).decode("utf-8", errors="replace")
    for key in re.findall(r'<key id="([^"]*)"[^>]* attr\.name="recvsize"', text):
        for size in re.findall(rf'<data key="{re.escape(key)}">([^<]*)<', text):
            number, _, unit = size.strip().partition(" ")
            factor = BYTES_PER.get({"bytes": "B", "byte": "B", "": "B"}.get(unit.lower(), unit))
            yield f"{int(number) * factor} B" if factor and _DIGITS.fullmatch(number) else size


def _needed(tornet: Tornet) -> Iterator[Path]:
    for host in tornet.tors:
        yield from (tornet.template / host / name for name in TORRCS)
    for host in (*tornet.authorities, *tornet.relays):
        yield tornet.template / host / "fingerprint"
        yield tornet.template / host / "keys/secret_id_key"


def _other_version(file: Path, key: str | None) -> InputError:
    accepted = "a network of tornettools 2"
    return InputError("is not as tornettools generate writes it", file=file, key=key, accepted=accepted)


def shadow_time_ns(value: object, file: Path, key: str) -> int:
    """A time as Shadow takes it: a number of seconds, or a number with a unit."""
    match = re.fullmatch(r"(\d{1,18})\s*(\S*)", str(value))
    if match is None or (match[2] and match[2] not in _TIME_UNITS_NS):
        raise InputError("is no time", file=file, key=key, value=value, accepted="such as 3600 or 60 min")
    return int(match[1]) * _TIME_UNITS_NS.get(match[2], 1_000_000_000)


def torrc_lines(tornet: Tornet, host: str, option: str) -> list[str]:
    """The values of ``option`` in the tor of ``host``: tor uses all of a list, and else the last one.

    As in tor, the lines of torrc take the place of those of torrc-defaults, unless the first of them is one
    of ``+Option``; ``/Option`` removes what stands before it.
    """
    kept: list[str] = []
    for name in TORRCS:
        for place, (sign, value) in enumerate(_values(tornet, tornet.template / host / name, option)):
            kept = [] if sign == "/" or (not sign and place == 0) else kept
            kept += [value] if sign != "/" else []
    return kept


def consensus_votes(tornet: Tornet, authority: str) -> dict[str, str]:
    """The consensus parameters that ``authority`` votes for."""
    words = (word for line in torrc_lines(tornet, authority, "ConsensusParams") for word in line.split())
    return {name: value for name, _, value in (word.partition("=") for word in words)}


def _values(tornet: Tornet, file: Path, option: str) -> list[tuple[str, str]]:
    """The sign and the value of each line of ``option`` in a file and those that it includes."""
    values: list[tuple[str, str]] = []
    text = read_bytes(file, MIB).decode("utf-8", errors="replace")
    for line in map(_TORRC_LINE.match, _CONTINUED.sub(r"\1 ", text).splitlines()):
        if line is None:
            continue
        value = line["plain"].strip() if line["quoted"] is None else line["quoted"]
        if line["option"] == "%include":
            values += _values(tornet, tornet.folder / value.removeprefix(_TO_FOLDER), option)
        elif line["option"].lower() == option.lower():
            values.append((line["sign"], value))
    return values


def folder_of(config: NetworkConfig, seed: int) -> Path:
    """The folder that the replicate ``seed`` takes."""
    return find(config.tornettools[(seed - 1) % len(config.tornettools)])
