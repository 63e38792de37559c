"""Relay populations: ``2012``, ``2024`` and ``2024-all``, and two that differ in weights alone.

In: the consensus of 24 October 2011 (positions, weights), relays of April 2012 with rate, burst and
observed bandwidth, and the relays of May 2024 as tornettools stages them. Out: populations of synthetic
relays, none of which is a relay of the directory: two of about a thousand, and one of as many as there were
at the same time in May 2024.

*2012.* The consensus says how many relays each position has, how heavy they are in order, and what
the position weighs in all; the other document samples the relays of each class (exits, others) evenly
by rank of weight, so a synthetic relay takes its rates from a relay of like rank in its class. Its
weight is then its usable capacity times a log-normal factor: matching two documents that are six
months apart leaves relays whose weight is five times what they can carry, which no measured network
has. The factor's spread is that of weight over usable capacity, weighted by weight, in the one
50-relay network of 2012 whose relays' weights and rates were taken together. *2024.* One relay is
drawn from each stratum of its position. *2024-all.* The same, with as many strata in each position as the
median consensus has relays there, and each relay of the month counts by how much of it it was running: the
strata together are the relays that run at the same time. In all three, every rate of a relay is scaled by
one log-normal factor, which keeps whether its bucket binds. *2009-claimed, 2009-measured.* The relays of
April 2012 carry what measured weights say; their weights are what relays claimed, the lower of observed
bandwidth and rate, or what was measured. Positions are drawn in the proportions of the consensus.
"""

from __future__ import annotations

import csv
import json
import lzma
from pathlib import Path

import numpy as np

from torsweep.network.model import POSITIONS
from torsweep.network.relays import Population, PopulationRelay, shares, write_population
from torsweep.units import LEAST_TOR_RATE_BYTES_PER_S

_SIZE = 1_000
_SEED = 20120404
_BLUR_SIGMA = 0.1
_RANK_BLUR = 0.01
_KIB = 1024
_WEIGHT_SIGMA_2012 = 0.46
_SHADOW_FILES = ("jumbo__jumbo", "large__large_generated", "medium__medium", "small__small", "tiny__tiny")
_WEIGHT_UNITS_2024 = 1e9


def derive(data: Path, out: Path) -> dict:
    """Write both populations; their summaries against the documents they come from."""
    directory = _consensus(data / "consensus-2011-10-24-20-00.txt.xz")
    profiles = _profiles(data / "shadow_2012")
    old = _population_2012(directory, profiles)
    write_population(old, out / "2012.json")
    staged = _staged(data / "relayinfo_staging_2024-05-01--2024-05-31.json.xz")
    new = _population_2024(staged)
    write_population(new, out / "2024.json")
    whole = _population_2024_all(staged)
    write_population(whole, out / "2024-all.json")
    weights_of_2009 = _populations_2009(directory, profiles, out)
    rates_of_profiles = np.concatenate(list(profiles.values()))[:, 1:4] * _KIB
    return {
        "2012": {"documents": _summary(rates_of_profiles), "population": _summary(_rates(old))},
        "2009-claimed over 2009-measured, sd of the log": weights_of_2009,
        "2012 relays by position": {name: len(weights) for name, weights in directory.items()},
        "2012 weight share": old.weight_share,
        "2024": {"documents": _summary(staged["rates"]), "population": _summary(_rates(new))},
        "2024 weight share": new.weight_share,
        "2024-all": {
            "running documents, usable Gbit/s": round(float(_usable_gbit_s(staged) @ staged["running"]), 1),
            "population, usable Gbit/s": round(float(_usable_gbit_s({"rates": _rates(whole)}).sum()), 1),
            "population": _summary(_rates(whole)),
        },
        "2024-all weight share": whole.weight_share,
    }


def _position(is_guard: bool, is_exit: bool) -> str:
    if is_exit:
        return "guard_exit" if is_guard else "exit"
    return "guard" if is_guard else "middle"


