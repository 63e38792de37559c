"""Client bandwidth tables: ``netindex-2012`` and ``speedtest-2020``.

In: a Shadow 1.x topology whose clusters carry Ookla Net Index rates, Speedtest means by country and
city, and the share of Tor's users by country. Out: quantile tables; which unit the topology's rates
are in, and how much the choice of weights matters.
"""

from __future__ import annotations

import json
import lzma
import re
from collections import Counter
from pathlib import Path

import numpy as np

from torsweep.network.clients import table_of_regions, write_bandwidth

_CLUSTER = re.compile(r'<cluster id="(\w{4})" bandwidthdown="(\d+)" bandwidthup="(\d+)"')
_FALLBACK_CLUSTERS = ("A1A1", "A2A2", "APAP", "EUEU", "AQAQ")
"""Anonymous proxies, satellites, regions without a country: they carry another cluster's rates."""

_BYTES_PER_S_OF_KBIT = 125.0
_BYTES_PER_S_OF_MBIT = 125_000.0


def derive(data: Path, out: Path) -> dict:
    """Write both tables; the checks on units and weights."""
    users = json.loads((data.parent / "relays/userinfo_staging_2024-05-01--2024-05-31.json").read_text())
    clusters = _clusters(data / "topology_2012-11_iplane.xml.xz")
    speedtest = {year: _speedtest(data / name) for year, name in _SPEEDTEST.items()}
    down, up, weight = _net_index(clusters, users)
    origin = {
        "source": "Ookla Net Index 2012, by country, US state and Canadian province",
        "weights": "Tor users",
    }
    write_bandwidth(table_of_regions(down, up, weight, origin), out / "netindex-2012.json")
    origin = {"source": "Speedtest, April 2020, by country", "weights": "Tor users by country"}
    regions = _speedtest_countries(speedtest[2020], users)
    write_bandwidth(table_of_regions(*regions, origin), out / "speedtest-2020.json")
    return {
        "regions 2012": len(down),
        "median down Mbit/s by users": _median_mbit(down, weight),
        "median down Mbit/s, regions alike": _median_mbit(down, np.ones_like(down)),
        "median up Mbit/s by users": _median_mbit(up, weight),
        "rank correlation of down and up": round(_rank_correlation(down, up), 3),
        "regions 2020": len(regions[0]),
        "median down Mbit/s by users, 2020": _median_mbit(regions[0], regions[2]),
        "unit": _unit_check(clusters, speedtest[2018]),
    }


_SPEEDTEST = {2018: "2018-speed-data.json", 2020: "2020.04-speed-data.json"}


def _clusters(path: Path) -> dict[str, tuple[float, float]]:
    with lzma.open(path, "rt") as file:
        found = _CLUSTER.findall(file.read())
    return {name: (float(down), float(up)) for name, down, up in found if name not in _FALLBACK_CLUSTERS}


def _net_index(clusters: dict, users: dict) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rates in bytes/s and weights; a country's users are shared equally by its states."""
    regions = {
        name: rates for name, rates in clusters.items()
        if not (name[:2] == name[2:] and name[:2] in ("US", "CA"))
    }  # fmt: skip
    states = Counter(name[:2] for name in regions)
    weight = np.array([users.get(name[:2].lower(), 0.0) / states[name[:2]] for name in regions])
    rates = np.array(list(regions.values())) * _BYTES_PER_S_OF_KBIT
    return rates[:, 0], rates[:, 1], weight


def _speedtest(path: Path) -> dict:
    return json.loads(path.read_text())


def _speedtest_countries(document: dict, users: dict) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rates in bytes/s and users' shares of the countries that have both rates."""
    countries = document["countries"].items()
    rows = [(each["down_mbits"], each["up_mbits"], users.get(code.lower(), 0.0)) for code, each in countries]
    down, up, weight = np.array([row for row in rows if min(row[:2]) > 0], dtype=float).T
    return down * _BYTES_PER_S_OF_MBIT, up * _BYTES_PER_S_OF_MBIT, weight


def _median_mbit(rate: np.ndarray, weight: np.ndarray) -> float:
    order = np.argsort(rate)
    middle = np.searchsorted(np.cumsum(weight[order]), weight.sum() / 2)
    return round(float(rate[order][middle]) / _BYTES_PER_S_OF_MBIT, 2)


def _rank_correlation(first: np.ndarray, second: np.ndarray) -> float:
    ranks = [np.argsort(np.argsort(values)) for values in (first, second)]
    return float(np.corrcoef(*ranks)[0, 1])


def _unit_check(clusters: dict, later: dict) -> dict:
    """How many countries would have been faster in 2012 than in 2018 under each reading of the unit."""
    rates = [
        (clusters[code * 2][0], country["down_mbits"])
        for code, country in later["countries"].items()
        if code * 2 in clusters
    ]
    as_kbit = sum(rate / 1000 > mbit for rate, mbit in rates)
    as_kib = sum(rate * 8.192 / 1000 > mbit for rate, mbit in rates)
    return {
        "countries in both": len(rates),
        "faster in 2012 than in 2018 if kbit/s": int(as_kbit),
        "faster in 2012 than in 2018 if KiB/s": int(as_kib),
    }
