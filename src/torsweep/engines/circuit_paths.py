"""The paths of clients' circuits, drawn from the network's seed by tor's own rule.

In: a network, its seed, how many guards a client keeps, what clients do and for how long. Out: for each
client the relays of its circuits (guard, middle, exit) in order of use.

The exit is drawn first, then the guard, then the middle (path-spec §2.2), each by consensus weight times the
bandwidth-weight of its position, and no relay is twice in a path. A client keeps the first ``guards`` of a
list that is drawn once; where the exit is its only guard, it takes the next. A client without guards draws
one for each circuit. A path is a function of seed, client, circuit and number of guards. These are cellsim's
draws, number by number (cellsim/src/path.rs), so the model takes the same paths by itself.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate
from pathlib import Path as FilePath
from typing import Any

import polars as pl

from torsweep.config.option_bundle import Position
from torsweep.config.traffic import ONION, AnyKind
from torsweep.engines.draws import Draws
from torsweep.engines.run_spec import RunTraffic
from torsweep.errors import InputError
from torsweep.network.bandwidth_weights import HOP_WEIGHTS
from torsweep.network.model import Network

PLACES_OF_A_PATH: tuple[Position, ...] = ("guard", "middle", "exit")
"""The places of a path, in the order of its relays."""

LEAST_POSSIBLE = {"guard": 2, "middle": 3, "exit": 1}
"""Relays that must be possible at a place, so that some path always remains."""

SPARE_CIRCUITS = 4
"""Circuits beyond those that a run is reckoned to use: ones that fail, or are built ahead and never used."""

MOVES_ON_NS = 10 * 10**9
"""How long tor lets a stream wait for its CONNECTED before it moves it to another circuit."""

LEAST_PAUSE_NS = 10**9

MOST_CIRCUITS = 500
"""The most paths that a client is given; it takes the last of them again and again."""

REJECTIONS = 1_000
"""Draws that may hit taken relays before the taken ones are left out of the draw."""

LEAST_LISTED = 2
"""Guards that a client has a list of at least."""

Path = tuple[str, str, str]


class _Weighted:
    """Relays (by number) with their weights at a place."""

    def __init__(self, network: Network, place: str) -> None:
        names = (HOP_WEIGHTS[place].get(relay.position) for relay in network.relays)
        shares = [network.bandwidth_weights[name] if name else 0 for name in names]
        self._weights = [
            float(relay.consensus_weight) * float(share) / 10_000
            for relay, share in zip(network.relays, shares, strict=True)
        ]
        self._sums = list(accumulate(self._weights))
        self.possible = sum(weight > 0 for weight in self._weights)

    def draw(self, draws: Draws, taken: Collection[int] = ()) -> int:
        """A relay that is not ``taken``, each with the chance of its weight."""
        for _ in range(REJECTIONS):
            relay = bisect_right(self._sums, draws.unit() * self._sums[-1])
            if relay not in taken:
                return relay
        others = [relay for relay, weight in enumerate(self._weights) if weight > 0 and relay not in taken]
        sums = list(accumulate(self._weights[relay] for relay in others))
        return others[min(bisect_right(sums, draws.unit() * sums[-1]), len(others) - 1)]


class PathChooser:
    """Draws the paths of a network's clients, by number; InputError when a place has too few relays."""

    def __init__(self, network: Network, seed: int, guards: int, file: str | FilePath | None = None) -> None:
        self._seed = seed
        self._names = [relay.name for relay in network.relays]
        self._guard, self._middle, self._exit = (_Weighted(network, place) for place in HOP_WEIGHTS)
        self._guards = min(guards, self._guard.possible)
        for place, weighted in zip(HOP_WEIGHTS, (self._guard, self._middle, self._exit), strict=True):
            if weighted.possible < LEAST_POSSIBLE[place]:
                raise InputError(
                    f"too few relays can be the {place} of a path",
                    file=file,
                    key="relays",
                    value=weighted.possible,
                    accepted=f"at least {LEAST_POSSIBLE[place]}",
                )

    def guards(self, client: int) -> list[int]:
        """The client's guards by priority: those that it keeps, and a second one if it keeps one."""
        draws = Draws(self._seed, "guards", client, 0)
        listed: list[int] = []
        while len(listed) < min(max(self._guards, LEAST_LISTED), self._guard.possible):
            listed.append(self._guard.draw(draws, listed))
        return listed

    def path(self, client: int, circuit: int, guards: Sequence[int] | None) -> Path:
        """The relays of the client's ``circuit`` (from 1), through one of ``guards``; None: any guard."""
        draws = Draws(self._seed, "path", client, circuit)
        exit_ = self._exit.draw(draws)
        guard = self._guard.draw(draws, (exit_,)) if guards is None else self._kept(guards, exit_, draws)
        middle = self._middle.draw(draws, (exit_, guard))
        return self._names[guard], self._names[middle], self._names[exit_]

    def _kept(self, guards: Sequence[int], exit_: int, draws: Draws) -> int:
        free = [guard for guard in guards[: self._guards] if guard != exit_]
        return free[draws.below(len(free))] if free else guards[self._guards]


