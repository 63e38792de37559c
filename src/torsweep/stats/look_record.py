"""The looks at a comparison: with how many networks its verdicts have been printed.

In: a file of a study or a summary. Out: ``looks.json`` beside it, and the design that allows for another look
(:mod:`torsweep.stats.inference.interim`).
"""

from __future__ import annotations

import json
from pathlib import Path

from torsweep.config.reading import validate
from torsweep.config.replicates import Precision
from torsweep.errors import InputError
from torsweep.formats.json_file import read_json
from torsweep.stats.inference.interim import Design
from torsweep.storage import write_text

LOOKS_FILE = "looks.json"


def read_looks(beside: Path) -> dict[int, float]:
    """The share of the error spent by each look, from the record ``beside`` this file; empty before any."""
    file = beside.with_name(LOOKS_FILE)
    if not file.is_file():
        return {}
    return dict(validate(Precision, {"looks": read_json(file)}, file).looks)


def with_look(looks: dict[int, float], networks: int) -> dict[int, float]:
    """``looks`` and one with so many networks; InputError where more have been looked at."""
    if looks and networks not in looks and networks < max(looks):
        problem, accepted = "is fewer than this comparison has been looked at with", f"{max(looks)} or more"
        raise InputError(problem, key="--networks", value=networks, accepted=accepted)
    return Design(tuple(looks), tuple(looks.values())).look(networks).shares


def record_look(beside: Path, design: Design, networks: int) -> None:
    """Keep that the verdicts with so many networks have been shown, in the record ``beside`` this file."""
    looks = {number: share for number, share in design.look(networks).shares.items() if number <= networks}
    write_text(beside.with_name(LOOKS_FILE), json.dumps(looks) + "\n")
