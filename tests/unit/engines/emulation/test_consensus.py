"""Clients have the consensus of the network, and no vote falls into a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.engines.emulation.conftest import POSITIONS, network
from torsweep.engines.emulation.control import AFTER_VOTE_S, wait_s
from torsweep.engines.emulation.process_layout import LATER_VOTES_S
from torsweep.engines.host_tors import CACHED_CONSENSUS, read_consensus, require_consensus
from torsweep.errors import TorsweepError

FLAGS = {"guard": "Fast Guard", "middle": "Fast", "exit": "Exit Fast", "guard_exit": "Exit Fast Guard"}


def consensus() -> str:
    """Of the network of the tests, as a client keeps it."""
    return "".join(
        f"r {relay.name} AAAA BBBB 2038-01-01 00:00:00 11.0.0.{node} 9001 0\n"
        f"s {FLAGS[relay.position]} Running Stable V2Dir Valid\nw Bandwidth={relay.consensus_weight}\n"
        for node, relay in enumerate(network(*POSITIONS).relays)
    )


@pytest.fixture
def check(tmp_path: Path) -> Callable[..., None]:
    """Compares a consensus, which a client keeps, with the network of the tests."""

    def compare(text: str, authorities: int = 3) -> None:
        (tmp_path / CACHED_CONSENSUS).write_text(text)
        made = network(*POSITIONS)
        changed = made.model_copy(update={"authorities": made.authorities * authorities})
        require_consensus(read_consensus(tmp_path), changed, {}, voted=True)

    return compare


def test_relays_are_read_with_and_without_further_addresses(tmp_path: Path):
    text = "r a b c d\na [::1]:9001\nm digest\ns Guard Fast\nv Tor 1\npr Link=1\nw Bandwidth=7\n"
    (tmp_path / CACHED_CONSENSUS).write_text(f"{text}r e f g h\ns \nw Bandwidth=0\n")
    relays = read_consensus(tmp_path).relays
    assert relays == {"a": (frozenset({"Guard", "Fast"}), 7), "e": (frozenset(), 0)}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (" Guard", "", "relay1 lacks the flag Guard"),
        ("s Fast Running", "s Fast Guard Running", "relay2 has the flag Guard"),
        ("Exit ", "", "relay3 lacks the flag Exit"),
        (" Running", "", "relay1 lacks the flag Running"),
        (" V2Dir", "", "relay1 lacks the flag V2Dir"),
    ],
)
def test_what_is_not_the_networks_is_named(old: str, new: str, said: str, check):
    assert old in consensus()
    with pytest.raises(TorsweepError, match=f"^the consensus of this run is not the network's: {said}$"):
        check(consensus().replace(old, new))


def test_weights_count_where_they_are_measured(check):
    other = consensus().replace("Bandwidth=", "Bandwidth=9")
    check(other, authorities=1)
    with pytest.raises(TorsweepError, match=r"relay1 weighs 9\d+, not \d+$"):
        check(other)


@pytest.mark.parametrize(
    ("before_midnight_s", "run_s", "waits"),
    [(86_395, 180, False), (241, 180, False), (239, 180, True), (1, 180, True), (1, LATER_VOTES_S, False)],
)
def test_a_run_that_midnight_would_fall_into_waits_for_it(before_midnight_s: int, run_s: int, waits: bool):
    """Unless it takes more than a day."""
    due_s = before_midnight_s + AFTER_VOTE_S if waits else 0
    assert wait_s(11 * LATER_VOTES_S - before_midnight_s, clients=250, run_s=run_s) == due_s