def _consensus(path: Path) -> dict[str, np.ndarray]:
    """Ascending consensus weights of the running relays by position."""
    weights: dict[str, list[int]] = {position: [] for position in POSITIONS}
    flags: set[str] = set()
    with lzma.open(path, "rt") as file:
        for line in file:
            keyword, _, rest = line.rstrip("\n").partition(" ")
            if keyword == "s":
                flags = set(rest.split())
            elif keyword == "w" and "Running" in flags:
                is_exit = "Exit" in flags and "BadExit" not in flags
                weight = int(rest.split("Bandwidth=")[1].split()[0])
                weights[_position("Guard" in flags, is_exit)].append(max(weight, 1))
    return {position: np.sort(np.array(found)) for position, found in weights.items()}


def _profiles(folder: Path) -> dict[bool, np.ndarray]:
    """Rows (weight, observed, rate, burst; KiB/s) by ascending weight, of exits and of others."""
    seen: dict[str, tuple[bool, list[int]]] = {}
    columns = ("Consensus(KB/s)", "MaxObserved(KiB/s)", "Rate(KiB/s)", "Burst(KiB/s)")
    for name in _SHADOW_FILES:
        with (folder / f"2012-04-04_{name}_relays.csv").open() as file:
            for row in csv.DictReader(file):
                values = [int(row[column]) for column in columns]
                if min(values[1:]) > 0:
                    seen.setdefault(row["IP"], (row["IsExit"] == "True", values))
    classes = {}
    for is_exit in (True, False):
        rows = np.array(sorted(values for exit_flag, values in seen.values() if exit_flag == is_exit))
        classes[is_exit] = rows.astype(float)
    return classes


def _strata_means(ascending: np.ndarray, count: int) -> np.ndarray:
    """Means of ``count`` strata of equal count: their sum is the sum of the values, scaled."""
    running = np.concatenate([[0.0], np.cumsum(ascending)])
    edges = np.interp(np.linspace(0, len(ascending), count + 1), np.arange(len(running)), running)
    return np.diff(edges) * count / len(ascending)


def _population_2012(directory: dict[str, np.ndarray], profiles: dict[bool, np.ndarray]) -> Population:
    total = sum(map(len, directory.values()))
    weights = {
        position: _strata_means(found, round(_SIZE * len(found) / total))
        for position, found in directory.items()
    }
    random = np.random.default_rng(_SEED)
    relays: list[PopulationRelay] = []
    for is_exit, rows in profiles.items():
        members = [
            (weight, position)
            for position in POSITIONS
            if ("exit" in position) == is_exit
            for weight in weights[position]
        ]
        members.sort()
        for (weight, position), rates in zip(members, _matched(rows, len(members), random), strict=True):
            relays.append(_blurred(position, weight, rates * _KIB, random))
    relays = _with_weights_that_fit(
        relays, {name: float(found.sum()) for name, found in directory.items()}, random
    )
    origin = {
        "positions and shares of weight": "network consensus of 2011-10-24 20:00 UTC",
        "capacity, rate, burst": "relay samples of 2012-04-04 (Shadow 1.x)",
        "method": "synthetic relays, see SOURCES.md",
    }
    return Population(
        tuple(sorted(relays)),
        shares((position, len(found)) for position, found in directory.items()),
        shares((position, float(found.sum())) for position, found in directory.items()),
        origin,
    )


