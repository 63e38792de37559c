"""What a network cannot show.

In: ``configs/blind.csv``, which ``experiments/known_changes`` writes by what real tor and the model show of
known changes; a network; the options and consensus parameters that a comparison changes. Out: sentences, each
with the command that can show it.
"""

from __future__ import annotations

import re
from pathlib import Path

from torsweep.config.conflux import LEAST_RELAYS, WHEN_SMALL
from torsweep.formats.frames import read_csv
from torsweep.home import find
from torsweep.study.tor_change import TorChange

BLIND_FILE = Path("configs/blind.csv")
"""Columns ``network``, ``names`` (how names of options of a sort of change begin, in small letters) and
``sentence``."""


def unseen(network: str, relays: int) -> list[tuple[str, str]]:
    """How names of options begin whose changes networks of this configuration, of so many ``relays``, do not
    show, and a sentence on each sort; of a network that is not in the table, nothing but on Conflux."""
    table = read_csv(find(BLIND_FILE), ("network", "names", "sentence"))
    rows = table.filter(network=network).select("names", "sentence").rows()
    if relays < LEAST_RELAYS:
        able = f"--engine shadow --network FILE with {LEAST_RELAYS} relays or more"
        rows.append(("conflux|cfx_", f"Conflux ({relays} relays: {WHEN_SMALL}): ask with {able}"))
    return rows


def refusal(change: TorChange, network: str, relays: int) -> str:
    """Why ``network`` cannot show ``change``, and what can; empty where it can, or that is not known."""
    missing = (
        sentence
        for names, sentence in unseen(network, relays)
        if any(re.match(names, name) for name in change.option_names)
    )
    return "; ".join(f"{network} cannot show a change of {sentence}" for sentence in missing)


def blind_line(network: str, relays: int) -> str:
    """What ``network`` cannot show, and what can, as a line of a plan or below a verdict; empty: nothing."""
    return "; ".join(sentence for _, sentence in unseen(network, relays))
