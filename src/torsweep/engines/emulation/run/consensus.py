"""Whether clients have the consensus that they should have, and that no vote replaces it during the run.

In: what a client's tor tells of its consensus; the network. Out: nothing, or an error that names the relay.
Authorities vote when the engine says so. By themselves they vote at each half hour until then, and at
midnight UTC afterwards: starts at the time of such a vote ended with weights of 0, or with three of five
guards that no client used; and in any run a vote wakes every process.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from torsweep.engines.emulation.cost import START_S, START_S_PER_CLIENT
from torsweep.engines.emulation.directory.layout import LATER_VOTES_S, NO_VOTE_SOON_S
from torsweep.engines.emulation.run.control import Control
from torsweep.errors import TorsweepError
from torsweep.network.model import Network

AFTER_VOTE_S = 20
"""Seconds after which a vote is over and its consensus has been fetched."""

FIRST_VOTE_S = 60
"""The longest time from the start of the authorities to the vote that the engine asks for: 4 to 10 s were
measured."""

LONGEST_START = 2
"""How many times as long as in measured starts the start of a network may take."""

_RELAY = re.compile(r"^r (\S+) .*\n(?:a .*\n)*s ?(.*)\n(?:v .*\n)?w Bandwidth=(\d+)", re.MULTILINE)


@dataclass(frozen=True)
class Entry:
    """A relay in a consensus: its flags and its weight."""

    flags: frozenset[str]
    weight: int


def read_entries(text: str) -> dict[str, Entry]:
    """Nickname to entry, of a consensus as the control port has it (``GETINFO ns/all``)."""
    return {
        name: Entry(frozenset(flags.split()), int(weight)) for name, flags, weight in _RELAY.findall(text)
    }


async def require_consensus(client: Control, network: Network, *, weighted: bool) -> None:
    """Raise TorsweepError unless ``client`` has every relay of ``network`` with the flags of its position.

    With ``weighted`` the weights are those of the network too.
    """
    entries = read_entries(await client.value("ns/all"))
    if problem := next(_problems(entries, network, weighted=weighted), ""):
        raise TorsweepError(f"{client.name}: its consensus is not the network's: {problem}")


def _problems(entries: Mapping[str, Entry], network: Network, *, weighted: bool) -> Iterator[str]:
    for relay in network.relays:
        entry = entries.get(relay.name)
        if entry is None:
            yield f"{relay.name} is not in it"
            continue
        for flag, due in (
            ("Guard", "guard" in relay.position),
            ("Exit", "exit" in relay.position),
            ("Running", True),
            ("V2Dir", True),
        ):
            if (flag in entry.flags) != due:
                yield f"{relay.name} {'lacks' if due else 'has'} the flag {flag}"
        if weighted and entry.weight != relay.consensus_weight:
            yield f"{relay.name} weighs {entry.weight}, not {relay.consensus_weight}"


def wait_s(now_s: float, clients: int, run_s: float) -> float:
    """How long authorities have to wait with their start, so that no vote falls into a run of ``run_s``.

    0, except in the minute before a half hour, and for a run that would go on past midnight UTC.
    """
    to_half_hour_s = NO_VOTE_SOON_S - now_s % NO_VOTE_SOON_S
    to_midnight_s = LATER_VOTES_S - now_s % LATER_VOTES_S
    span_s = LONGEST_START * (START_S + START_S_PER_CLIENT * clients) + run_s
    if to_midnight_s < span_s < LATER_VOTES_S:
        return to_midnight_s + AFTER_VOTE_S
    return to_half_hour_s + AFTER_VOTE_S if to_half_hour_s < FIRST_VOTE_S else 0.0
