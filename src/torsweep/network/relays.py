"""The relay population, and relays sampled from it.

In: a :class:`Population`, how many relays, a seed. Out: relays with position, rate, burst, capacity
and consensus weight, whose total capacity varies little between seeds and whose shares of consensus
weight by position are the directory's. A population is a JSON file of rows (position, consensus weight,
capacity, rate, burst) with the directory's shares of relays and of consensus weight by position. Derived
populations are in ``topologies/relays``; ``torsweep relays import`` makes one from a directory's documents.

Within a position the population is sorted by usable capacity and cut into as many strata as relays
are wanted; each stratum gives one relay. With few relays a single heavy one still decides the total,
so candidate samples are drawn until one is balanced: its sums of link capacity, of usable capacity
and of usable capacity behind a bucket that binds lie within tolerance of the population's, loosely in
each position and closely in all (rejective sampling; Fuller, Biometrika 96, 2009).

A population that is used as a whole gives all of its relays, each once, and with a ``scale`` below 1 one
relay of each stratum as above, with as many strata in each position as the position's part of its relays.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, Field

from torsweep.config.network import CHAIN_POSITIONS, LEAST_GUARDS, Chain, NetworkConfig
from torsweep.config.reading import validate
from torsweep.errors import InputError
from torsweep.formats.files import read_document
from torsweep.network.bandwidth_weights import PositionTotals, bandwidth_weights
from torsweep.network.latency import PlacesOf
from torsweep.network.model import POSITIONS, Network, Position, Relay
from torsweep.seeds import stream
from torsweep.storage import write_text
from torsweep.units import (
    LEAST_TOR_RATE_BYTES_PER_S,
    MOST_CONFIGURED_BYTES,
    MOST_CONSENSUS_WEIGHT,
    MOST_RATE_BYTES_PER_S,
)

POPULATION_FILE = "relays.json"
_MOST_RELAYS = 100_000
POPULATION_FORMAT = "torsweep-relay-population"

_RELAY_COLUMNS = ["position", "consensus_weight", "capacity_bytes_per_s", "rate_bytes_per_s", "burst_bytes"]


class PopulationRelay(NamedTuple):
    """One relay: weight in the directory's unit, link capacity and bucket rate in bytes/s, burst in bytes."""

    position: Position
    consensus_weight: Annotated[int, Field(strict=True, ge=1, le=MOST_CONSENSUS_WEIGHT)]
    capacity_bytes_per_s: Annotated[int, Field(strict=True, ge=1, le=MOST_RATE_BYTES_PER_S)]
    rate_bytes_per_s: Annotated[int, Field(strict=True, ge=1, le=MOST_CONFIGURED_BYTES)]
    burst_bytes: Annotated[int, Field(strict=True, ge=1, le=MOST_CONFIGURED_BYTES)]


def _whole(shares: dict[Position, float]) -> dict[Position, float]:
    if set(shares) != set(POSITIONS) or abs(sum(shares.values()) - 1) > 1e-3:
        raise ValueError(f"expected a share for each of {', '.join(POSITIONS)}, adding up to 1")
    return shares


Shares = Annotated[dict[Position, Annotated[float, Field(strict=True, ge=0)]], AfterValidator(_whole)]


@dataclass(frozen=True)
class Population:
    """Relays to sample from, with the directory's shares by position (each sums to 1)."""

    relays: Annotated[tuple[PopulationRelay, ...], Field(min_length=1, max_length=_MOST_RELAYS)]
    count_share: Shares
    weight_share: Shares
    origin: dict[str, Any] = field(default_factory=dict)

    def of(self, position: str) -> list[PopulationRelay]:
        """The relays in ``position``."""
        return [relay for relay in self.relays if relay.position == position]


def shares(amounts: Iterable[tuple[Position, float]]) -> dict[Position, float]:
    """Each position's part of the sum of amounts, rounded to six digits."""
    totals: dict[Position, float] = dict.fromkeys(POSITIONS, 0.0)
    for position, amount in amounts:
        totals[position] += amount
    whole = sum(totals.values())
    return {position: round(total / whole, 6) for position, total in totals.items()}