def _populations_2009(directory: dict[str, np.ndarray], profiles: dict[bool, np.ndarray], out: Path) -> float:
    """Write ``2009-claimed`` and ``2009-measured``; the sd of the log of their weights' ratio."""
    random = np.random.default_rng(_SEED)
    rows, positions = [], []
    for is_exit, of_class in profiles.items():
        names = [name for name in POSITIONS if ("exit" in name) == is_exit]
        many = np.array([len(directory[name]) for name in names])
        positions += [names[pick] for pick in random.choice(len(names), len(of_class), p=many / many.sum())]
        rows.append(of_class)
    measured, observed, rate, _ = np.concatenate(rows).T
    claimed = np.minimum(observed, rate)
    measured = measured * claimed.sum() / measured.sum()
    blur = np.exp(random.normal(0, _BLUR_SIGMA, len(measured)))
    for name, weights in (("claimed", claimed), ("measured", measured)):
        relays = []
        for position, weight, carried in zip(positions, weights * blur, measured * blur, strict=True):
            held = max(1, round(float(carried) * _KIB))
            relays.append(PopulationRelay(position, max(1, round(float(weight))), held, held, held))
        origin = {
            "relays": "relay samples of 2012-04-04 (Shadow 1.x), which carry what their measured weight says",
            "weights": name,
            "method": "synthetic, see SOURCES.md",
        }
        count, weight_share = (
            shares((position, float(getattr(np, how)(found))) for position, found in directory.items())
            for how in ("size", "sum")
        )
        write_population(Population(tuple(relays), count, weight_share, origin), out / f"2009-{name}.json")
    return round(float(np.std(np.log(claimed / measured))), 3)


def _with_weights_that_fit(
    relays: list[PopulationRelay], wanted: dict[str, float], random: np.random.Generator
) -> list[PopulationRelay]:
    """Weights that follow usable capacity, with the positions' sums in the proportions ``wanted``."""
    usable = np.array(
        [min(relay.capacity_bytes_per_s, relay.rate_bytes_per_s) for relay in relays], dtype=float
    )
    drawn = usable * np.exp(random.normal(0, _WEIGHT_SIGMA_2012, len(relays)))
    positions = np.array([relay.position for relay in relays])
    unit = sum(wanted.values()) / drawn.sum()
    for position, total in wanted.items():
        own = positions == position
        drawn[own] *= total / drawn[own].sum() / unit
    return [
        relay._replace(consensus_weight=max(1, round(float(weight) / _KIB)))
        for relay, weight in zip(relays, drawn, strict=True)
    ]


def _matched(rows: np.ndarray, count: int, random: np.random.Generator) -> np.ndarray:
    """(observed, rate, burst) of ``count`` relays by rank; every row is used equally often."""
    donors = np.floor((np.arange(count) + 0.5) / count * len(rows)).astype(int)
    order = np.argsort(np.arange(count) / count + random.normal(0, _RANK_BLUR, count))
    return rows[donors[order], 1:4]


def _blurred(position: str, weight: float, rates: np.ndarray, random: np.random.Generator) -> PopulationRelay:
    blur = np.exp(random.normal(-(_BLUR_SIGMA**2) / 2, _BLUR_SIGMA))
    capacity, rate, burst = (max(1, round(float(value * blur))) for value in rates)
    return PopulationRelay(position, max(1, round(float(weight))), capacity, rate, max(rate, burst))


def _staged(path: Path) -> dict[str, np.ndarray]:
    """Positions, weights × running frequency, rates and running frequency of the relays that have all."""
    with lzma.open(path, "rt") as file:
        document = json.load(file)
    found = [
        (
            _position(relay["guard_frequency"] >= 0.5, relay["exit_frequency"] >= 0.5),
            relay["weight"] * relay["running_frequency"],
            [relay["bandwidth_capacity"], relay["bandwidth_rate"], relay["bandwidth_burst"]],
            relay["running_frequency"],
        )
        for relay in document["relays"].values()
    ]
    held = [row for row in found if row[1] > 0 and min(row[2]) > 0]
    return {
        "position": np.array([row[0] for row in held]),
        "weight": np.array([row[1] for row in held]),
        "rates": np.array([row[2] for row in held], dtype=float),
        "running": np.array([row[3] for row in held]),
        "stats": document["network_stats"],
    }


def _of_median_consensus(kind: str, staged: dict) -> dict:
    """Relays by position (``count``), or shares of consensus weight (``weight``)."""
    named = {"guard_exit": "exitguard"}
    return {p: staged["stats"][f"med_{kind}_{named.get(p, p)}"] for p in POSITIONS}


