"""Whether both sides of a comparison take the same paths, as is usual, or tor chooses them in each run.

In: the change, and what the user says. Out: the pairing, and a note where it is not the usual one.
"""

from __future__ import annotations

from torsweep.config.option_bundle import OptionBundle
from torsweep.config.reading import validate
from torsweep.config.variant import FREE, PATHS
from torsweep.engines.hosts import PATHS_OPTION
from torsweep.errors import InputError
from torsweep.study.change import TorChange

COST = "each run draws its own paths, so it takes more networks to show the same change"


def choose_pairing(text: str | None, change: TorChange) -> tuple[str, str]:
    """The pairing that ``text`` asks for, or the usual one, and what there is to say of it.

    Raises InputError where common paths are asked for and cannot be had, or would hide the change.
    """
    why = _why_free(change)
    if text is None:
        return (FREE, f"no common paths: {why}; {COST}") if why else (PATHS, "")
    if text == PATHS and why:
        raise InputError(f"cannot be had: {why}", key="--pairing", value=text, accepted=FREE)
    return text, ""


def _why_free(change: TorChange) -> str:
    """Why the two sides cannot take the same paths; empty where they can."""
    for entry in change.options.values():
        if name := validate(OptionBundle, entry, None).about_paths:
            return f"{name} is about the choice of paths or the building of circuits"
    if change.has_arti:
        return "Arti chooses its paths itself"
    if any(tor.get("series") == "none" or "program" in tor for tor in change.tors.values()):
        return f"a tor without the project's patches has no {PATHS_OPTION}"
    return ""
