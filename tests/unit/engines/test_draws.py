"""A client's draws are cellsim's, number by number.

The expected values are what cellsim's table of streams has for the first web client of a network of seed 1
with 50 servers: its start, the servers of its first downloads, and the pauses after them.
"""

from __future__ import annotations

from torsweep.engines.draws import client_start_ns, draw, pause_ns, server_index

SECOND_NS = 1_000_000_000


def test_starts_servers_and_pauses_are_those_of_cellsim() -> None:
    assert [client_start_ns(1, client, 60 * SECOND_NS) for client in range(3)] == [
        2_092_470_785,
        35_401_448_739,
        27_639_860_816,
    ]
    assert [server_index(1, 0, download, 50) for download in (1, 2, 3)] == [14, 36, 48]
    assert [pause_ns(1, 0, download, SECOND_NS, 30 * SECOND_NS, 1) for download in (1, 2, 3)] == [
        4_654_073_675,
        25_853_248_282,
        28_512_891_120,
    ]


def test_pauses_keep_to_their_steps_and_bounds() -> None:
    pauses = {pause_ns(1, 0, n, SECOND_NS, 5 * SECOND_NS, SECOND_NS) for n in range(200)}
    assert pauses == {n * SECOND_NS for n in (1, 2, 3, 4, 5)}
    assert pause_ns(1, 0, 1, 7, 7, 1) == 7


def test_a_window_of_nothing_starts_everybody_at_once() -> None:
    assert client_start_ns(3, 4, 0) == 0
    assert draw(1, "any", 0, 0, 1) == 0