def write_population(population: Population, path: Path) -> None:
    """Write ``population`` to ``path`` as a whole, one relay a line."""
    head = {
        "format": POPULATION_FORMAT,
        "format_version": 1,
        "origin": population.origin,
        "count_share": population.count_share,
        "weight_share": population.weight_share,
        "columns": _RELAY_COLUMNS,
    }
    opening = json.dumps(head, indent=1, ensure_ascii=False)[:-2]
    rows = ",\n".join(json.dumps(relay, separators=(",", ":")) for relay in population.relays)
    write_text(path, f'{opening},\n "relays": [\n{rows}\n]}}\n')


def read_population(path: Path) -> Population:
    """The population in ``path``. Raises InputError naming the row that is wrong."""
    document = read_document(path, POPULATION_FORMAT)
    if document.get("columns") != _RELAY_COLUMNS:
        raise InputError("other columns", file=path, key="columns", accepted=", ".join(_RELAY_COLUMNS))
    population = validate(Population, document, path)
    require_guard_and_exit(population, path)
    return population


def require_guard_and_exit(population: Population, file: Path) -> None:
    """InputError unless ``population``, which ``file`` holds, has relays for both ends of a circuit."""
    for name in ("guard", "exit"):
        if not any(name in relay.position for relay in population.relays):
            raise InputError(f"no relay of it can be a{'n' * (name == 'exit')} {name}", file=file)


_POSITION_TOLERANCE_PERMILLE = np.array([150, 150, 250])
_NETWORK_TOLERANCE_PERMILLE = np.array([30, 30, 80])
"""For link capacity, usable capacity, and the part of the usable capacity that a bucket limits. The last one
counts against all usable capacity: it says which regime a network is in, not how large it is."""
_ANY = 1_000_000
_MOST_CANDIDATES = 8_192
_CANDIDATE_DRAWS = 400_000
_LEAST_CANDIDATES = 256
"""At least this many candidates are kept, even if they are out of tolerance: if a position has one or two
relays, relays of other positions have to compensate for them."""
_COMBINATIONS = 4_096


def position_counts(config: NetworkConfig, population: Population) -> dict[str, int]:
    """How many relays serve in each position.

    The configuration's own ``positions``, else as many in each position as carry, at the population's mean
    usable capacity, the directory's share of consensus weight, so that no position is the bottleneck of every
    network. A population that is used as a whole has positions of its own. ``scale`` shrinks all alike.

    Raises InputError when the population has no relay for a position, ``scale`` leaves a position none, or
    fewer than two of the network's relays could be a guard.
    """
    counts = _unscaled_counts(config, population)
    for position, count in counts.items():
        if count and not population.of(position):
            key = f"positions.{position}"
            raise InputError("the relay population has none of these", key=key, value=count, accepted="0")
    if config.scale != 1:
        counts = _scaled_counts(config, counts)
    possible_guards = counts["guard"] + counts["guard_exit"]
    if possible_guards < LEAST_GUARDS:
        problem = "too few relays for two that can be a guard, at the shares of the relay population"
        key, value = ("relays", config.relays) if config.scale == 1 else ("scale", config.scale)
        file, accepted = config.relay_population.file, "more relays, or positions with two guards"
        raise InputError(problem, file=file, key=key, value=value, accepted=accepted)
    return counts


def _unscaled_counts(config: NetworkConfig, population: Population) -> dict[str, int]:
    if config.positions is not None:
        return dict(config.positions)
    if config.relay_population.use == "sample":
        share = _share_by_load(population)
        return _with_both_ends(_by_largest_remainder(config.relays, share), share)
    if config.relays != len(population.relays):
        problem = "is not the number of relays of the population, which is used as a whole"
        file, accepted = config.relay_population.file, str(len(population.relays))
        raise InputError(problem, file=file, key="relays", value=config.relays, accepted=accepted)
    return {position: len(population.of(position)) for position in POSITIONS}


