"""Paths that are drawn for clients: by tor's weights, the same in every variant, each client's its own."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from bench.path_choice import compare
from tests.prepared_runs import prepared_run, run_traffic
from tests.small_network import equal_rtts, small_network
from torsweep.config.experiment import load_experiment
from torsweep.engines.circuit_paths import (
    LEAST_PAUSE_NS,
    MOST_CIRCUITS,
    PathChooser,
    circuits_needed,
    common_paths,
)
from torsweep.engines.run_spec import RunSpec
from torsweep.errors import InputError
from torsweep.network.model import Network, Position, write_network

POSITIONS: tuple[Position, ...] = (*["guard"] * 3, *["guard_exit"] * 3, *["exit"] * 2, *["middle"] * 4)
SECOND_NS = 1_000_000_000


def _network(clients: int = 2) -> Network:
    """Guards, exits and middles of different weights; a guard is a middle a fifth as often, an exit never."""
    network = small_network(POSITIONS, [f"web{number + 1}" for number in range(clients)])
    heavier = [
        relay.model_copy(update={"consensus_weight": 100 * (1 + number % 4)})
        for number, relay in enumerate(network.relays)
    ]
    weights = {**network.bandwidth_weights, "Wme": 0, "Wmg": 2_000, "Wgd": 3_000, "Wed": 6_000}
    changes = {"relays": tuple(heavier), "bandwidth_weights": weights, "config": {"relays": 12, "load": 1.0}}
    return network.model_copy(update=changes)


@pytest.mark.parametrize("guards", [1, 2, 3])
def test_paths_are_drawn_by_tors_weights(guards: int) -> None:
    network = _network()
    numbers = {relay.name: number for number, relay in enumerate(network.relays)}
    chooser, paths = PathChooser(network, 11, guards), []
    for client in range(3_000):
        listed = chooser.guards(client)
        assert len(set(listed)) == len(listed)
        path = chooser.path(client, 1, listed)
        assert len(set(path)) == 3
        paths.append((numbers[path[0]], numbers[path[1]], numbers[path[2]]))
    found = compare(network, paths, guards)
    assert found["exit_p"] > 0.01
    assert found["middle_p"] > 0.01
    assert found["guard_tor"] == pytest.approx(found["guard_model"], abs=3 * found["guard_error"])


def test_a_client_keeps_the_first_of_its_list_and_takes_the_next_where_its_only_guard_is_the_exit() -> None:
    network = _network()
    one, three = PathChooser(network, 3, 1), PathChooser(network, 3, 3)
    met = 0
    for client in range(100):
        few, many = one.guards(client), three.guards(client)
        assert many[:2] == few
        for circuit in range(1, 9):
            guard, _, exit_ = one.path(client, circuit, few)
            same_exit = network.relays[few[0]].name == exit_
            assert guard == network.relays[few[int(same_exit)]].name
            assert three.path(client, circuit, many)[2] == exit_
            met += same_exit
    assert met > 20


def test_a_client_without_guards_begins_circuits_anywhere() -> None:
    network = _network()
    chooser = PathChooser(network, 11, 1)
    paths = [chooser.path(0, circuit, None) for circuit in range(1, 400)]
    possible = {relay.name for relay in network.relays if relay.position in ("guard", "guard_exit")}
    assert {path[0] for path in paths} == possible
    assert all(len(set(path)) == 3 for path in paths)


def test_no_client_changes_the_paths_of_another() -> None:
    few, many = (PathChooser(_network(clients), 5, 3) for clients in (2, 50))
    for client in range(2):
        assert few.guards(client) == many.guards(client)
        assert few.path(client, 4, few.guards(client)) == many.path(client, 4, many.guards(client))
    assert PathChooser(_network(), 6, 3).guards(0) != few.guards(0)


def test_where_nearly_all_weight_is_taken_the_others_are_drawn() -> None:
    network = _network()
    heavy = [
        relay.model_copy(update={"consensus_weight": 2**40 if relay.name == "relay4" else 1})
        for relay in network.relays
    ]
    chooser = PathChooser(network.model_copy(update={"relays": tuple(heavy)}), 1, 2)
    path = chooser.path(0, 1, chooser.guards(0))
    assert path[2] == "relay4"
    assert len(set(path)) == 3


def test_too_few_relays_for_a_place_are_refused() -> None:
    network = small_network(("guard", "guard", "exit"), ["web1"])
    none = network.model_copy(
        update={"bandwidth_weights": dict.fromkeys(network.bandwidth_weights, 10_000) | {"Wme": 0}}
    )
    message = r"net\.json: relays: too few relays can be the middle of a path, got 2; accepted: at least 3"
    with pytest.raises(InputError, match=message):
        PathChooser(none, 1, 1, "net.json")


@pytest.mark.parametrize(
    ("isolated", "parallel", "pause_s", "duration_s", "circuits"),
    [
        (False, 1, 20, 100, 4 + 10),
        (True, 1, 20, 100, 4 + 10),
        (True, 3, 20, 100, 4 + 31),
        (True, 1, 0, 100, 4 + 100 * SECOND_NS // LEAST_PAUSE_NS),
        (False, 1, 20, 10**6, MOST_CIRCUITS),
    ],
)
def test_a_client_has_as_many_paths_as_its_run_may_use(isolated, parallel, pause_s, duration_s, circuits):
    kind = {"streams_per_circuit_isolation": isolated, "parallel_streams": parallel}
    traffic = run_traffic(think_max_ns=pause_s * SECOND_NS, **kind)
    assert circuits_needed(traffic, duration_s * SECOND_NS) == circuits


def _run(folder: Path, variant: str = "", engine: str = "emulation", **changes: object) -> RunSpec:
    if not folder.is_dir():
        network = _network()
        write_network(network, equal_rtts(network), folder)
    changes |= {"warm_up": "30 s", "measured": "30 s"}
    return prepared_run(folder, folder / "run", variant, engine=engine, **changes)


@pytest.mark.parametrize("engine", ["cellsim", "emulation"])
def test_variants_that_are_paired_by_paths_have_equal_ones(tmp_path: Path, engine: str) -> None:
    variants = ["", "refill_interval=10ms", "circuit_policy=round_robin", "congestion=vegas"]
    paths = [_run(tmp_path / "net", variant, engine, pairing="paths").paths for variant in variants]
    assert paths[0] is not None
    assert {client: len(own) for client, own in paths[0].items()} == {"web1": 10, "web2": 10}
    assert all(own == paths[0] for own in paths)
    one_guard = _run(tmp_path / "net", "guards=1", engine, pairing="paths").paths
    assert one_guard is not None
    assert [path[2] for path in one_guard["web1"]] == [path[2] for path in paths[0]["web1"]]


def test_free_pairing_gives_no_paths_and_changes_no_byte_of_a_run(tmp_path: Path) -> None:
    free, usual = _run(tmp_path / "net", pairing="free"), _run(tmp_path / "net")
    assert free.text() == usual.text()
    assert free.paths is None
    assert '"pairing"' not in _run(tmp_path / "net", pairing="paths").text()


def test_circuits_count_as_on_their_path_by_the_order_of_their_first_use() -> None:
    paths = {"web1": (("a", "b", "c"), ("d", "e", "f")), "web2": (("g", "h", "i"),)}
    rows = [
        ("web1", 3, 20, "d,e,f", 5),
        ("web1", 4, 10, "a,b,c", 1),
        ("web1", 7, 30, "a,b,c", 2),
        ("web1", 9, None, "x,y,z", 0),
        ("web1", 11, 40, "d,e,f", 0),
        ("web2", 1, 5, "g,h,x", 4),
    ]
    names = ["client", "circuit", "first_use_us", "path", "streams"]
    circuits = pl.DataFrame(rows, schema=names, orient="row")
    assert common_paths(circuits, paths)["common_paths"] == {
        "circuits": 5,
        "circuits_on_their_path": 4,
        "streams": 12,
        "streams_on_their_path": 8,
    }
    assert common_paths(circuits, None) == {}


@pytest.mark.parametrize("name", ["EntryNodes", "numentryguards", "PathsNeededToBuildCircuits"])
def test_options_about_paths_are_refused_with_common_ones(name: str) -> None:
    changes = {"options": {"mine": {"torrc": {name: 1}}}, "knobs": {"options": ["default", "mine"]}}
    with pytest.raises(InputError, match=rf"pairing: would hide what options.mine changes: {name} is about"):
        load_experiment("refill_sweep", {"pairing": "paths", **changes})
