"""What is said of web clients' demand, by how it compares with what relays can carry."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from tests.small_network import equal_rtts, small_network
from torsweep.config.experiment import load_experiment
from torsweep.network.describe import HOPS, describe, print_description

CLIENTS = 20
WEB = load_experiment("refill_sweep").traffic.web


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
    print_description(describe(made, equal_rtts(made), WEB), Console(file=text, width=200))
    return text.getvalue()


@pytest.mark.parametrize("demand", [0.07, 0.93])
def test_web_clients_that_ask_for_less_than_there_is_do_not_fill_the_network(demand: float) -> None:
    said = _said(demand)
    assert "web clients alone do not fill the network" in said
    assert "alone fill the network" not in said
    assert ("warning: idle" in said) == (demand < 0.2)


def test_web_clients_that_ask_for_more_fill_it_until_downloads_are_slow_enough() -> None:
    # 20 % more than there is: a cycle of pause and download has to take 20 % longer than the pause.
    assert "web clients alone fill the network until their downloads take 3.1 s on average" in _said(1.2)


def test_weights_that_are_all_0_are_said_to_be() -> None:
    made = small_network(("guard", "middle", "exit"), ["web1"])
    made = made.model_copy(update={"bandwidth_weights": dict.fromkeys(made.bandwidth_weights, 0)})
    found = describe(made, equal_rtts(made), WEB)
    assert found.regime.first_saturation_bytes_per_s is None
    text = io.StringIO()
    print_description(found, Console(file=text, width=200))
    assert "all bandwidth-weights are 0" in text.getvalue()