def _population_2024(staged: dict) -> Population:
    stats = {kind: _of_median_consensus(kind, staged) for kind in ("count", "weight")}
    total = sum(stats["count"].values())
    random = np.random.default_rng(_SEED)
    relays: list[PopulationRelay] = []
    for position in POSITIONS:
        own = np.flatnonzero(staged["position"] == position)
        own = own[np.argsort(staged["weight"][own])]
        count = round(_SIZE * stats["count"][position] / total)
        means = _strata_means(staged["weight"][own], count) * _WEIGHT_UNITS_2024
        picks = np.floor((np.arange(count) + random.random(count)) * len(own) / count).astype(int)
        relays += [
            _blurred(position, weight, staged["rates"][own[pick]], random)
            for weight, pick in zip(means, picks, strict=True)
        ]
    origin = {"relays": "relays of May 2024, staged by tornettools", "method": "synthetic, see SOURCES.md"}
    return Population(
        tuple(sorted(relays)), shares(stats["count"].items()), shares(stats["weight"].items()), origin
    )


def _population_2024_all(staged: dict) -> Population:
    counts, share = (_of_median_consensus(kind, staged) for kind in ("count", "weight"))
    random = np.random.default_rng(_SEED)
    relays: list[PopulationRelay] = []
    for position, count in counts.items():
        own = np.flatnonzero(staged["position"] == position)
        own = own[np.argsort(staged["weight"][own] / staged["running"][own], kind="stable")]
        running = np.concatenate([[0.0], np.cumsum(staged["running"][own])])
        held = np.concatenate([[0.0], np.cumsum(staged["weight"][own])])
        edges = np.linspace(0, running[-1], count + 1)
        weights = np.diff(np.interp(edges, running, held)) / held[-1] * share[position] * _WEIGHT_UNITS_2024
        drawn = edges[:-1] + random.random(count) * np.diff(edges)
        picks = np.searchsorted(running, drawn, side="right") - 1
        relays += [
            _blurred(position, weight, staged["rates"][own[pick]], random)
            for weight, pick in zip(weights, picks, strict=True)
        ]
    origin = {
        "relays": "relays of May 2024, staged by tornettools, as many as ran at the same time",
        "method": "synthetic, see SOURCES.md",
    }
    return Population(tuple(sorted(relays)), shares(counts.items()), shares(share.items()), origin)


def _usable_gbit_s(relays: dict) -> np.ndarray:
    capacity, rate, _ = relays["rates"].T
    return np.minimum(capacity, np.maximum(rate, LEAST_TOR_RATE_BYTES_PER_S)) * 8 / 1e9


def _rates(population: Population) -> np.ndarray:
    return np.array([relay[2:5] for relay in population.relays], dtype=float)


def _summary(rates: np.ndarray) -> dict:
    """Of rows (capacity, rate, burst) in bytes/s: what a sampled network inherits."""
    capacity, rate, burst = rates.T
    usable = np.minimum(capacity, rate)
    binds = rate < capacity
    return {
        "relays": len(rates),
        "mean capacity KiB/s": round(float(capacity.mean()) / _KIB, 1),
        "mean usable KiB/s": round(float(usable.mean()) / _KIB, 1),
        "usable KiB/s p10 p50 p90": [round(float(q) / _KIB, 1) for q in np.quantile(usable, [0.1, 0.5, 0.9])],
        "share of relays where the bucket binds": round(float(binds.mean()), 3),
        "share of usable capacity where the bucket binds": round(
            float(usable[binds].sum() / usable.sum()), 3
        ),
        "burst over rate p50": round(float(np.median(burst / rate)), 2),
        f"below {LEAST_TOR_RATE_BYTES_PER_S // _KIB} KiB/s": round(
            float((rate < LEAST_TOR_RATE_BYTES_PER_S).mean()), 3
        ),
    }
