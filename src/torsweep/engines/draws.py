"""The draws of a client: its start, the server and the size of each download, the pause after it.

In: a run's seed, a client's number among the network's clients, a download's number. Out: the same numbers
that cellsim draws for them (cellsim/src/random.rs), so that variants, and engines, share them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from torsweep.config.traffic import MILLION, Points
from torsweep.engines.run_spec import RunTraffic

_MASK = 2**64 - 1
_GOLDEN = 0x9E37_79B9_7F4A_7C15


def _mix(z: int) -> int:
    z = ((z ^ (z >> 30)) * 0xBF58_476D_1CE4_E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D0_49BB_1331_11EB) & _MASK
    return z ^ (z >> 31)


class Draws:
    """The stream called ``name`` for the things ``first`` and ``second`` under ``seed`` (SplitMix64)."""

    def __init__(self, seed: int, name: str, first: int, second: int) -> None:
        state = 0xCBF2_9CE4_8422_2325
        for byte in name.encode():
            state = ((state ^ byte) * 0x100_0000_01B3) & _MASK
        for number in (seed, first, second):
            state = _mix(state ^ _mix((number + _GOLDEN) & _MASK))
        self._state = state

    def _bits(self) -> int:
        self._state = (self._state + _GOLDEN) & _MASK
        return _mix(self._state)

    def unit(self) -> float:
        """The next number, uniform from 0 to below 1, with 53 bits."""
        return (self._bits() >> 11) / (1 << 53)

    def below(self, bound: int) -> int:
        """The next number, uniform in 0..bound - 1."""
        return (self._bits() * bound) >> 64


def draw(seed: int, name: str, first: int, second: int, bound: int) -> int:
    """The first number of the stream called ``name``, uniform in 0..bound - 1."""
    return Draws(seed, name, first, second).below(bound)


def client_start_ns(seed: int, client: int, window_ns: int) -> int:
    """When the client opens its first download, from the opening of the window."""
    return draw(seed, "client start", client, 0, max(window_ns, 1))


def server_index(seed: int, client: int, download: int, servers: int) -> int:
    """The server of the client's ``download``, counted from 1."""
    return draw(seed, "server", client, download, servers)


def drawn(points: Points, part: int) -> int:
    """The value below which ``part`` millionths of what is drawn from ``points`` lie, rounded down."""
    before, after = next(pair for pair in pairwise(points) if part < pair[1][0])
    return before[1] + (after[1] - before[1]) * (part - before[0]) // (after[0] - before[0])


PAGE = 1_000_000
"""The number of the download of a page's object: this times the page's, plus its own from 1."""

MOST_DOWNLOADS = 200
"""Under Shadow: the downloads or pages of a client without pauses; then it begins with the first again."""


def site_of(traffic: RunTraffic, seed: int, client: int, page: int) -> str | None:
    """The site that the client's ``page`` is; None without sites."""
    names = sorted(traffic.sites or ())
    return names[draw(seed, "site", client, page, len(names))] if names else None


def _sizes_of_site(traffic: RunTraffic, seed: int, client: int, page: int) -> Sequence[int] | None:
    site = site_of(traffic, seed, client, page)
    return None if site is None or traffic.sites is None else traffic.sites[site]


def object_count(traffic: RunTraffic, seed: int, client: int, page: int) -> int:
    """How many objects the client's ``page`` has."""
    if (sizes := _sizes_of_site(traffic, seed, client, page)) is not None:
        return len(sizes)
    whole = drawn(traffic.page_objects or ((0, 1), (MILLION, 1)), draw(seed, "page", client, page, MILLION))
    return _rest(whole, seed, client, page) if traffic.under_way_at_start and page == 1 else whole


def response_bytes(traffic: RunTraffic, seed: int, client: int, download: int) -> int:
    """The size of the client's ``download``."""
    page, which = divmod(download, PAGE)
    if (sizes := _sizes_of_site(traffic, seed, client, page)) is not None:
        return sizes[which - 1]
    whole = traffic.response_bytes
    if traffic.response_quantiles is not None:
        whole = drawn(traffic.response_quantiles, draw(seed, "size", client, download, MILLION))
    first = download <= traffic.parallel_streams
    return _rest(whole, seed, client, download) if traffic.under_way_at_start and first else whole


def _rest(whole: int, seed: int, client: int, number: int) -> int:
    """The rest of ``whole`` at a random moment while it is under way; at least 1."""
    left = 1 + draw(seed, "rest", client, number, MILLION)
    return -(-whole * left // MILLION)


def pause_ns(traffic: RunTraffic, seed: int, client: int, download: int) -> int:
    """The pause after the client's ``download``: from a table, or uniform between two bounds in steps."""
    if traffic.think_quantiles is not None:
        return drawn(traffic.think_quantiles, draw(seed, "think", client, download, MILLION))
    steps = (traffic.think_max_ns - traffic.think_min_ns) // traffic.think_step_ns
    taken = draw(seed, "think", client, download, steps + 1) if steps > 0 else 0
    return traffic.think_min_ns + traffic.think_step_ns * taken