def _scaled_counts(config: NetworkConfig, counts: Mapping[str, int]) -> dict[str, int]:
    """``counts`` at the configuration's scale; InputError when a position that has relays would have none."""
    share = {position: count / config.relays for position, count in counts.items()}
    scaled = _by_largest_remainder(config.relay_count, share)
    for position, count in counts.items():
        if count and not scaled[position]:
            left = f"{config.relay_count} of {config.relays} relays"
            problem = f"leaves {left}, none of them in position {position}"
            raise InputError(problem, key="scale", value=config.scale, accepted="a larger scale")
    return scaled


def _share_by_load(population: Population) -> dict[str, float]:
    """Share of relays by position such that usable capacity is shared as consensus weight is."""
    needed = dict.fromkeys(POSITIONS, 0.0)
    for position in POSITIONS:
        relays = population.of(position)
        if relays:
            mean = sum(_amounts(relay)[1] for relay in relays) / len(relays)
            needed[position] = population.weight_share[position] / mean
    whole = sum(needed.values())
    return {position: amount / whole for position, amount in needed.items()}


def _by_largest_remainder(total: int, share: Mapping[str, float]) -> dict[str, int]:
    exact = {position: total * share[position] for position in POSITIONS}
    counts: dict[str, int] = {position: int(amount) for position, amount in exact.items()}
    by_remainder = sorted(POSITIONS, key=lambda position: counts[position] - exact[position])
    for position in by_remainder[: total - sum(counts.values())]:
        counts[position] += 1
    return counts


def _with_both_ends(counts: dict[str, int], share: Mapping[str, float]) -> dict[str, int]:
    """``counts`` with at least one exit and one guard, taken from where there are most."""
    for needed in ("exit", "guard"):
        if not counts[needed] and share[needed]:
            counts[max(counts, key=lambda position: counts[position])] -= 1
            counts[needed] = 1
    return counts


def sample_relays(
    config: NetworkConfig, population: Population, told: Population, seed: int, places: PlacesOf
) -> tuple[Relay, ...]:
    """The relays of one network in the order of positions and then of capacity. They are drawn from
    ``population``, and have the weights and rates of ``told``, which has the same relays."""
    counts = position_counts(config, population)
    row_of = {id(relay): row for row, relay in enumerate(population.relays)}
    chosen = [told.relays[row_of[id(relay)]] for relay in _balanced_sample(population, counts, seed)]
    weights = _with_shares_of(chosen, told, _weight_by_position(config, told))
    if config.relay_rate_divisor != 1:
        chosen = [_slower(relay, Fraction(str(config.relay_rate_divisor))) for relay in chosen]
    if config.relay_rates == "usual":
        draws = stream(seed, "relays", "usual_rate").random(len(chosen))
        chosen = [_slower(*each) for each in zip(chosen, map(_best_over_usual, draws), strict=True)]
    weighted = [
        relay._replace(consensus_weight=weight) for relay, weight in zip(chosen, weights, strict=True)
    ]
    return _placed(weighted, LEAST_TOR_RATE_BYTES_PER_S, seed, places)


def _placed(
    drawn: Sequence[PopulationRelay], least_bytes_per_s: int, seed: int, places: PlacesOf
) -> tuple[Relay, ...]:
    """``drawn`` with names, places and phases; a bucket has ``least_bytes_per_s`` or more."""
    phases = stream(seed, "relays", "refill_phase").random(len(drawn))
    return tuple(
        Relay(
            name=f"relay{number}",
            **at,
            position=relay.position,
            rate_bytes_per_s=max(relay.rate_bytes_per_s, least_bytes_per_s),
            burst_bytes=max(relay.burst_bytes, relay.rate_bytes_per_s, least_bytes_per_s),
            capacity_bytes_per_s=relay.capacity_bytes_per_s,
            consensus_weight=relay.consensus_weight,
            refill_phase=int(phase * 1_000_000) / 1_000_000,
            rate_floored=relay.rate_bytes_per_s < least_bytes_per_s,
        )
        for number, (relay, phase, at) in enumerate(
            zip(drawn, phases, places("relay", len(drawn)), strict=True), 1
        )
    )


