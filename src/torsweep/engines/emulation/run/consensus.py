"""Whether clients have the consensus that they should have, and that it stays the one.

In: what a client's tor tells of its consensus; the network. Out: nothing, or an error that names the relay.
Authorities vote once, when the engine says so. Their next vote is at midnight UTC (``V3AuthVotingInterval``,
whose most is a day): clients that come into the network beside a vote have been seen to avoid three guards of
five for a whole run, and in any run a vote wakes every process.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from torsweep.engines.emulation.run.control import Control
from torsweep.errors import TorsweepError
from torsweep.network.model import Network

DAY_S = 86_400
AFTER_MIDNIGHT_S = 20
"""When the vote is over, on a machine with nothing else to do."""

START_S, START_S_PER_CLIENT = 90, 0.5
"""Twice what starts of networks were seen to take (docs/emulation.md)."""

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
    """Nothing, when ``client`` has every relay of ``network`` with what it is for; TorsweepError when not.

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
    """How long a run of ``run_s`` has to wait, so that no vote falls into it: 0, but for before midnight."""
    left_s = DAY_S - now_s % DAY_S
    span_s = START_S + START_S_PER_CLIENT * clients + run_s
    return left_s + AFTER_MIDNIGHT_S if left_s < span_s < DAY_S else 0.0


def let_the_vote_pass(
    clients: int, run_s: float, say: Callable[[str], None], sleep: Callable[[float], None] = time.sleep
) -> None:
    """Return when no vote will fall into a run that starts now."""
    if due_s := wait_s(time.time(), clients, run_s):
        say(f"waiting {due_s:.0f} s: authorities vote at midnight UTC")
        sleep(due_s)
