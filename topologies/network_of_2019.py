"""The public network of January 2019: the relay population ``2019`` and the countries ``2019``.

In: the first of the 31 % networks that tornettools generated of January 2019 for Once is Never Enough
(``shadowtor-0.31-1-1.0-seed1-config.tar.xz``), of which the hosts with their links, rates and countries and
the file of weights are read; users by country of that month. Out: both files.

Relays keep their weight. Their rates are scaled by one log-normal factor each, as in
:mod:`relay_populations`. Relays are in countries by their weight, so that circuits are where they were.
"""

from __future__ import annotations

import json
import re
import tarfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np
from relay_populations import _blurred, _rates, _summary

from torsweep.network.model import Position
from torsweep.network.relays import Population, shares, write_population

_NETWORK = "shadowtor-0.31-1-1.0-seed1-config.tar.xz"
_USERS = "userinfo_staging_2019-01-01--2019-02-01.json"
_SEED = 20190101
_KIB = 1024
_POSITIONS: dict[str, Position] = {
    "exitguard": "guard_exit",
    "exit": "exit",
    "guard": "guard",
    "middle": "middle",
}
_HOST = re.compile(
    r'<host id="(relay\d+(exitguard|exit|guard|middle))"[^>]*countrycodehint="(\w+)"[^>]*bandwidthup="(\d+)"'
    r"[^<]*<process[^>]*--BandwidthRate (\d+) --BandwidthBurst (\d+)"
)
_PERF = {"HK": 1 / 3, "NL": 1 / 3, "US": 1 / 3}
"""OnionPerf's hosts of the year: op-hk, op-nl, op-us."""


class _Relay(NamedTuple):
    position: Position
    country: str
    weight: int
    rates: np.ndarray


def derive(data: Path, out: Path) -> dict:
    """Write ``2019.json`` into ``out`` and into ``countries`` beside it; what the population has."""
    relays = _relays(data / _NETWORK)
    random = np.random.default_rng(_SEED)
    synthetic = tuple(sorted(_blurred(relay.position, relay.weight, relay.rates, random) for relay in relays))
    origin = {
        "relays": "relays of January 2019, a 31 % network that tornettools generated (Once is Never Enough)",
        "method": "synthetic, see SOURCES.md",
    }
    by_count = shares((relay.position, 1.0) for relay in relays)
    by_weight = shares((relay.position, float(relay.weight)) for relay in relays)
    population = Population(synthetic, by_count, by_weight, origin)
    write_population(population, out / "2019.json")
    countries_out = out.parent / "countries"
    countries_out.mkdir(exist_ok=True)
    users = json.loads((data / _USERS).read_text())
    document = {
        "origin": "January 2019: relays by weight, users of Tor Metrics, OnionPerf's hosts; see SOURCES.md",
        "clients": _rounded({code.upper(): part for code, part in users.items()}),
        "relays": _rounded(_by_country(relays)),
        "perf": _rounded(_PERF),
    }
    (countries_out / "2019.json").write_text(json.dumps(document, indent=1) + "\n")
    return {
        "2019": _summary(_rates(population)),
        "2019 weight share": population.weight_share,
        "2019 relays in Europe's four largest, by weight": round(
            sum(document["relays"].get(code, 0) for code in ("DE", "FR", "NL", "GB")), 3
        ),
    }


def _relays(file: Path) -> list[_Relay]:
    with tarfile.open(file) as archive:
        wanted = ("shadow.config.xml", "/v3bw")
        texts = [archive.extractfile(each) for each in archive if each.name.endswith(wanted)]
        weights, hosts = sorted((text.read().decode() for text in texts if text), key=len)
    weight_of = {name: int(weight) for weight, name in re.findall(r"bw=(\d+)\tnick=(\S+)", weights)}
    return [
        _Relay(
            _POSITIONS[position],
            country.upper(),
            weight_of[name],
            np.array([int(link) * _KIB, int(rate), int(burst)], dtype=float),
        )
        for name, position, country, link, rate, burst in _HOST.findall(hosts)
    ]


def _by_country(relays: list[_Relay]) -> dict[str, float]:
    weights: Counter[str] = Counter()
    for relay in relays:
        weights[relay.country] += relay.weight
    return dict(weights)


def _rounded(amounts: dict[str, float]) -> dict[str, float]:
    """Parts of the whole to five digits, those that are none left out."""
    whole = sum(amounts.values())
    parts = {code: round(amount / whole, 5) for code, amount in sorted(amounts.items())}
    return {code: part for code, part in parts.items() if part}