_RATE_DEVIATIONS = (
    *((0.0, 0.0), (0.1, 0.013), (0.25, 0.039), (0.5, 0.081), (0.75, 0.179), (0.9, 0.365)),
    *((0.95, 0.522), (0.99, 1.731), (1.0, 1.731)),
)
"""How much relays' rates varied within a week, August 2018 to July 2019: quantiles, weighted by how often
circuits take the relay, of the standard deviation of a relay's advertised bandwidth over its mean. Computed
from the data of Jansen and Johnson, On the Accuracy of Tor Bandwidth Estimation (PAM 2021)."""
_BEST_DEVIATIONS = 2
"""How far a month's best is above the mean: about the expected greatest of thirty normal draws, 2.04."""


def _best_over_usual(share: float) -> Fraction:
    """The best rate of the relay at quantile ``share`` of :data:`_RATE_DEVIATIONS`, over its mean."""
    quantiles, deviations = np.transpose(_RATE_DEVIATIONS)
    deviation = float(np.interp(share, quantiles, deviations))
    return 1 + _BEST_DEVIATIONS * Fraction(f"{deviation:.6f}")


def _slower(relay: PopulationRelay, divisor: Fraction) -> PopulationRelay:
    """``relay`` with a ``divisor``-th of its rates, rounded down; its link has at least tor's least rate."""
    return relay._replace(
        capacity_bytes_per_s=max(int(relay.capacity_bytes_per_s / divisor), LEAST_TOR_RATE_BYTES_PER_S),
        rate_bytes_per_s=int(relay.rate_bytes_per_s / divisor),
        burst_bytes=int(relay.burst_bytes / divisor),
    )


class _Candidates(NamedTuple):
    """Samples for one position: indices into ``ranked`` (candidates, relays), sums (candidates, 3)."""

    ranked: list[PopulationRelay]
    picks: NDArray[np.int64]
    sums: NDArray[np.int64]
    expected: NDArray[np.int64]


def _balanced_sample(population: Population, counts: Mapping[str, int], seed: int) -> list[PopulationRelay]:
    """One candidate of each position such that the whole network is balanced."""
    of_position = [
        _candidates(population.of(position), counts[position], seed, position)
        for position in POSITIONS
        if counts[position]
    ]
    draws = stream(seed, "relays", "combination").random((_COMBINATIONS, len(of_position)))
    sizes = np.array([len(candidates.picks) for candidates in of_position])
    combinations = np.floor(draws * sizes).astype(np.int64)
    drawn = zip(of_position, combinations.T, strict=True)
    sums = np.sum([samples.sums[rows] for samples, rows in drawn], axis=0)
    expected = np.sum([samples.expected for samples in of_position], axis=0)
    best = combinations[_most_balanced(sums, expected)]
    chosen = zip(of_position, best, strict=True)
    return [samples.ranked[index] for samples, row in chosen for index in samples.picks[row]]


def _most_balanced(sums: NDArray[np.int64], expected: NDArray[np.int64]) -> int:
    """The first row within tolerance, or else the nearest in capacity."""
    excess = _excess(sums, expected, _NETWORK_TOLERANCE_PERMILLE)
    if excess.min() > 0:
        excess = _excess(sums, expected, np.array([*_NETWORK_TOLERANCE_PERMILLE[:2], _ANY]))
    return int(np.argmin(excess))


