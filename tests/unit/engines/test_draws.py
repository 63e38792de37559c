"""A client's draws are cellsim's, number by number.

The expected values are what cellsim's table of streams has for the first web client of a network of seed 1
with 50 servers: its start, the servers of its first downloads, and the pauses after them.
"""

from __future__ import annotations

import pytest

from tests.prepared_runs import run_traffic
from torsweep.config.traffic import mean
from torsweep.engines.draws import (
    client_start_ns,
    draw,
    drawn,
    object_count,
    pause_ns,
    response_bytes,
    server_index,
    site_of,
)

SECOND_NS = 1_000_000_000


def test_starts_servers_and_pauses_are_those_of_cellsim() -> None:
    assert [client_start_ns(1, client, 60 * SECOND_NS) for client in range(3)] == [
        2_092_470_785,
        35_401_448_739,
        27_639_860_816,
    ]
    assert [server_index(1, 0, download, 50) for download in (1, 2, 3)] == [14, 36, 48]
    web = run_traffic(think_min_ns=SECOND_NS, think_max_ns=30 * SECOND_NS)
    assert [pause_ns(web, 1, 0, download) for download in (1, 2, 3)] == [
        4_654_073_675,
        25_853_248_282,
        28_512_891_120,
    ]


def test_pauses_keep_to_their_steps_and_bounds() -> None:
    stepped = run_traffic(think_min_ns=SECOND_NS, think_max_ns=5 * SECOND_NS, think_step_ns=SECOND_NS)
    pauses = {pause_ns(stepped, 1, 0, n) for n in range(200)}
    assert pauses == {n * SECOND_NS for n in (1, 2, 3, 4, 5)}
    assert pause_ns(run_traffic(think_min_ns=7, think_max_ns=7), 1, 0, 1) == 7


POINTS = ((0, 100), (500_000, 20_000), (900_000, 150_000), (1_000_000, 2_000_000))


def test_sizes_from_a_table_are_those_of_cellsim() -> None:
    """cellsim/src/traffic.rs expects the same numbers."""
    drawing = run_traffic(response_quantiles=POINTS)
    sizes = [response_bytes(drawing, 7, 3, download) for download in range(1, 6)]
    assert sizes == [43_373, 7_669, 15_424, 12_769, 73_606]
    assert response_bytes(run_traffic(), 7, 3, 1) == 1_000


def test_numbers_of_objects_are_those_of_cellsim() -> None:
    """cellsim/src/traffic.rs expects the same numbers."""
    pages = run_traffic(page_objects=((0, 1), (500_000, 76), (1_000_000, 300)))
    assert [object_count(pages, 7, 3, page) for page in range(1, 6)] == [82, 60, 70, 189, 279]


def test_sites_are_those_of_cellsim() -> None:
    """cellsim/tests/engine/pages.rs expects the same: names are taken in their order."""
    two = run_traffic(sites={"short": [10_000], "long": [30_000, 500, 700]})
    assert [site_of(two, 1, 0, page) for page in range(1, 5)] == ["short", "long", "long", "short"]
    pages = run_traffic(sites={"news": [20_000, 3_000], "a": [1_000], "video": [50_000, 1, 2]})
    sites = [site_of(pages, 7, 3, page) for page in range(1, 7)]
    assert sites == ["video", "video", "a", "a", "news", "news"]
    assert [object_count(pages, 7, 3, page) for page in (1, 3, 5)] == [3, 1, 2]
    assert [response_bytes(pages, 7, 3, 1_000_000 + which) for which in (1, 2, 3)] == [50_000, 1, 2]


def test_what_is_drawn_from_a_table_has_its_quantiles_and_its_mean() -> None:
    drawing = run_traffic(think_quantiles=POINTS)
    pauses = [pause_ns(drawing, 1, client, 1) for client in range(20_000)]
    below = [sum(pause < value for pause in pauses) / len(pauses) for value in (20_000, 150_000)]
    assert below == pytest.approx([0.5, 0.9], abs=0.01)
    assert (drawn(POINTS, 0), drawn(POINTS, 999_999)) == (100, 1_999_981)
    assert mean(POINTS) == drawing.mean_pause_ns == pytest.approx(sum(pauses) / len(pauses), rel=0.05)


def test_a_window_of_nothing_starts_everybody_at_once() -> None:
    assert client_start_ns(3, 4, 0) == 0
    assert draw(1, "any", 0, 0, 1) == 0


def test_a_client_begins_in_the_middle_of_its_first_downloads() -> None:
    bulk = run_traffic(response_bytes=5 * 2**20, parallel_streams=2, under_way_at_start=True)
    # cellsim/src/traffic.rs expects the same numbers.
    assert [response_bytes(bulk, 7, 3, download) for download in (1, 2)] == [3_896_341, 4_434_234]
    assert response_bytes(bulk, 7, 3, 3) == 5 * 2**20
    rests = [response_bytes(bulk, 7, client, 1) / (5 * 2**20) for client in range(400)]
    assert sum(rests) / len(rests) == pytest.approx(0.5, abs=0.05)
    page = run_traffic(page_objects=[(0, 9), (1_000_000, 10)], under_way_at_start=True)
    assert {object_count(page, 7, client, 1) for client in range(200)} == set(range(1, 10))
    assert object_count(page, 7, 0, 2) == 9