def drawn_paths(
    network: Network,
    guards: int,
    traffic: Mapping[AnyKind, RunTraffic],
    duration_ns: int,
    file: str | FilePath | None = None,
) -> dict[str, tuple[Path, ...]]:
    """For each client as many paths as a run of ``duration_ns`` is reckoned to use, of the network's seed;
    those of onion services choose paths themselves. InputError, with the network's ``file``, when a place of
    a path has too few relays."""
    chooser, users = PathChooser(network, network.seed, guards, file), network.users
    paths: dict[str, tuple[Path, ...]] = {}
    for number, client in enumerate(network.clients):
        if client.kind == ONION or client.tor is not None:
            continue
        listed = chooser.guards(number) if traffic[client.kind].keeps_guards else None
        count = min(
            MOST_CIRCUITS, len(users[client.name]) * circuits_needed(traffic[client.kind], duration_ns)
        )
        paths[client.name] = tuple(chooser.path(number, circuit, listed) for circuit in range(1, count + 1))
    return paths


def drawn_guards(network: Network, guards: int) -> dict[str, tuple[str, ...]]:
    """For each client the guards of its drawn paths, by priority; none where such paths cannot be drawn."""
    try:
        chooser = PathChooser(network, network.seed, guards)
    except InputError:
        return {client.name: () for client in network.clients}
    return {
        client.name: tuple(network.relays[relay].name for relay in chooser.guards(number))
        for number, client in enumerate(network.clients)
    }


def circuits_needed(traffic: RunTraffic, duration_ns: int) -> int:
    """The most circuits that a client may use in a run: one for each download where these are isolated, as if
    downloads took no time; else as many as streams may give up, one after the other."""
    pause_ns = max(LEAST_PAUSE_NS, traffic.mean_pause_ns)
    isolated = traffic.streams_per_circuit_isolation
    each_ns = pause_ns // traffic.parallel_streams if isolated else MOVES_ON_NS
    return min(MOST_CIRCUITS, SPARE_CIRCUITS + -(-duration_ns // max(each_ns, 1)))


def common_paths(circuits: pl.DataFrame, paths: Mapping[str, Sequence[Path]] | None) -> dict[str, Any]:
    """How many circuits clients used, and streams on them, and how many of these had the one of ``paths``
    whose turn it was, for provenance.json; empty if tor chose. ``circuits`` is a circuits table; a client's
    count in order of first use."""
    if paths is None:
        return {}
    turns = pl.DataFrame(
        [(client, turn, ",".join(path)) for client, own in paths.items() for turn, path in enumerate(own)],
        schema={"client": pl.String, "turn": pl.Int64, "due": pl.String},
        orient="row",
    )
    used = circuits.drop_nulls("first_use_us")
    used = used.sort("client", "first_use_us", "circuit").join(
        turns.group_by("client").agg(paths=pl.len()), on="client"
    )
    turn = pl.int_range(pl.len()).over("client") % pl.col("paths")
    on_path = pl.col("path").eq_missing(pl.col("due"))
    seen = used.with_columns(turn=turn).join(turns, on=["client", "turn"], how="left").filter(on_path)
    counts = {
        "circuits": used.height,
        "circuits_on_their_path": seen.height,
        "streams": int(used["streams"].sum()),
        "streams_on_their_path": int(seen["streams"].sum()),
    }
    return {"common_paths": counts}