def _candidates(relays: list[PopulationRelay], count: int, seed: int, position: str) -> _Candidates:
    """Samples of one relay from each stratum of usable capacity: the balanced ones, or the nearest."""
    ranked = sorted(relays, key=lambda relay: (_amounts(relay)[1], relay))
    amounts = np.array([_amounts(relay) for relay in ranked], dtype=np.int64)
    tries = max(64, min(_MOST_CANDIDATES, _CANDIDATE_DRAWS // count))
    draws = stream(seed, "relays", position).random((tries, count))
    edges = np.arange(count + 1) * len(ranked) // count
    width = np.maximum(np.diff(edges), 1)
    picks = np.minimum(edges[:-1], len(ranked) - 1) + np.floor(draws * width).astype(np.int64)
    sums = amounts[picks].sum(axis=1)
    expected = amounts.sum(axis=0) * count // len(ranked)
    excess = _excess(sums, expected, _POSITION_TOLERANCE_PERMILLE)
    kept = np.flatnonzero(excess <= np.sort(excess)[min(_LEAST_CANDIDATES, tries) - 1])
    return _Candidates(ranked, picks[kept], sums[kept], expected)


def _amounts(relay: PopulationRelay) -> tuple[int, int, int]:
    """Link capacity, usable capacity, usable capacity bounded by the bucket; bytes/s."""
    usable = min(relay.capacity_bytes_per_s, max(relay.rate_bytes_per_s, LEAST_TOR_RATE_BYTES_PER_S))
    return relay.capacity_bytes_per_s, usable, usable if usable < relay.capacity_bytes_per_s else 0


def _excess(sums: NDArray[np.int64], expected: NDArray[np.int64], tolerance: NDArray) -> NDArray[np.int64]:
    """The largest deviation of each row of ``sums`` (rows, 3), in thousandths of its tolerance. Rows within
    tolerance all count as 0, so that the least is the first of them."""
    off_permille = np.abs(sums - expected) * 1_000 // expected[[0, 1, 1]]
    excess = (off_permille * 1_000 // tolerance).max(axis=1)
    return np.where(excess <= 1_000, 0, excess)


def _weight_by_position(config: NetworkConfig, population: Population) -> dict[str, int]:
    """The proportions in which positions share consensus weight: the directory's, or of a population that is
    used as a whole its relays' own, so that at scale 1 each relay keeps its weight."""
    if config.relay_population.use == "sample":
        return {position: round(share * 1_000_000) for position, share in population.weight_share.items()}
    return _weight_of(population.relays)


def _weight_of(relays: Iterable[Relay | PopulationRelay]) -> dict[str, int]:
    """Consensus weight by position."""
    total: dict[str, int] = dict.fromkeys(POSITIONS, 0)
    for relay in relays:
        total[relay.position] += relay.consensus_weight
    return total


def _with_shares_of(
    relays: list[PopulationRelay], population: Population, weight: Mapping[str, int]
) -> list[int]:
    """Consensus weights scaled, within each position, so that positions share them as they do ``weight``. The
    mean weight stays that of the population."""
    sampled = _weight_of(relays)
    mean_total = sum(relay.consensus_weight for relay in population.relays) * len(relays)
    target = mean_total // len(population.relays)
    whole = sum(weight[position] for position in {relay.position for relay in relays})
    weights = []
    for relay in relays:
        scaled = relay.consensus_weight * target * weight[relay.position]
        unit = sampled[relay.position] * whole
        weights.append(max(1, (2 * scaled + unit) // (2 * unit)))
    return weights


def network_bandwidth_weights(relays: tuple[Relay, ...]) -> dict[str, int]:
    """Tor's bandwidth-weights over the consensus weights of ``relays``."""
    return bandwidth_weights(PositionTotals(**_weight_of(relays)))


_CHAIN_WEIGHT = 1_000
"""Equal for all relays: with only one path, clients do not choose by weight."""


def chain_relays(chain: Chain, seed: int, places: PlacesOf) -> tuple[Relay, ...]:
    """Guard, middle and exit; phases are those of the first relays of any network."""
    rates = [(position, getattr(chain, position)) for position in CHAIN_POSITIONS]
    relays = [PopulationRelay(position, _CHAIN_WEIGHT, chain.link, rate, rate) for position, rate in rates]
    return _placed(relays, 0, seed, places)


def only_paths(network: Network) -> dict[str, tuple[tuple[str, str, str], ...]] | None:
    """For each client the only path there is; None where circuits are chosen by weight."""
    if network.config.get("chain") is None:
        return None
    guard, middle, exit_ = (relay.name for relay in network.relays)
    return {client.name: ((guard, middle, exit_),) for client in network.clients}
