"""A network that ``tornettools generate`` made, as a network directory.

In: a folder with ``shadow.config.yaml``, ``conf/`` and the template of the hosts' folders. Out:
:class:`Tornet`, or one line on what is missing; network.json, which says what its hosts are. In tornettools
2, a host's name says what it is; its tor reads ``torrc-defaults`` and then ``torrc`` in the host's folder.
Each seed takes the next of several folders, from the first again after the last: one folder gives
realisations of one network, several give networks. There are no latencies in the directory, because Shadow
takes the network's own graph.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torsweep.config.network import NetworkConfig
from torsweep.config.option_bundle import Position
from torsweep.config.traffic import MARKOV, ONION, PERF
from torsweep.errors import InputError
from torsweep.formats.files import MIB, read_bytes
from torsweep.formats.yaml_file import parse_other_yaml
from torsweep.home import find
from torsweep.network.model import (
    LATENCY_FLOOR_US,
    NETWORK_FILE,
    Authority,
    Client,
    Network,
    Relay,
    Server,
    canonical_sha256,
    network_text,
)
from torsweep.network.relays import network_bandwidth_weights
from torsweep.provenance import sha256_of_file
from torsweep.storage import whole_directory
from torsweep.storage.folders import NETWORK_FOLDER
from torsweep.units import LEAST_TOR_RATE_BYTES_PER_S, MOST_RATE_BYTES_PER_S

TORNET_FILE = "shadow.config.yaml"
EARLIER_TORNET_FILE = "shadow.config.xml"
"""What tornettools 1, for Shadow 1, wrote in its place."""

CONF, TEMPLATE = "conf", "shadow.data.template"
LAST_TORRC = "torrc"
TORRCS = ("torrc-defaults", LAST_TORRC)
TOR_ARGUMENTS = "--defaults-torrc torrc-defaults -f torrc"

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

_CONTINUED = re.compile(r"^([^#\n]*)\\\n", re.MULTILINE)
_TORRC_LINE = re.compile(r'\s*(?P<option>[^\s#]+)\s*(?:"(?P<quoted>[^"]*)"|(?P<plain>[^#]*))')
"""A line of a torrc, as tor(1) has it under "the configuration file format"."""


@dataclass(frozen=True)
class Tornet:
    """A network of tornettools. ``document`` is its shadow.config.yaml; times are those of the simulation.

    ``relays`` maps names to positions, ``clients`` to kinds.
    """

    folder: Path
    document: Mapping[str, Any]
    bootstrap_ns: int
    stop_ns: int
    authorities: tuple[str, ...]
    relays: Mapping[str, Position]
    clients: Mapping[str, str]
    servers: tuple[str, ...]

    @property
    def template(self) -> Path:
        """The folder of the hosts' folders, as they are when the simulation starts."""
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
    """The network in ``folder``; InputError, which says what is missing, when it is none of tornettools 2."""
    file = folder / TORNET_FILE
    if not file.exists() and (folder / EARLIER_TORNET_FILE).is_file():
        problem = "was made by tornettools 1, for Shadow 1"
        raise InputError(problem, file=folder / EARLIER_TORNET_FILE, accepted="a network of tornettools 2")
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
    tornet = Tornet(
        folder=folder,
        document=document,
        bootstrap_ns=shadow_time_ns(general.get("bootstrap_end_time", 0), file, "general.bootstrap_end_time"),
        stop_ns=shadow_time_ns(general.get("stop_time"), file, "general.stop_time"),
        **_hosts(document["hosts"], file),
    )
    _require_files(tornet)
    return tornet


def _hosts(hosts: Mapping[str, Any], file: Path) -> dict[str, Any]:
    parts: dict[str, Any] = {"authorities": (), "relays": {}, "clients": {}, "servers": ()}
    for name, host in hosts.items():
        match = _NAMES.fullmatch(str(name))
        processes = host.get("processes") if isinstance(host, dict) else None
        if match is None or not isinstance(processes, list) or not all(map(_is_plain, processes)):
            raise _other_version(file, f"hosts.{name}")
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
    return not is_tor(process) or str(process.get("args")).endswith(TOR_ARGUMENTS)


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
    """The values that the files of ``host`` give ``option``, in the order in which tor reads them."""
    return [value for name in TORRCS for value in _values(tornet, tornet.template / host / name, option)]


def _values(tornet: Tornet, file: Path, option: str) -> Sequence[str]:
    values: list[str] = []
    text = read_bytes(file, MIB).decode("utf-8", errors="replace")
    for line in map(_TORRC_LINE.match, _CONTINUED.sub(r"\1 ", text).splitlines()):
        if line is None:
            continue
        value = line["plain"].strip() if line["quoted"] is None else line["quoted"]
        if line["option"] == "%include":
            # Paths are as seen from a host's folder below the data directory, three levels down.
            values += _values(tornet, tornet.folder / value.removeprefix("../../../"), option)
        elif line["option"].lower() == option.lower():
            values.append(value)
    return values


V3BW_FILE = "bwauthority/v3bw"
"""Below the template: the consensus weights."""

_NOWHERE = {"place": 0, "access_us": 0}
"""Where a host is in the network's own graph, which has no places, Shadow alone knows."""

