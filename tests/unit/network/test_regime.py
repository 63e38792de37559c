"""What is said of web clients' demand, by how it compares with what relays can carry."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from tests.small_network import equal_rtts, small_network
from torsweep.config.experiment import load_experiment
from torsweep.network.describe import HOPS, describe, offered_load, print_description, written_text

CLIENTS = 20
TRAFFIC = load_experiment("refill_sweep").traffic
WEB = TRAFFIC.web


def _said(demand: float) -> str:
    """What ``network describe`` prints where web clients ask for ``demand`` of the capacity."""
    rate = round(CLIENTS * WEB.response / WEB.think.mean_s / demand)
    positions = ("guard", "middle", "exit")
    assert len(positions) == HOPS
    made = small_network(
        positions,
        [f"web{number}" for number in range(CLIENTS)],
        rate_bytes_per_s=rate,
        burst_bytes=rate,
        capacity_bytes_per_s=10 * rate,
    )
    text = io.StringIO()
    print_description(
        describe(made, made.latencies(equal_rtts(made)), TRAFFIC), Console(file=text, width=200)
    )
    return text.getvalue()


def test_web_clients_that_ask_for_more_fill_it_until_downloads_are_slow_enough() -> None:
    # 20 % more than there is: a cycle of pause and download has to take 20 % longer than the pause.
    said = _said(1.2)
    assert said.startswith("The network is overloaded 1.2-fold")
    assert "a web download takes 3.1 s on average" in said
    assert "overloaded" not in _said(0.93)
    assert [demand for demand in (0.07, 0.93) if "warning: idle" in _said(demand)] == [0.07]


def test_the_load_is_what_each_kind_of_client_asks_for_over_what_three_hops_carry() -> None:
    clients = ["web1", "web2", "bulk1", "perf_50kib1"]
    made = small_network(("guard", "middle", "exit"), clients, rate_bytes_per_s=100_000)
    load = offered_load(made, 0.2, TRAFFIC)
    assert load["web"].over_third == pytest.approx(2 * 300 * 1024 / 15.5 / 100_000, abs=1e-3)
    assert load["web"].pauses
    assert load["perf"].over_third == pytest.approx(50 * 1024 / 60 / 100_000, abs=1e-3)
    # A client without pauses counts with what it gets where nobody else is: two round trips before data, then
    # its link, which is slower here than 500 cells of 498 bytes a round trip.
    alone_s = 2 * 0.2 + 5 * 2**20 / 800_000
    assert load["bulk"].bytes_per_s == pytest.approx(5 * 2**20 / alone_s, abs=1)
    assert not load["bulk"].pauses


def test_what_relays_write_for_all_that_clients_ask() -> None:
    made = small_network(("guard", "middle", "exit"), ["web1", "web2", "bulk1"], rate_bytes_per_s=10**6)
    said = written_text(offered_load(made, 0.2, TRAFFIC), 3 * 10**6)
    asked = 2 * 300 * 1024 / 15.5 + 5 * 2**20 / (2 * 0.2 + 5 * 2**20 / 800_000)
    assert said.endswith(f"{3.3 * asked / 3e6:.2f} of what they can")


@pytest.mark.parametrize(("clients", "servers"), [([], 1), (["web1"], 0), ([], 0)])
def test_a_network_without_clients_or_servers_is_described(clients: list[str], servers: int) -> None:
    made = small_network(("guard", "middle", "exit"), clients, servers=servers)
    text = io.StringIO()
    description = describe(made, made.latencies(equal_rtts(made)), TRAFFIC)
    print_description(description, Console(file=text, width=200))
    assert ("no client asks for anything" in text.getvalue()) == (not clients)
    assert description.hosts["servers"] == servers
    assert description.regime.demand_ceiling_bytes_per_s == 0 or clients
