"""Whether both sides of a comparison take the same paths, as is usual, or tor chooses them in each run.

In: the change, how many relays its networks have, what the user says. Out: the pairing, and notes.
"""

from __future__ import annotations

from collections.abc import Iterator

from torsweep.config.option_bundle import OptionBundle
from torsweep.config.reading import validate
from torsweep.config.tor_settings import LEAST_CONFLUX_RELAYS
from torsweep.config.variant import FREE, PATHS
from torsweep.engines.hosts import PATHS_OPTION
from torsweep.errors import InputError
from torsweep.study.change import TorChange

COST = "each run draws its own paths, so it takes more networks to show the same change"

_CONFLUX = {"cfx_enabled", "confluxenabled"}


def choose_pairing(
    text: str | None, change: TorChange, relays: int, era: str | None
) -> tuple[str, list[str]]:
    """The pairing that ``text`` asks for, or the usual one, and what there is to say of it and of the change.

    Raises InputError where common paths are asked for and cannot be had, or would hide the change.
    """
    notes = [*change.notes, *_conflux_notes(change, relays)]
    why = _why_free(change)
    if text == PATHS and why:
        raise InputError(f"cannot be had: {why}", key="--pairing", value=text, accepted=FREE)
    if text is not None:
        return text, notes
    if not why and relays >= LEAST_CONFLUX_RELAYS and era not in ("2012", "2019"):
        why = f"Conflux, which is on from {LEAST_CONFLUX_RELAYS} relays on, joins circuits of its own"
    return (FREE, [*notes, f"no common paths: {why}; {COST}"]) if why else (PATHS, notes)


def _bundles(change: TorChange) -> list[OptionBundle]:
    return [validate(OptionBundle, entry, None) for entry in change.options.values()]


def _why_free(change: TorChange) -> str:
    """Why the two sides cannot take the same paths; empty where they can."""
    for bundle in _bundles(change):
        if name := bundle.about_paths:
            return f"{name} is about the choice of paths or the building of circuits"
    if change.has_arti:
        return "Arti chooses its paths itself"
    if any(tor.get("series") == "none" or "program" in tor for tor in change.tors.values()):
        return f"a tor without the project's patches has no {PATHS_OPTION}"
    return ""


def _conflux_notes(change: TorChange, relays: int) -> Iterator[str]:
    """A warning where the change turns Conflux on in a network that is too small for it."""
    lines = [line for bundle in _bundles(change) for line in (bundle.torrc.items(), bundle.consensus.items())]
    on = any(name.lower() in _CONFLUX and str(value) == "1" for each in lines for name, value in each)
    if on and relays < LEAST_CONFLUX_RELAYS:
        yield (
            f"Conflux in {relays} relays: the legs of a set differ less than on the public network; from"
            f" {LEAST_CONFLUX_RELAYS} relays on they are a choice"
        )