_DIGITS = re.compile(r"[0-9]{1,9}")
_RATE_OPTIONS = ("BandwidthRate", "BandwidthBurst", "RelayBandwidthRate", "RelayBandwidthBurst")
_TORRC_BYTES = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,9})?)\s*([a-z]*)")
_BYTES_PER: Mapping[str, int] = {"": 1, "b": 1, "byte": 1, "bytes": 1, "m": 2**20} | {
    f"{prefix}{unit}": 2 ** (10 * power - eighths)
    for power, prefixes in enumerate((("k", "kilo"), ("m", "mega"), ("g", "giga"), ("t", "tera")), 1)
    for prefix in prefixes
    for unit, eighths in (("b", 0), ("byte", 0), ("bytes", 0), ("bit", 3), ("bits", 3))
}
"""The units of tor's ``unitparse.c``, in small letters."""
_BITS_PER = {"bit": 1, "kilobit": 10**3, "megabit": 10**6, "gigabit": 10**9}


def folder_of(config: NetworkConfig, seed: int) -> Path:
    """The folder that the replicate ``seed`` takes."""
    return find(config.tornettools[(seed - 1) % len(config.tornettools)])


def write_tornet(config: NetworkConfig, seed: int, directory: Path) -> None:
    """Write the network directory of the replicate ``seed``; InputError for a folder that is not whole."""
    network = tornet_network(read_tornet(folder_of(config, seed)), config, seed)
    with whole_directory(directory, NETWORK_FOLDER) as temporary:
        (temporary / NETWORK_FILE).write_text(network_text(network), encoding="utf-8")


def tornet_network(tornet: Tornet, config: NetworkConfig, seed: int) -> Network:
    """What ``tornet`` is, as network.json has it; InputError where it does not say so."""
    weights = _weights(tornet)
    relays = tuple(_relay(tornet, name, weights) for name in tornet.relays)
    document = config.model_dump(mode="json")
    sha256 = tornet.sha256()
    return Network(
        config=document,
        config_sha256=canonical_sha256(document),
        inputs_sha256={"tornettools": sha256},
        seed=seed,
        bandwidth_weights=network_bandwidth_weights(relays),
        latency_floor_us=LATENCY_FLOOR_US,
        tornettools=sha256,
        relays=relays,
        authorities=tuple(Authority(name=name, **_NOWHERE) for name in tornet.authorities),
        clients=tuple(
            Client.model_validate({"name": name, "kind": kind, **_NOWHERE, **_rates(tornet, name)})
            for name, kind in tornet.clients.items()
        ),
        servers=tuple(Server(name=name, **_NOWHERE, **_rates(tornet, name)) for name in tornet.servers),
    )


def _relay(tornet: Tornet, name: str, weights: dict[str, int]) -> Relay:
    capacity = _rates(tornet, name)["down_bytes_per_s"]
    if name not in weights:
        raise InputError("has no weight", file=tornet.template / V3BW_FILE, key=name)
    rate, burst, relayed_rate, relayed_burst = (_bytes(tornet, name, option) for option in _RATE_OPTIONS)
    # Where only the rate or only the burst of relayed traffic is given, tor takes it for both.
    rate = _lower(rate, relayed_rate or relayed_burst) or capacity
    burst = _lower(burst, relayed_burst or relayed_rate) or rate
    return Relay(
        name=name,
        **_NOWHERE,
        position=tornet.relays[name],
        rate_bytes_per_s=rate,
        burst_bytes=burst,
        capacity_bytes_per_s=capacity,
        consensus_weight=max(1, weights[name]),
        refill_phase=0,
        rate_floored=rate == LEAST_TOR_RATE_BYTES_PER_S,
    )


def _lower(*stated: int) -> int:
    """The lower of numbers of which 0 stands for none; 0 for none at all."""
    return min((each for each in stated if each), default=0)


def _bytes(tornet: Tornet, host: str, option: str) -> int:
    """The last number of bytes that the files of ``host`` give ``option``; 0 without one."""
    values = torrc_lines(tornet, host, option)
    if not values:
        return 0
    match = _TORRC_BYTES.fullmatch(values[-1].lower())
    if match is None or match[2] not in _BYTES_PER:
        folder, accepted = tornet.template / host, "such as 100000, 100 KBytes or 8 MBits"
        raise InputError(
            "is no number of bytes", file=folder, key=option, value=values[-1], accepted=accepted
        )
    return int(float(match[1]) * _BYTES_PER[match[2]])


def _rates(tornet: Tornet, name: str) -> dict[str, int]:
    """Bytes per second of the link of a host, by the keys of network.json."""
    rates = {}
    for way in ("down", "up"):
        key = f"bandwidth_{way}"
        text = str(tornet.document["hosts"][name].get(key))
        match = re.fullmatch(r"(\d{1,18}) ?([a-z]+?)s?", text)
        rate = int(match[1]) * _BITS_PER.get(match[2], 0) // 8 if match else 0
        if not 1 <= rate <= MOST_RATE_BYTES_PER_S:
            file, named = tornet.folder / TORNET_FILE, f"hosts.{name}.{key}"
            raise InputError("is no rate", file=file, key=named, value=text, accepted="such as 1000 kilobit")
        rates[f"{way}_bytes_per_s"] = rate
    return rates


def _weights(tornet: Tornet) -> dict[str, int]:
    """The consensus weight of each relay by its name."""
    text = read_bytes(tornet.template / V3BW_FILE, 64 * MIB).decode("utf-8", errors="replace")
    lines = (dict(word.partition("=")[::2] for word in line.split()) for line in text.splitlines()[1:])
    return {
        line["nick"]: int(line["bw"])
        for line in lines
        if _DIGITS.fullmatch(line.get("bw", "")) and "nick" in line
    }
