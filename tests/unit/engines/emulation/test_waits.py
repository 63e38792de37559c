"""A wait of a network's start ends when nothing goes on, and says what is missing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from torsweep.engines.emulation import processes as module
from torsweep.engines.emulation.processes import NotReady, some_of, until

NEVER = float("inf")


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second goes by with each look at the clock, and none while it sleeps."""
    seconds = iter(range(10_000))
    monkeypatch.setattr(module.time, "monotonic", lambda: next(seconds))


def wait(missing: Iterator[str], looks: int, stalled_s: float, deadline: float = NEVER) -> None:
    """Wait for something that is there after so many looks; ``missing`` says what is not at each."""
    words = ""

    async def done() -> bool:
        nonlocal looks, words
        looks, words = looks - 1, next(missing)
        return looks < 0

    asyncio.run(until(done, lambda: words, lambda: None, deadline, stalled_s=stalled_s, poll_s=0))


def test_a_wait_goes_on_for_as_long_as_less_is_missing():
    wait((f"{left} relays" for left in range(100, -1, -1)), looks=100, stalled_s=5)


def test_a_wait_ends_when_the_same_has_been_missing_for_too_long():
    with pytest.raises(NotReady, match=r"^the network was not ready in time: relay3$"):
        wait(iter(["relay2, relay3", *["relay3"] * 20]), looks=20, stalled_s=5)


def test_a_wait_ends_at_the_deadline_though_something_goes_on():
    with pytest.raises(NotReady, match=r"in time: 9\d relays$"):
        wait((f"{left} relays" for left in range(100, -1, -1)), looks=100, stalled_s=5, deadline=4)


def test_few_names_stand_for_many():
    assert some_of({"relay2", "relay1"}) == "relay1, relay2"
    assert some_of([f"relay{number}" for number in range(1, 10)]) == (
        "relay1, relay2, relay3, relay4, relay5 and 4 more"
    )
