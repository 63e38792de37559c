"""A network of tornettools as a network directory.

In: :class:`~torsweep.network.tornet_folder.Tornet`. Out: network.json, which says what its hosts are. Each
seed takes the next of several folders, from the first again after the last: one folder gives realisations of
one network, several give networks. There are no latencies, because Shadow takes the network's own graph.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from torsweep.config.network import NetworkConfig
from torsweep.errors import InputError
from torsweep.formats.files import MIB, read_bytes
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
from torsweep.network.tornet_folder import TORNET_FILE, Tornet, folder_of, read_tornet, torrc_lines
from torsweep.storage import whole_directory
from torsweep.storage.folders import NETWORK_FOLDER
from torsweep.units import LEAST_TOR_RATE_BYTES_PER_S, MOST_LINK_BYTES_PER_S, MOST_RATE_BYTES_PER_S

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


def write_tornet(config: NetworkConfig, seed: int, directory: Path) -> None:
    """Write the network directory of the replicate ``seed``; InputError for a folder that is not whole."""
    network = tornet_network(read_tornet(folder_of(config, seed)), config, seed)
    with whole_directory(directory, NETWORK_FOLDER) as temporary:
        (temporary / NETWORK_FILE).write_text(network_text(network), encoding="utf-8")


def tornet_network(tornet: Tornet, config: NetworkConfig, seed: int) -> Network:
    """``tornet`` as a network; InputError if its files leave something out."""
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
    capacity = _rates(tornet, name, MOST_RATE_BYTES_PER_S)["down_bytes_per_s"]
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
    """The lowest number above 0; 0 if all are 0."""
    return min((each for each in stated if each), default=0)


def _bytes(tornet: Tornet, host: str, option: str) -> int:
    """The last value of ``option``, in bytes, in the files of ``host``; 0 without the option."""
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


def _rates(tornet: Tornet, name: str, most: int = MOST_LINK_BYTES_PER_S) -> dict[str, int]:
    """Bytes per second of the link of a host, by the keys of network.json; InputError above ``most``."""
    rates = {}
    for way in ("down", "up"):
        key = f"bandwidth_{way}"
        text = str(tornet.document["hosts"][name].get(key))
        match = re.fullmatch(r"(\d{1,18}) ?([a-z]+?)s?", text)
        rate = int(match[1]) * _BITS_PER.get(match[2], 0) // 8 if match else 0
        if not 1 <= rate <= most:
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
